// The byte half of the vector layer over AVX2: two lanes. bytes_generic.h documents the functions.
#pragma once

#include "devices/cpu/simd/vec_avx2.h"

namespace bessemer::cpu {
namespace {

constexpr int kLanes = 2;

struct B {
  __m256i v;
};

inline __m128i lane_at(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline B load_bytes(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
inline B lanes_from(const uint8_t* const* p) {
  return {_mm256_inserti128_si256(_mm256_castsi128_si256(lane_at(p[0])), lane_at(p[1]), 1)};
}
inline B same_lanes(const uint8_t* p) { return {_mm256_broadcastsi128_si256(lane_at(p))}; }
inline B splat_byte(uint8_t b) { return {_mm256_set1_epi8(static_cast<char>(b))}; }
inline B bit_and(B a, B b) { return {_mm256_and_si256(a.v, b.v)}; }
inline B bit_or(B a, B b) { return {_mm256_or_si256(a.v, b.v)}; }
inline B bit_xor(B a, B b) { return {_mm256_xor_si256(a.v, b.v)}; }
inline B low_nibbles(B a) { return bit_and(a, splat_byte(15)); }
inline B high_nibbles(B a) { return low_nibbles({_mm256_srli_epi16(a.v, 4)}); }
template <int kBits>
inline B shift_left_64(B a) {
  return {_mm256_slli_epi64(a.v, kBits)};
}
inline B shift_right(B a, const uint64_t* counts) {
  return {_mm256_srlv_epi64(a.v, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(counts)))};
}
inline B bits_to_16(const uint8_t* const* p) {
  const auto word = [](const uint8_t* q) { return static_cast<int16_t>(q[0] | (q[1] << 8)); };
  const __m128i words = _mm_insert_epi16(_mm_cvtsi32_si128(word(p[0])), word(p[1]), 1);
  // Byte 0 of the word to the first eight bytes of its lane, byte 1 to the others.
  const __m256i spread = _mm256_shuffle_epi8(
      _mm256_broadcastsi128_si256(words),
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  return {_mm256_and_si256(set, _mm256_set1_epi8(16))};
}

template <bool kWide>
inline I dot4(I acc, B u, B s) {
  if constexpr (kWide) {  // 16-bit sums of two products would saturate
    const __m256i u_even = _mm256_and_si256(u.v, _mm256_set1_epi16(255));
    const __m256i u_odd = _mm256_srli_epi16(u.v, 8);
    const __m256i s_even = _mm256_srai_epi16(_mm256_slli_epi16(s.v, 8), 8);
    const __m256i s_odd = _mm256_srai_epi16(s.v, 8);
    const __m256i pairs =
        _mm256_add_epi32(_mm256_madd_epi16(u_even, s_even), _mm256_madd_epi16(u_odd, s_odd));
    return {_mm256_add_epi32(acc.v, pairs)};
  } else {
    const __m256i pairs = _mm256_maddubs_epi16(u.v, s.v);
    return {_mm256_add_epi32(acc.v, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
  }
}
inline B splat_word(const void* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return {_mm256_set1_epi32(word)};
}
inline I sum_quads(I a, I b, I c, I d) {
  const __m256i ab =
      _mm256_add_epi32(_mm256_unpacklo_epi32(a.v, b.v), _mm256_unpackhi_epi32(a.v, b.v));
  const __m256i cd =
      _mm256_add_epi32(_mm256_unpacklo_epi32(c.v, d.v), _mm256_unpackhi_epi32(c.v, d.v));
  return {_mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))};
}
inline void transpose4(B& a, B& b, B& c, B& d) {
  const __m256i ab_low = _mm256_unpacklo_epi32(a.v, b.v);
  const __m256i ab_high = _mm256_unpackhi_epi32(a.v, b.v);
  const __m256i cd_low = _mm256_unpacklo_epi32(c.v, d.v);
  const __m256i cd_high = _mm256_unpackhi_epi32(c.v, d.v);
  a.v = _mm256_unpacklo_epi64(ab_low, cd_low);
  b.v = _mm256_unpackhi_epi64(ab_low, cd_low);
  c.v = _mm256_unpacklo_epi64(ab_high, cd_high);
  d.v = _mm256_unpackhi_epi64(ab_high, cd_high);
}
inline void transpose4(F& a, F& b, F& c, F& d) {
  B t[4] = {{_mm256_castps_si256(a.v)},
            {_mm256_castps_si256(b.v)},
            {_mm256_castps_si256(c.v)},
            {_mm256_castps_si256(d.v)}};
  transpose4(t[0], t[1], t[2], t[3]);
  a.v = _mm256_castsi256_ps(t[0].v);
  b.v = _mm256_castsi256_ps(t[1].v);
  c.v = _mm256_castsi256_ps(t[2].v);
  d.v = _mm256_castsi256_ps(t[3].v);
}
inline I words_at(const uint8_t* const* rows, int64_t offset, int64_t stride, int count) {
  const auto word = [](const uint8_t* p) {
    int32_t w;
    __builtin_memcpy(&w, p, 4);
    return w;
  };
  const auto four = [&](int64_t at) {
    return _mm_setr_epi32(word(rows[0] + at), word(rows[1] + at), word(rows[2] + at),
                          word(rows[3] + at));
  };
  const __m128i second = count > 1 ? four(offset + stride) : _mm_setzero_si128();
  return {_mm256_inserti128_si256(_mm256_castsi128_si256(four(offset)), second, 1)};
}
inline __m128i four_words(const uint32_t* w) {
  return _mm_setr_epi32(static_cast<int>(w[0]), static_cast<int>(w[1]), static_cast<int>(w[2]),
                        static_cast<int>(w[3]));
}
inline I repeat_words(const uint32_t* w) { return {_mm256_broadcastsi128_si256(four_words(w))}; }
inline I bytes_of_words(const uint32_t* w) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, -1, -1, -1, -1, -1, -1, -1, -1);
  return {_mm256_cvtepu8_epi32(_mm_shuffle_epi8(four_words(w), order))};
}
inline I signed_bytes(const uint8_t* const* rows, int h) {
  const auto at = [&](int r, int l) {
    return static_cast<int>(static_cast<int8_t>(rows[r][2 * l + h]));
  };
  return {_mm256_setr_epi32(at(0, 0), at(1, 0), at(2, 0), at(3, 0), at(0, 1), at(1, 1), at(2, 1),
                            at(3, 1))};
}
inline F halves_to_floats(__m256i words) {  // each below 2^16
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(packed))};
}
inline F low_half(I a) {
  return halves_to_floats(_mm256_and_si256(a.v, _mm256_set1_epi32(0xffff)));
}
inline F high_half(I a) { return halves_to_floats(_mm256_srli_epi32(a.v, 16)); }
struct FPair {
  F first, second;
};
template <int kStride, bool kBoth>
inline FPair f16_pairs_at(const uint8_t* const* rows, int64_t offset, int count) {
  const I words = words_at(rows, offset, kStride, count);
  return {low_half(words), high_half(words)};
}
template <int kStride>
inline B lanes_apart(const uint8_t* p, int count) {
  const uint8_t* at[kLanes];
  for (int l = 0; l < kLanes; ++l) at[l] = p + (l < count ? l : count - 1) * kStride;
  return lanes_from(at);
}
template <int kStride>
inline void or_fifth_bits(const uint8_t* p, int count, B* h) {
  for (int half = 0; half < 2; ++half) {
    const uint8_t* at[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      at[l] = p + (l < count ? l : count - 1) * kStride + 2 * half;
    }
    h[half] = bit_or(h[half], bits_to_16(at));
  }
}
inline F expand(const float* p) {
  return {_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_set1_ps(p[0])), _mm_set1_ps(p[1]), 1)};
}
inline I expand(const int32_t* p) {
  return {_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi32(p[0])),
                                  _mm_set1_epi32(p[1]), 1)};
}
inline F repeat(const float* p) {
  return {_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p))};
}
inline I repeat(const int32_t* p) { return {_mm256_broadcastsi128_si256(lane_at(p))}; }
template <int kBits>
inline I shift_left(I a) {
  return {_mm256_slli_epi32(a.v, kBits)};
}
inline F splat_from(const float* p) { return {_mm256_broadcast_ss(p)}; }
inline I splat_from(const int32_t* p) { return {_mm256_set1_epi32(*p)}; }

inline void store_bytes(uint8_t* p, B a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
inline F floats_of_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))};
}
inline void store_lane(void* p, B a, int lane) {
  const __m128i v = lane == 0 ? _mm256_castsi256_si128(a.v) : _mm256_extracti128_si256(a.v, 1);
  _mm_storeu_si128(static_cast<__m128i*>(p), v);
}
inline void store_lane(float* p, F a, int lane) {
  _mm_storeu_ps(p, lane == 0 ? _mm256_castps256_ps128(a.v) : _mm256_extractf128_ps(a.v, 1));
}
inline void add_lanes_to(float* out, F a) {
  _mm_storeu_ps(out, _mm_add_ps(_mm_loadu_ps(out), add_quarters(a.v)));
}

}  // namespace
}  // namespace bessemer::cpu
