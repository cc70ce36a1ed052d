// Four neighbouring elements of a row of block-quantised weights, for kernels that read few rows.
// Layouts follow the GGUF specification; cpp/devices/cpu/quant/dequantize.cpp describes them.
//
// `row` is the first block of a row, `at` the first element, a multiple of 4: it lies in one block,
// and in one half or sub-block of it.
#pragma once

#include <metal_stdlib>

namespace bessemer {

using namespace metal;

struct RowQ4_0 {
  half d;
  uchar nibbles[16];
};
struct RowQ4_1 {
  half d;
  half m;
  uchar nibbles[16];
};
struct RowQ5_0 {
  half d;
  uchar high[4];
  uchar nibbles[16];
};
struct RowQ5_1 {
  half d;
  half m;
  uchar high[4];
  uchar nibbles[16];
};
struct RowQ8_0 {
  half d;
  char q[32];
};
struct RowQ4_K {
  half d;
  half dmin;
  uchar scales[12];
  uchar nibbles[128];
};
struct RowQ5_K {
  half d;
  half dmin;
  uchar scales[12];
  uchar high[32];
  uchar nibbles[128];
};
struct RowQ6_K {
  uchar low[128];
  uchar high[64];
  char scales[16];
  half d;
};
static_assert(sizeof(RowQ4_0) == 18, "18 bytes");
static_assert(sizeof(RowQ4_1) == 20, "20 bytes");
static_assert(sizeof(RowQ5_0) == 22, "22 bytes");
static_assert(sizeof(RowQ5_1) == 24, "24 bytes");
static_assert(sizeof(RowQ8_0) == 34, "34 bytes");
static_assert(sizeof(RowQ4_K) == 144, "144 bytes");
static_assert(sizeof(RowQ5_K) == 176, "176 bytes");
static_assert(sizeof(RowQ6_K) == 210, "210 bytes");

template <class Block>
struct BlockElements {
  static constant constexpr uint kCount = 256;
};
template <>
struct BlockElements<RowQ4_0> {
  static constant constexpr uint kCount = 32;
};
template <>
struct BlockElements<RowQ4_1> {
  static constant constexpr uint kCount = 32;
};
template <>
struct BlockElements<RowQ5_0> {
  static constant constexpr uint kCount = 32;
};
template <>
struct BlockElements<RowQ5_1> {
  static constant constexpr uint kCount = 32;
};
template <>
struct BlockElements<RowQ8_0> {
  static constant constexpr uint kCount = 32;
};

// The nibbles of blocks of 32: elements 0-15 in the low halves of the bytes, 16-31 in the high.
inline uint4 four_nibbles(const device uchar* bytes, uint in_block) {
  const uint shift = in_block < 16 ? 0 : 4;
  const uint first = in_block % 16;
  uint4 q;
  for (uint i = 0; i < 4; ++i) q[i] = (bytes[first + i] >> shift) & 15u;
  return q;
}
inline uint4 four_fifth_bits(const device uchar* bytes, uint in_block) {
  const uint bits = uint(bytes[in_block / 8]) >> (in_block % 8);
  return uint4(bits & 1u, (bits >> 1) & 1u, (bits >> 2) & 1u, (bits >> 3) & 1u) << 4;
}

inline float4 four_of(const device RowQ4_0* row, uint at) {
  const device RowQ4_0& b = row[at / 32];
  return float(b.d) * (float4(four_nibbles(b.nibbles, at % 32)) - 8.0f);
}
inline float4 four_of(const device RowQ4_1* row, uint at) {
  const device RowQ4_1& b = row[at / 32];
  return float(b.d) * float4(four_nibbles(b.nibbles, at % 32)) + float(b.m);
}
inline float4 four_of(const device RowQ5_0* row, uint at) {
  const device RowQ5_0& b = row[at / 32];
  const uint4 q = four_nibbles(b.nibbles, at % 32) | four_fifth_bits(b.high, at % 32);
  return float(b.d) * (float4(q) - 16.0f);
}
inline float4 four_of(const device RowQ5_1* row, uint at) {
  const device RowQ5_1& b = row[at / 32];
  const uint4 q = four_nibbles(b.nibbles, at % 32) | four_fifth_bits(b.high, at % 32);
  return float(b.d) * float4(q) + float(b.m);
}
inline float4 four_of(const device RowQ8_0* row, uint at) {
  const device RowQ8_0& b = row[at / 32];
  const uint i = at % 32;
  return float(b.d) *
         float4(float(b.q[i]), float(b.q[i + 1]), float(b.q[i + 2]), float(b.q[i + 3]));
}

// The 6-bit scale and min of a sub-block of 32 elements.
inline uint2 scale_and_min(const device uchar* s, uint sub) {
  if (sub < 4) return uint2(s[sub] & 63u, s[sub + 4] & 63u);
  return uint2((s[sub + 4] & 15u) | ((s[sub - 4] >> 6) << 4),
               (s[sub + 4] >> 4) | ((s[sub] >> 6) << 4));
}
// Element i of sub-block `sub` in the 128 bytes of nibbles.
inline uint4 four_nibbles_k(const device uchar* nibbles, uint sub, uint i) {
  const uint shift = sub % 2 * 4;
  const uint first = sub / 2 * 32 + i;
  uint4 q;
  for (uint j = 0; j < 4; ++j) q[j] = (nibbles[first + j] >> shift) & 15u;
  return q;
}
inline float4 four_of(const device RowQ4_K* row, uint at) {
  const device RowQ4_K& b = row[at / 256];
  const uint sub = at % 256 / 32;
  const uint2 s = scale_and_min(b.scales, sub);
  const uint4 q = four_nibbles_k(b.nibbles, sub, at % 32);
  return float(b.d) * float(s.x) * float4(q) - float(b.dmin) * float(s.y);
}
inline float4 four_of(const device RowQ5_K* row, uint at) {
  const device RowQ5_K& b = row[at / 256];
  const uint sub = at % 256 / 32;
  const uint i = at % 32;
  const uint2 s = scale_and_min(b.scales, sub);
  uint4 q = four_nibbles_k(b.nibbles, sub, i);
  for (uint j = 0; j < 4; ++j) q[j] |= ((uint(b.high[i + j]) >> sub) & 1u) << 4;
  return float(b.d) * float(s.x) * float4(q) - float(b.dmin) * float(s.y);
}
inline float4 four_of(const device RowQ6_K* row, uint at) {
  const device RowQ6_K& b = row[at / 256];
  const uint half_block = at % 256 / 128;
  const uint quarter = at % 128 / 32;
  const uint i = at % 32;
  const float scale = float(b.d) * float(b.scales[half_block * 8 + quarter * 2 + i / 16]);
  float4 q;
  for (uint j = 0; j < 4; ++j) {
    const uint low = uint(b.low[half_block * 64 + quarter % 2 * 32 + i + j]);
    const uint high = uint(b.high[half_block * 32 + i + j]);
    q[j] = float(((low >> (quarter / 2 * 4)) & 15u) | (((high >> (2 * quarter)) & 3u) << 4));
  }
  return scale * (q - 32.0f);
}

}  // namespace bessemer
