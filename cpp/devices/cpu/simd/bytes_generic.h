// The byte half of the vector layer, for products of quantised weights; portable. A vector of bytes
// is kLanes lanes of 16: a lane holds half of a 32-element block. bytes_avx2.h and bytes_avx512.h
// hold the same functions by intrinsics.
//
//   lanes_from(p)              lane l = the 16 bytes at p[l]
//   same_lanes(p)              every lane = the 16 bytes at p
//   low_nibbles, high_nibbles  of each byte
//   shift_right(a, counts)     the 64-bit half h of lane l by counts[2 * l + h] bits
//   bits_to_16(p)              byte i of lane l = 16 if bit i of the 16-bit word at p[l] is set
//   dot4<kWide>(acc, u, s)     acc + the sums of four products of unsigned u and signed s. Exact
//   for
//                              u <= 63 and |s| <= 127; kWide says that u may reach 255
//   sum_quads(a, b, c, d)      lane l = the sums of lane l of a, b, c and d
//   transpose4(a, b, c, d)     in each lane: 4 x 4 32-bit words transposed
//   words_at(rows, ...)        word r of lane l = the 32 bits at rows[r] + l * stride; 0 for l >=
//   count repeat_words(w)            word r of every lane = w[r] bytes_of_words(w)          word r
//   of lane l = byte l of w[r], unsigned signed_bytes(rows, h)      word r of lane l = the signed
//   byte at rows[r] + 2 * l + h, h 0 or 1 low_half, high_half        f16 in the lower or upper half
//   of each word, widened expand(p)                  lane l = four times p[l] repeat(p) every lane
//   = the four values at p store_lane(p, a, l)
#pragma once

#include "devices/cpu/simd/vec_generic.h"

namespace bessemer::cpu {
namespace {

constexpr int kLanes = 1;

typedef uint8_t Octets __attribute__((vector_size(16)));
typedef uint64_t Quads __attribute__((vector_size(16)));
typedef uint16_t Words __attribute__((vector_size(16)));
typedef int16_t Shorts __attribute__((vector_size(16)));

struct B {
  Octets v;
};

inline B load_bytes(const void* p) {
  B a;
  std::memcpy(&a.v, p, 16);
  return a;
}
inline B lanes_from(const uint8_t* const* p) { return load_bytes(p[0]); }
inline B same_lanes(const uint8_t* p) { return load_bytes(p); }
inline B low_nibbles(B a) { return {a.v & 15}; }
inline B high_nibbles(B a) { return {a.v >> 4}; }
inline B splat_byte(uint8_t b) { return {Octets{} + b}; }
inline B bit_and(B a, B b) { return {a.v & b.v}; }
inline B bit_or(B a, B b) { return {a.v | b.v}; }
inline B bit_xor(B a, B b) { return {a.v ^ b.v}; }
template <class To, class From>
inline To same_bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}
template <int kBits>
inline B shift_left_64(B a) {
  return {same_bits<Octets>(same_bits<Quads>(a.v) << kBits)};
}
inline B shift_right(B a, const uint64_t* counts) {
  return {same_bits<Octets>(same_bits<Quads>(a.v) >> Quads{counts[0], counts[1]})};
}
inline B bits_to_16(const uint8_t* const* p) {
  const uint8_t a = p[0][0];
  const uint8_t b = p[0][1];
  const Octets spread = {a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b};
  const Octets bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return {same_bits<Octets>((spread & bit) != 0) & 16};
}

template <bool kWide>
inline I dot4(I acc, B u, B s) {
  // Even and odd bytes apart, as 16-bit words: |u * s| <= 255 * 127 is a signed 16-bit product.
  const Words uw = same_bits<Words>(u.v);
  const Shorts sw = same_bits<Shorts>(s.v);
  const Shorts even = same_bits<Shorts>(uw & 255) * (sw << 8 >> 8);
  const Shorts odd = same_bits<Shorts>(uw >> 8) * (sw >> 8);
  const auto pair_sums = [](Shorts p) {
    const Ints words = same_bits<Ints>(p);
    return (words << 16 >> 16) + (words >> 16);
  };
  if constexpr (kWide) return {acc.v + pair_sums(even) + pair_sums(odd)};
  return {acc.v + pair_sums(even + odd)};  // at most 2 * 63 * 127
}
inline B splat_word(const void* p) {
  int32_t word;
  std::memcpy(&word, p, 4);
  return {same_bits<Octets>(Ints{} + word)};
}
inline I sum_quads(I a, I b, I c, I d) {
  const Ints ab =
      __builtin_shufflevector(a.v, b.v, 0, 4, 1, 5) + __builtin_shufflevector(a.v, b.v, 2, 6, 3, 7);
  const Ints cd =
      __builtin_shufflevector(c.v, d.v, 0, 4, 1, 5) + __builtin_shufflevector(c.v, d.v, 2, 6, 3, 7);
  return {__builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
          __builtin_shufflevector(ab, cd, 2, 3, 6, 7)};
}
inline void transpose4(B& a, B& b, B& c, B& d) {
  const Ints from[4] = {same_bits<Ints>(a.v), same_bits<Ints>(b.v), same_bits<Ints>(c.v),
                        same_bits<Ints>(d.v)};
  B* const to[4] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    to[i]->v = same_bits<Octets>(Ints{from[0][i], from[1][i], from[2][i], from[3][i]});
  }
}
inline void transpose4(F& a, F& b, F& c, F& d) {
  const F from[4] = {a, b, c, d};
  F* const to[4] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) to[i]->v[j] = from[j].v[i];
  }
}
inline I words_at(const uint8_t* const* rows, int64_t offset, int64_t, int) {
  I a;
  for (int r = 0; r < 4; ++r) {
    int32_t word;
    std::memcpy(&word, rows[r] + offset, 4);
    a.v[r] = word;
  }
  return a;
}
inline I repeat_words(const uint32_t* w) {
  I a;
  std::memcpy(&a.v, w, 16);
  return a;
}
inline I bytes_of_words(const uint32_t* w) {
  I a;
  for (int r = 0; r < 4; ++r) a.v[r] = static_cast<int32_t>(w[r] & 255);
  return a;
}
inline I signed_bytes(const uint8_t* const* rows, int h) {
  I a;
  for (int r = 0; r < 4; ++r) a.v[r] = static_cast<int8_t>(rows[r][h]);
  return a;
}
inline F low_half(I a) { return floats_of_f16(a.v & 0xffff); }
inline F high_half(I a) { return floats_of_f16((a.v >> 16) & 0xffff); }
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
inline F expand(const float* p) { return splat(p[0]); }
inline I expand(const int32_t* p) { return splat_int(p[0]); }
inline F repeat(const float* p) { return load(p); }
inline I repeat(const int32_t* p) { return load_int(p); }
template <int kBits>
inline I shift_left(I a) {
  return {a.v << kBits};
}
inline F splat_from(const float* p) { return splat(*p); }
inline I splat_from(const int32_t* p) { return splat_int(*p); }

inline void store_bytes(uint8_t* p, B a) { std::memcpy(p, &a.v, 16); }
// kWidth bytes as floats.
inline F floats_of_bytes(const uint8_t* p) {
  return {Floats{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
                 static_cast<float>(p[3])}};
}

inline void store_lane(void* p, B a, int) { std::memcpy(p, &a.v, 16); }
inline void store_lane(float* p, F a, int) { store(p, a); }
// out[0..3] += the four values of all lanes summed.
inline void add_lanes_to(float* out, F a) { store(out, add(load(out), a)); }

}  // namespace
}  // namespace bessemer::cpu
