// The functions that the expressions of op_table.def call and MSL does not have. They hide
// functions of the same names in namespace metal.
#pragma once

#include <metal_stdlib>

namespace bessemer {

using namespace metal;

inline float erf(float x) {
  const float a = fabs(x);
  const float z = a * a;
  const float small =
      a + a * (0x1.06eba8p-3f +
               z * (-0x1.812742p-2f +
                    z * (0x1.ce2e06p-4f +
                         z * (-0x1.b80e3p-6f + z * (0x1.54c2cap-8f + z * (-0x1.aa069p-11f +
                                                                          z * 0x1.5bfbb4p-14f))))));
  // -log(erfc(c)); erf rounds to 1 from 3.92 on.
  const float c = a > 3.95f ? 3.95f : a;
  const float w =
      -0x1.6e55fap-13f +
      c * (0x1.2127e4p+0f +
           c * (0x1.44460cp-1f +
                c * (0x1.bb83e2p-4f +
                     c * (-0x1.9b8e76p-6f +
                          c * (0x1.115abep-8f + c * (-0x1.c790eap-12f + c * 0x1.61ea32p-16f))))));
  return copysign(a < 0.9375f ? small : 1.0f - exp(-w), x);
}

// By the Taylor series near zero, where exp(x) - 1 would cancel.
inline float expm1(float x) {
  if (!(fabs(x) < 0.5f)) return exp(x) - 1.0f;
  float p = 1.0f / 3628800.0f;
  p = 1.0f / 362880.0f + x * p;
  p = 1.0f / 40320.0f + x * p;
  p = 1.0f / 5040.0f + x * p;
  p = 1.0f / 720.0f + x * p;
  p = 1.0f / 120.0f + x * p;
  p = 1.0f / 24.0f + x * p;
  p = 1.0f / 6.0f + x * p;
  p = 0.5f + x * p;
  return x * (1.0f + x * p);
}

// The error of rounding 1 + x cancels in the quotient.
inline float log1p(float x) {
  const float u = 1.0f + x;
  if (u == 1.0f || u == INFINITY) return x;
  return log(u) * (x / (u - 1.0f));
}

inline float bsm_hypot(float x, float y) {
  const float a = fabs(x);
  const float b = fabs(y);
  if (a == INFINITY || b == INFINITY) return INFINITY;
  const float high = a < b ? b : a;
  const float low = a < b ? a : b;
  if (!(high > 0.0f)) return high + low;
  // Scaled by a power of two, which changes no digit.
  const uint exponent = min(as_type<uint>(high) >> 23, 253u);
  const float down = as_type<float>((254 - exponent) << 23);
  const float up = as_type<float>(exponent == 0 ? 0x00400000u : exponent << 23);
  const float h = high * down;
  const float l = low * down;
  return sqrt(h * h + l * l) * up;
}

// x - floor(x / y) * y, exactly; the sign of y.
inline float bsm_remainder(float x, float y) {
  const float m = fmod(x, y);
  if (m == 0.0f) return copysign(0.0f, y);
  return (m < 0.0f) != (y < 0.0f) ? m + y : m;
}

inline long bsm_floor_div(long x, long y) {
  if (y == 0) return 0;
  if (y == -1) return long(0ul - ulong(x));
  const long q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
inline long bsm_floor_mod(long x, long y) {
  if (y == 0 || y == -1) return 0;
  const long m = x % y;
  return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
inline long bsm_ipow(long x, long y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0);
  ulong result = 1;
  ulong base = ulong(x);
  for (ulong e = ulong(y); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= base;
    base *= base;
  }
  return long(result);
}
// A negative distance counts as too far.
inline long bsm_shl(long x, long y) {
  return ulong(y) < 64 ? long(ulong(x) << (ulong(y) & 63)) : 0;
}
inline long bsm_shr(long x, long y) { return x >> (ulong(y) < 64 ? y : 63); }

}  // namespace bessemer
