// The thin vector layer over AVX-512 (F, BW, DQ, VL). vec_generic.h documents the functions.
// Everything has internal linkage, so that no inline function compiled with these flags can be
// picked by the linker for code that must run without them. For the same reason a kernel file calls
// no inline function of a shared header and no std:: template.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace bessemer::cpu {
namespace {

constexpr int kWidth = 16;

struct F {
  __m512 v;
};
struct I {
  __m512i v;
};

inline __mmask16 first_n(int64_t n) {
  return static_cast<__mmask16>(n >= kWidth ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
}

inline F zero() { return {_mm512_setzero_ps()}; }
inline F splat(float a) { return {_mm512_set1_ps(a)}; }
inline F load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline F load_n(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first_n(n), p)}; }
inline void store(float* p, F a) { _mm512_storeu_ps(p, a.v); }
inline void store_n(float* p, F a, int64_t n) { _mm512_mask_storeu_ps(p, first_n(n), a.v); }

inline F load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline F load_f16_n(const void* p, int64_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_n(n), p))};
}
inline void store_f16_n(void* p, F a, int64_t n) {
  const __m256i h = _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_mask_storeu_epi16(p, first_n(n), h);
}
inline F from_bf16(__m256i h) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline F load_bf16(const void* p) {
  return from_bf16(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
inline F load_bf16_n(const void* p, int64_t n) {
  return from_bf16(_mm256_maskz_loadu_epi16(first_n(n), p));
}
inline void store_bf16_n(void* p, F a, int64_t n) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_srli_epi32(
      _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i h = _mm512_mask_mov_epi32(rounded, nan, quiet);
  _mm256_mask_storeu_epi16(p, first_n(n), _mm512_cvtepi32_epi16(h));
}

inline F add(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F sub(F a, F b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F mul(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F div(F a, F b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F fma(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F min(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
inline F max(F a, F b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F abs(F a) { return {_mm512_abs_ps(a.v)}; }
inline F copy_sign(F magnitude, F sign) {
  return {_mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7fffffff),
                                                        _mm512_castps_si512(magnitude.v),
                                                        _mm512_castps_si512(sign.v), 0xca))};
}
inline F select_less(F a, F b, F yes, F no) {
  return {_mm512_mask_mov_ps(no.v, _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), yes.v)};
}

inline I round_to_int(F a) { return {_mm512_cvtps_epi32(a.v)}; }
inline F to_float(I a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline I splat_int(int32_t a) { return {_mm512_set1_epi32(a)}; }
inline I load_int(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline I add(I a, I b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I sub(I a, I b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline I mul(I a, I b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
inline I half_of(I a) { return {_mm512_srai_epi32(a.v, 1)}; }
inline F power_of_two(I n) {
  return {
      _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}

inline float largest(F a) { return _mm512_reduce_max_ps(a.v); }
inline int32_t sum(I a) { return _mm512_reduce_add_epi32(a.v); }
inline void store_i8(int8_t* p, I a) {  // |a| <= 127
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

// Adds the four quarters of a vector of quarters, (0 + 2) + (1 + 3).
inline __m128 add_quarters(__m512 v) {
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}
inline void sum4(F a, F b, F c, F d, float* out) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a.v, b.v), _mm512_unpackhi_ps(a.v, b.v));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c.v, d.v), _mm512_unpackhi_ps(c.v, d.v));
  const __m512d lo = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d hi = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  _mm_storeu_ps(out, add_quarters(_mm512_add_ps(_mm512_castpd_ps(lo), _mm512_castpd_ps(hi))));
}
inline float sum(F a) {
  float out[4];
  sum4(a, a, a, a, out);
  return out[0];
}

}  // namespace
}  // namespace bessemer::cpu
