// The byte half of the vector layer over AVX-512: four lanes; dot products by VNNI in files
// compiled with it. bytes_generic.h documents the functions.
#pragma once

#include "devices/cpu/simd/vec_avx512.h"

namespace bessemer::cpu {
namespace {

constexpr int kLanes = 4;

struct B {
  __m512i v;
};

inline __m128i lane_at(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline B load_bytes(const void* p) { return {_mm512_loadu_si512(p)}; }
inline B lanes_from(const uint8_t* const* p) {
  // Broadcasts from memory under a mask need no shuffle port.
  __m512i v = _mm512_broadcast_i32x4(lane_at(p[0]));
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, lane_at(p[1]));
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, lane_at(p[2]));
  return {_mm512_mask_broadcast_i32x4(v, 0xf000, lane_at(p[3]))};
}
inline B same_lanes(const uint8_t* p) { return {_mm512_broadcast_i32x4(lane_at(p))}; }
inline B splat_byte(uint8_t b) { return {_mm512_set1_epi8(static_cast<char>(b))}; }
inline B bit_and(B a, B b) { return {_mm512_and_si512(a.v, b.v)}; }
inline B bit_or(B a, B b) { return {_mm512_or_si512(a.v, b.v)}; }
inline B bit_xor(B a, B b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline B low_nibbles(B a) { return bit_and(a, splat_byte(15)); }
inline B high_nibbles(B a) { return low_nibbles({_mm512_srli_epi16(a.v, 4)}); }
template <int kBits>
inline B shift_left_64(B a) {
  return {_mm512_slli_epi64(a.v, kBits)};
}
inline B shift_right(B a, const uint64_t* counts) {
  return {_mm512_srlv_epi64(a.v, _mm512_loadu_si512(counts))};
}
template <bool kWide>
inline I dot4(I acc, B u, B s) {
#if defined(__AVX512VNNI__)
  return {_mm512_dpbusd_epi32(acc.v, u.v, s.v)};
#else
  if constexpr (kWide) {  // 16-bit sums of two products would saturate
    const __m512i u_even = _mm512_and_si512(u.v, _mm512_set1_epi16(255));
    const __m512i u_odd = _mm512_srli_epi16(u.v, 8);
    const __m512i s_even = _mm512_srai_epi16(_mm512_slli_epi16(s.v, 8), 8);
    const __m512i s_odd = _mm512_srai_epi16(s.v, 8);
    const __m512i pairs =
        _mm512_add_epi32(_mm512_madd_epi16(u_even, s_even), _mm512_madd_epi16(u_odd, s_odd));
    return {_mm512_add_epi32(acc.v, pairs)};
  } else {
    const __m512i pairs = _mm512_maddubs_epi16(u.v, s.v);
    return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
  }
#endif
}
inline B splat_word(const void* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return {_mm512_set1_epi32(word)};
}
inline I sum_quads(I a, I b, I c, I d) {
  const __m512i ab =
      _mm512_add_epi32(_mm512_unpacklo_epi32(a.v, b.v), _mm512_unpackhi_epi32(a.v, b.v));
  const __m512i cd =
      _mm512_add_epi32(_mm512_unpacklo_epi32(c.v, d.v), _mm512_unpackhi_epi32(c.v, d.v));
  return {_mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))};
}
inline void transpose4(B& a, B& b, B& c, B& d) {
  const __m512i ab_low = _mm512_unpacklo_epi32(a.v, b.v);
  const __m512i ab_high = _mm512_unpackhi_epi32(a.v, b.v);
  const __m512i cd_low = _mm512_unpacklo_epi32(c.v, d.v);
  const __m512i cd_high = _mm512_unpackhi_epi32(c.v, d.v);
  a.v = _mm512_unpacklo_epi64(ab_low, cd_low);
  b.v = _mm512_unpackhi_epi64(ab_low, cd_low);
  c.v = _mm512_unpacklo_epi64(ab_high, cd_high);
  d.v = _mm512_unpackhi_epi64(ab_high, cd_high);
}
inline void transpose4(F& a, F& b, F& c, F& d) {
  B t[4] = {{_mm512_castps_si512(a.v)},
            {_mm512_castps_si512(b.v)},
            {_mm512_castps_si512(c.v)},
            {_mm512_castps_si512(d.v)}};
  transpose4(t[0], t[1], t[2], t[3]);
  a.v = _mm512_castsi512_ps(t[0].v);
  b.v = _mm512_castsi512_ps(t[1].v);
  c.v = _mm512_castsi512_ps(t[2].v);
  d.v = _mm512_castsi512_ps(t[3].v);
}
inline __m128i four_words(const uint32_t* w) {
  return _mm_setr_epi32(static_cast<int>(w[0]), static_cast<int>(w[1]), static_cast<int>(w[2]),
                        static_cast<int>(w[3]));
}
inline I repeat_words(const uint32_t* w) { return {_mm512_broadcast_i32x4(four_words(w))}; }
inline I bytes_of_words(const uint32_t* w) {
  const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return {_mm512_cvtepu8_epi32(_mm_shuffle_epi8(four_words(w), order))};
}
inline I signed_bytes(const uint8_t* const* rows, int h) {
  const auto pair = [](const uint8_t* a, const uint8_t* b) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a));
    return _mm_unpacklo_epi64(low, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b)));
  };
  const __m256i all = _mm256_inserti128_si256(_mm256_castsi128_si256(pair(rows[0], rows[1])),
                                              pair(rows[2], rows[3]), 1);
  const __m256i words = _mm256_srai_epi16(h == 0 ? _mm256_slli_epi16(all, 8) : all, 8);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return {_mm512_permutexvar_epi32(order, _mm512_cvtepi16_epi32(words))};
}
inline F low_half(I a) { return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a.v))}; }
inline F high_half(I a) {
  return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a.v, 16)))};
}
inline __m512i four_times_each() {
  return _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
}
struct WordOrder {
  uint16_t index[32];
};
// For word 4 * l + r the position of lane l's 16-bit word, and of the one after it 16 words later.
constexpr WordOrder four_rows_order(int w0, int w1, int w2, int w3) {
  WordOrder order{};
  const int word[4] = {w0, w1, w2, w3};
  for (int i = 0; i < 16; ++i) {
    order.index[i] = static_cast<uint16_t>(word[i / 4]);
    order.index[16 + i] = static_cast<uint16_t>(word[i / 4] + 1);
  }
  return order;
}
struct DwordOrder {
  uint32_t index[16];
};
// Four words from every `stride`-th on; what the first load lacks comes from one `second` words
// later.
constexpr DwordOrder lanes_order(int stride, int second) {
  DwordOrder order{};
  for (int i = 0; i < 16; ++i) {
    const int at = i / 4 * stride + i % 4;
    order.index[i] = static_cast<uint32_t>(at < 16 ? at : 16 + at - second);
  }
  return order;
}

