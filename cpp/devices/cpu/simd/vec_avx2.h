// The thin vector layer over AVX2, FMA and F16C. vec_generic.h documents the functions; for the
// linkage see vec_avx512.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace bessemer::cpu {
namespace {

constexpr int kWidth = 8;

struct F {
  __m256 v;
};
struct I {
  __m256i v;
};

inline __m256i first_n(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n > 8 ? 8 : static_cast<int>(n)), lane);
}

inline F zero() { return {_mm256_setzero_ps()}; }
inline F splat(float a) { return {_mm256_set1_ps(a)}; }
inline F load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline F load_n(const float* p, int64_t n) {
  return n >= kWidth ? load(p) : F{_mm256_maskload_ps(p, first_n(n))};
}
inline void store(float* p, F a) { _mm256_storeu_ps(p, a.v); }
inline void store_n(float* p, F a, int64_t n) {
  if (n >= kWidth) return store(p, a);
  _mm256_maskstore_ps(p, first_n(n), a.v);
}

inline __m128i load_halves_n(const void* p, int64_t n) {
  if (n >= kWidth) return _mm_loadu_si128(static_cast<const __m128i*>(p));
  alignas(16) char h[16] = {};
  __builtin_memcpy(h, p, static_cast<size_t>(2 * n));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(h));
}
inline void store_halves_n(void* p, __m128i a, int64_t n) {
  if (n >= kWidth) return _mm_storeu_si128(static_cast<__m128i*>(p), a);
  alignas(16) char h[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(h), a);
  __builtin_memcpy(p, h, static_cast<size_t>(2 * n));
}
inline F load_f16_n(const void* p, int64_t n) { return {_mm256_cvtph_ps(load_halves_n(p, n))}; }
inline F load_f16(const void* p) { return load_f16_n(p, kWidth); }
inline void store_f16_n(void* p, F a, int64_t n) {
  store_halves_n(p, _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), n);
}
inline F load_bf16_n(const void* p, int64_t n) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves_n(p, n)), 16))};
}
inline F load_bf16(const void* p) { return load_bf16_n(p, kWidth); }
inline void store_bf16_n(void* p, F a, int64_t n) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i h = _mm256_blendv_epi8(rounded, quiet, nan);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(h, h), 0x08);
  store_halves_n(p, _mm256_castsi256_si128(packed), n);
}

inline F add(F a, F b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F sub(F a, F b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F mul(F a, F b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F div(F a, F b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F min(F a, F b) { return {_mm256_min_ps(a.v, b.v)}; }
inline F max(F a, F b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F abs(F a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline F copy_sign(F magnitude, F sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.v), _mm256_and_ps(bit, sign.v))};
}
inline F select_less(F a, F b, F yes, F no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
}

inline I round_to_int(F a) { return {_mm256_cvtps_epi32(a.v)}; }
inline F to_float(I a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline I splat_int(int32_t a) { return {_mm256_set1_epi32(a)}; }
inline I load_int(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline I add(I a, I b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline I sub(I a, I b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline I mul(I a, I b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
inline I half_of(I a) { return {_mm256_srai_epi32(a.v, 1)}; }
inline F power_of_two(I n) {
  return {
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.v, _mm256_set1_epi32(127)), 23))};
}

inline float largest(F a) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
inline int32_t sum(I a) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
inline void store_i8(int8_t* p, I a) {  // |a| <= 127
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}

inline __m128 add_quarters(__m256 v) {
  return _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
}
inline void sum4(F a, F b, F c, F d, float* out) {
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v));
  const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c.v, d.v), _mm256_unpackhi_ps(c.v, d.v));
  const __m256d lo = _mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  const __m256d hi = _mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  _mm_storeu_ps(out, add_quarters(_mm256_add_ps(_mm256_castpd_ps(lo), _mm256_castpd_ps(hi))));
}
inline float sum(F a) {
  float out[4];
  sum4(a, a, a, a, out);
  return out[0];
}

}  // namespace
}  // namespace bessemer::cpu
