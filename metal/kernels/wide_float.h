// f64 as bits: conversions by integer arithmetic, for hardware and a language without doubles.
// Results are those of IEEE 754, rounded to nearest even.
#pragma once

#include "elements.h"

namespace bessemer {

constant constexpr ulong kF64Sign = 0x8000000000000000ul;
constant constexpr ulong kF64Infinity = 0x7ff0000000000000ul;

inline uint leading_zeros(ulong v) {
  const uint high = uint(v >> 32);
  return high != 0 ? clz(high) : 32 + clz(uint(v));
}

inline ulong f64_from_f32(float x) {
  const uint bits = as_type<uint>(x);
  const ulong sign = ulong(bits & 0x80000000u) << 32;
  const uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // a NaN, made quiet
    return sign | kF64Infinity | 0x0008000000000000ul | (ulong(magnitude & 0x7fffffu) << 29);
  }
  if (magnitude == 0x7f800000u) return sign | kF64Infinity;
  if (magnitude == 0) return sign;
  if (magnitude >= 0x00800000u) return sign | ((ulong(magnitude) << 29) + (896ul << 52));
  // Subnormal: a normal f64.
  const uint shift = clz(magnitude) - 8;
  return sign | (ulong(897 - shift) << 52) | (ulong((magnitude << shift) & 0x7fffffu) << 29);
}

// With `odd`, for a further rounding to 16 bits: what is cut off sets the last bit, so that
// rounding twice gives what rounding once would.
inline float f32_from_f64(ulong bits, bool odd) {
  const uint sign = uint(bits >> 32) & 0x80000000u;
  const ulong magnitude = bits & ~kF64Sign;
  if (magnitude > kF64Infinity) {
    return as_type<float>(sign | 0x7fc00000u | (uint(magnitude >> 29) & 0x3fffffu));
  }
  const int exponent = int(magnitude >> 52) - 896;
  if (magnitude == kF64Infinity || (exponent >= 255 && !odd)) {
    return as_type<float>(sign | 0x7f800000u);
  }
  if (exponent >= 255) return as_type<float>(sign | 0x7f7fffffu);
  if (exponent < -24) return as_type<float>(sign | (odd && magnitude != 0 ? 1u : 0u));
  const ulong mantissa = (magnitude & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const uint shift = exponent > 0 ? 29 : uint(30 - exponent);
  const ulong kept = mantissa >> shift;
  const ulong lost = mantissa & ((1ul << shift) - 1);
  // The implicit bit of a normal number counts one up in the exponent.
  uint result = uint(kept) + (exponent > 0 ? uint(exponent - 1) << 23 : 0);
  if (odd) {
    result |= lost != 0 ? 1u : 0u;
  } else {
    const ulong tie = 1ul << (shift - 1);
    result += lost > tie || (lost == tie && (kept & 1) != 0) ? 1u : 0u;
  }
  return as_type<float>(sign | result);
}

inline ulong f64_from_whole(long x) {
  if (x == 0) return 0;
  const ulong sign = x < 0 ? kF64Sign : 0ul;
  const ulong magnitude = x < 0 ? 0ul - ulong(x) : ulong(x);
  const uint zeros = leading_zeros(magnitude);
  const ulong mantissa = magnitude << zeros;  // 64 bits, of which 53 stay
  const ulong kept = mantissa >> 11;
  const ulong lost = mantissa & 0x7fful;
  const ulong up = lost > 0x400ul || (lost == 0x400ul && (kept & 1) != 0) ? 1ul : 0ul;
  return sign | ((ulong(1023 + 62 - zeros) << 52) + kept + up);
}

// Truncates and saturates; NaN gives 0.
inline long whole_from_f64(ulong bits, long low, long high) {
  const ulong magnitude = bits & ~kF64Sign;
  const bool negative = bits != magnitude;
  if (magnitude > kF64Infinity) return 0;
  const int exponent = int(magnitude >> 52) - 1023;
  if (exponent < 0) return 0 < low ? low : (0 > high ? high : 0);
  if (exponent >= 63) return negative ? low : high;
  const ulong mantissa = (magnitude & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const long v = long(exponent >= 52 ? mantissa << (exponent - 52) : mantissa >> (52 - exponent));
  const long result = negative ? -v : v;
  return result < low ? low : (result > high ? high : result);
}
inline long whole_from_f32(float x, long low, long high) {
  if (x != x) return 0;
  if (x >= 0x1p63f) return high;
  if (x < -0x1p63f) return low;
  const long v = long(x);
  return v < low ? low : (v > high ? high : v);
}

// An integer as f32; `odd` as above.
inline float f32_from_whole(long x, bool odd) {
  const ulong magnitude = x < 0 ? 0ul - ulong(x) : ulong(x);
  if (magnitude < 0x1000000ul) return float(int(x));
  const uint shift = 40 - leading_zeros(magnitude);  // 24 bits stay
  ulong kept = magnitude >> shift;
  const ulong lost = magnitude & ((1ul << shift) - 1);
  if (odd) {
    kept |= lost != 0 ? 1ul : 0ul;
  } else if (shift > 0) {
    const ulong tie = 1ul << (shift - 1);
    kept += lost > tie || (lost == tie && (kept & 1) != 0) ? 1ul : 0ul;
  }
  const float v = float(uint(kept)) * as_type<float>((127 + shift) << 23);
  return x < 0 ? -v : v;
}

}  // namespace bessemer