struct FPair {
  F first, second;
};
// The first n of 32 16-bit words.
inline __mmask32 first_words(int64_t n) {
  return n >= 32 ? 0xffffffffu : n <= 0 ? 0u : (1u << n) - 1u;
}

template <int kStride, bool kBoth>
inline FPair f16_pairs_at(const uint8_t* const* rows, int64_t offset, int count) {
  // Two loads hold the four blocks' first words; a masked one merges them, and one permutation a
  // row puts its scales where they belong: the first of each pair in the lower half, the second
  // above.
  constexpr int kSecond = 4 * kStride - 64 < 2 * kStride - 2 ? 4 * kStride - 64 : 2 * kStride - 2;
  constexpr bool kOneLoad = 3 * kStride + 4 <= 64;
  constexpr int kWord1 = kStride / 2;
  constexpr int kWord2 = kOneLoad ? kStride : kStride - kSecond / 2;
  constexpr int kWord3 = kWord2 + kStride / 2;
  constexpr uint32_t kBits = kBoth ? 3 : 1;
  constexpr uint32_t kFromFirst = kBits | kBits << kWord1;
  static_assert(kOneLoad || ((kBits << kWord2 | kBits << kWord3) & kFromFirst) == 0);
  alignas(64) static constexpr auto kOrder = four_rows_order(0, kWord1, kWord2, kWord3);
  const __m512i order = _mm512_load_si512(kOrder.index);
  // Behind the last block may be the end of the file: only what is there is read.
  const __mmask32 in_first = first_words(count * (kStride / 2));
  const __mmask32 in_second = first_words(count * (kStride / 2) - kSecond / 2) & ~kFromFirst;
  const uint32_t lanes =
      count == kLanes ? 0x11111111u : 0x00010001u * (0x1111u >> (16 - 4 * count));
  __m512i words = _mm512_setzero_si512();
  for (int r = 0; r < 4; ++r) {
    const uint8_t* p = rows[r] + offset;
    __m512i row = count == kLanes ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16(in_first, p);
    if constexpr (!kOneLoad) row = _mm512_mask_loadu_epi16(row, in_second, p + kSecond);
    words = _mm512_mask_permutexvar_epi16(words, lanes << r, order, row);
  }
  return {{_mm512_cvtph_ps(_mm512_castsi512_si256(words))},
          {_mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1))}};
}
template <int kStride>
inline B lanes_apart(const uint8_t* p, int count) {
  if constexpr (kStride == 20 || kStride == 24) {
    // Whole words apart: two loads that overlap, and one permutation.
    constexpr int kSecond = 3 * kStride + 16 - 64;  // the last lane ends its load
    alignas(64) static constexpr auto kOrder = lanes_order(kStride / 4, kSecond / 4);
    const __m512i order = _mm512_load_si512(kOrder.index);
    if (count == kLanes) {
      return {
          _mm512_permutex2var_epi32(_mm512_loadu_si512(p), order, _mm512_loadu_si512(p + kSecond))};
    }
    const int64_t bytes = (count - 1) * kStride + 16;
    const auto in_first = static_cast<__mmask16>(first_words(bytes / 4));
    return {_mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi32(in_first, p))};
  }
  const uint8_t* at[kLanes];
  for (int l = 0; l < kLanes; ++l) at[l] = p + (l < count ? l : count - 1) * kStride;
  return lanes_from(at);
}
template <int kStride>
inline void or_fifth_bits(const uint8_t* p, int count, B* h) {
  // Scalar code has ports of its own; shuffles would wait for the others'.
  const auto word = [](const uint8_t* q) {
    uint16_t w;
    __builtin_memcpy(&w, q, 2);
    return static_cast<uint64_t>(w);
  };
  for (int half = 0; half < 2; ++half) {
    uint64_t bits = 0;
    for (int l = 0; l < kLanes; ++l) {
      bits |= word(p + (l < count ? l : count - 1) * kStride + 2 * half) << (16 * l);
    }
    h[half].v = _mm512_mask_add_epi8(h[half].v, bits, h[half].v, _mm512_set1_epi8(16));
  }
}
inline F expand(const float* p) {
  return {_mm512_permutexvar_ps(four_times_each(), _mm512_castps128_ps512(_mm_loadu_ps(p)))};
}
inline I expand(const int32_t* p) {
  return {_mm512_permutexvar_epi32(four_times_each(), _mm512_castsi128_si512(lane_at(p)))};
}
inline F repeat(const float* p) { return {_mm512_broadcast_f32x4(_mm_loadu_ps(p))}; }
inline I repeat(const int32_t* p) { return {_mm512_broadcast_i32x4(lane_at(p))}; }
template <int kBits>
inline I shift_left(I a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
inline F splat_from(const float* p) { return {_mm512_set1_ps(*p)}; }
inline I splat_from(const int32_t* p) { return {_mm512_set1_epi32(*p)}; }

inline void store_bytes(uint8_t* p, B a) { _mm512_storeu_si512(p, a.v); }
inline F floats_of_bytes(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(lane_at(p)))};
}
inline void store_lane(void* p, B a, int lane) {
  __m128i v;
  switch (lane) {
    case 0:
      v = _mm512_castsi512_si128(a.v);
      break;
    case 1:
      v = _mm512_extracti32x4_epi32(a.v, 1);
      break;
    case 2:
      v = _mm512_extracti32x4_epi32(a.v, 2);
      break;
    default:
      v = _mm512_extracti32x4_epi32(a.v, 3);
      break;
  }
  _mm_storeu_si128(static_cast<__m128i*>(p), v);
}
inline void store_lane(float* p, F a, int lane) {
  store_lane(static_cast<void*>(p), B{_mm512_castps_si512(a.v)}, lane);
}
inline void add_lanes_to(float* out, F a) {
  _mm_storeu_ps(out, _mm_add_ps(_mm_loadu_ps(out), add_quarters(a.v)));
}

}  // namespace
}  // namespace bessemer::cpu
