// The thin vector layer that kernel bodies are written against; this one in portable C++ (compiler
// vectors of four floats: SSE2 on x86-64, NEON on arm64), vec_avx2.h and vec_avx512.h by
// intrinsics. A kernel file includes exactly one of them. All names have internal linkage (see
// vec_avx512.h).
//
//   F, I                       kWidth floats, kWidth int32
//   load_n(p, n), store_n      the first n elements only (0 <= n); the rest reads as 0
//   load_f16 / load_bf16       16-bit floats at p, widened
//   fma(a, b, c)               a * b + c; one rounding, except here, where it is two
//   min, max                   the second operand where either is NaN
//   copy_sign(m, s)            |m| with the sign of s
//   select_less(a, b, y, n)    a < b ? y : n, lane by lane
//   round_to_int               to nearest even, for |a| < 2^22
//   power_of_two(n)            2^n for -127 < n < 128
//   largest(a), sum(i)         over the lanes; no NaN
//   sum4(a, b, c, d, out)      out[0..3] = the lane sums, each by the same fixed tree; sum(a) is
//   one
#pragma once

#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace bessemer::cpu {
namespace {

constexpr int kWidth = 4;

typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));

struct F {
  Floats v;
};
struct I {
  Ints v;
};

inline F zero() { return {Floats{0, 0, 0, 0}}; }
inline F splat(float a) { return {Floats{a, a, a, a}}; }
inline F load(const float* p) {
  F a;
  std::memcpy(&a.v, p, sizeof a.v);
  return a;
}
inline F load_n(const float* p, int64_t n) {
  if (n >= kWidth) return load(p);
  F a = zero();
  for (int i = 0; i < n; ++i) a.v[i] = p[i];
  return a;
}
inline void store(float* p, F a) { std::memcpy(p, &a.v, sizeof a.v); }
inline void store_n(float* p, F a, int64_t n) {
  if (n >= kWidth) return store(p, a);
  for (int i = 0; i < n; ++i) p[i] = a.v[i];
}

inline Ints bits_of(Floats a) {
  Ints i;
  std::memcpy(&i, &a, sizeof i);
  return i;
}
inline Floats floats_of(Ints i) {
  Floats a;
  std::memcpy(&a, &i, sizeof a);
  return a;
}
// `mask` has all bits of a lane set or none.
inline F blend(Ints mask, F yes, F no) {
  return {floats_of((bits_of(yes.v) & mask) | (bits_of(no.v) & ~mask))};
}

// f16 bits in the lower half of each lane (the upper is 0), widened: exact, NaN and subnormals too.
inline F floats_of_f16(Ints h) {
  const Ints magnitude = h & 0x7fff;
  const F normal = {floats_of((magnitude << 13) + (112 << 23))};  // the bias differs by 112
  const F special = {floats_of(magnitude << 13 | 0x7f800000)};
  // Not by arithmetic on subnormals, which takes a hundred times as long on some machines.
  const F subnormal = {__builtin_convertvector(magnitude, Floats) * 0x1p-24f};
  const F finite = blend(magnitude < 0x0400, subnormal, normal);
  const F value = blend(magnitude >= 0x7c00, special, finite);
  return {floats_of(bits_of(value.v) | (h & 0x8000) << 16)};
}

inline uint16_t half_at(const void* p, int i) {
  uint16_t h;
  std::memcpy(&h, static_cast<const char*>(p) + 2 * i, sizeof h);
  return h;
}
inline void put_half(void* p, int i, uint16_t h) {
  std::memcpy(static_cast<char*>(p) + 2 * i, &h, sizeof h);
}
// n 16-bit words, each in the lower half of a lane; the rest is 0.
inline Ints load_halves_n(const void* p, int64_t n) {
  if (n < kWidth) {
    Ints h = {0, 0, 0, 0};
    for (int i = 0; i < n; ++i) h[i] = half_at(p, i);
    return h;
  }
  return Ints{half_at(p, 0), half_at(p, 1), half_at(p, 2), half_at(p, 3)};
}
inline F load_f16_n(const void* p, int64_t n) { return floats_of_f16(load_halves_n(p, n)); }
inline F load_f16(const void* p) { return load_f16_n(p, kWidth); }
inline void store_f16_n(void* p, F a, int64_t n) {
  for (int i = 0; i < kWidth && i < n; ++i) put_half(p, i, f32_to_f16(a.v[i]));
}
inline F load_bf16_n(const void* p, int64_t n) { return {floats_of(load_halves_n(p, n) << 16)}; }
inline F load_bf16(const void* p) { return load_bf16_n(p, kWidth); }
inline void store_bf16_n(void* p, F a, int64_t n) {
  for (int i = 0; i < kWidth && i < n; ++i) put_half(p, i, f32_to_bf16(a.v[i]));
}

inline F add(F a, F b) { return {a.v + b.v}; }
inline F sub(F a, F b) { return {a.v - b.v}; }
inline F mul(F a, F b) { return {a.v * b.v}; }
inline F div(F a, F b) { return {a.v / b.v}; }
inline F fma(F a, F b, F c) { return {a.v * b.v + c.v}; }
inline F min(F a, F b) { return blend(a.v < b.v, a, b); }
inline F max(F a, F b) { return blend(a.v > b.v, a, b); }
inline F abs(F a) { return {floats_of(bits_of(a.v) & 0x7fffffff)}; }
inline F copy_sign(F magnitude, F sign) {
  return {floats_of((bits_of(magnitude.v) & 0x7fffffff) | (bits_of(sign.v) & INT32_MIN))};
}
inline F select_less(F a, F b, F yes, F no) { return blend(a.v < b.v, yes, no); }

inline I round_to_int(F a) {
  // Adding 1.5 * 2^23 leaves no bit for a fraction: the FPU rounds to nearest even.
  const Floats shifted = a.v + 12582912.0f;
  return {bits_of(shifted) - 0x4b400000};
}
inline F to_float(I a) { return {__builtin_convertvector(a.v, Floats)}; }
inline I splat_int(int32_t a) { return {Ints{a, a, a, a}}; }
inline I load_int(const int32_t* p) {
  I a;
  std::memcpy(&a.v, p, sizeof a.v);
  return a;
}
inline I add(I a, I b) { return {a.v + b.v}; }
inline I sub(I a, I b) { return {a.v - b.v}; }
inline I mul(I a, I b) { return {a.v * b.v}; }
inline I half_of(I a) { return {a.v >> 1}; }
inline F power_of_two(I n) { return {floats_of((n.v + 127) << 23)}; }

inline float largest(F a) {
  float most = a.v[0];
  for (int i = 1; i < kWidth; ++i) most = a.v[i] > most ? a.v[i] : most;
  return most;
}
inline int32_t sum(I a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }
inline void store_i8(int8_t* p, I a) {  // |a| <= 127
  for (int i = 0; i < kWidth; ++i) p[i] = static_cast<int8_t>(a.v[i]);
}

inline float sum(F a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
inline void sum4(F a, F b, F c, F d, float* out) {
  out[0] = sum(a);
  out[1] = sum(b);
  out[2] = sum(c);
  out[3] = sum(d);
}

}  // namespace
}  // namespace bessemer::cpu
