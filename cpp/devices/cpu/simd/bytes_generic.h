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

struct B {
  uint8_t v[16];
};

inline B load_bytes(const void* p) {
  B a;
  std::memcpy(a.v, p, 16);
  return a;
}
inline B lanes_from(const uint8_t* const* p) { return load_bytes(p[0]); }
inline B same_lanes(const uint8_t* p) { return load_bytes(p); }

template <class Op>
inline B each_byte(Op op) {
  B a;
  for (int i = 0; i < 16; ++i) a.v[i] = static_cast<uint8_t>(op(i));
  return a;
}
inline B low_nibbles(B a) {
  return each_byte([&](int i) { return a.v[i] & 15; });
}
inline B high_nibbles(B a) {
  return each_byte([&](int i) { return a.v[i] >> 4; });
}
inline B splat_byte(uint8_t b) {
  return each_byte([&](int) { return b; });
}
inline B bit_and(B a, B b) {
  return each_byte([&](int i) { return a.v[i] & b.v[i]; });
}
inline B bit_or(B a, B b) {
  return each_byte([&](int i) { return a.v[i] | b.v[i]; });
}
inline B bit_xor(B a, B b) {
  return each_byte([&](int i) { return a.v[i] ^ b.v[i]; });
}
template <int kBits>
inline B shift_left_64(B a) {
  uint64_t words[2];
  std::memcpy(words, a.v, 16);
  words[0] <<= kBits;
  words[1] <<= kBits;
  return load_bytes(words);
}
inline B shift_right(B a, const uint64_t* counts) {
  uint64_t words[2];
  std::memcpy(words, a.v, 16);
  words[0] >>= counts[0];
  words[1] >>= counts[1];
  return load_bytes(words);
}
inline B bits_to_16(const uint8_t* const* p) {
  const int word = p[0][0] | (p[0][1] << 8);
  return each_byte([&](int i) { return ((word >> i) & 1) << 4; });
}

template <bool kWide>
inline I dot4(I acc, B u, B s) {
  for (int i = 0; i < 4; ++i) {
    int32_t total = 0;
    for (int j = 0; j < 4; ++j) total += u.v[4 * i + j] * static_cast<int8_t>(s.v[4 * i + j]);
    acc.v[i] += total;
  }
  return acc;
}
inline B splat_word(const void* p) {
  B a;
  for (int i = 0; i < 4; ++i) std::memcpy(a.v + 4 * i, p, 4);
  return a;
}
inline I sum_quads(I a, I b, I c, I d) { return {Ints{sum(a), sum(b), sum(c), sum(d)}}; }
inline void transpose4(B& a, B& b, B& c, B& d) {
  const B from[4] = {a, b, c, d};
  B* const to[4] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) std::memcpy(to[i]->v + 4 * j, from[j].v + 4 * i, 4);
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
inline F low_half(I a) {
  F f;
  for (int i = 0; i < 4; ++i) f.v[i] = f16_to_f32(static_cast<uint16_t>(a.v[i] & 0xffff));
  return f;
}
inline F high_half(I a) {
  F f;
  for (int i = 0; i < 4; ++i) f.v[i] = f16_to_f32(static_cast<uint16_t>((a.v[i] >> 16) & 0xffff));
  return f;
}
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

inline void store_lane(void* p, B a, int) { std::memcpy(p, a.v, 16); }
inline void store_lane(float* p, F a, int) { store(p, a); }
// out[0..3] += the four values of all lanes summed.
inline void add_lanes_to(float* out, F a) { store(out, add(load(out), a)); }

}  // namespace
}  // namespace bessemer::cpu
