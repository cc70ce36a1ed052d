#include "devices/cpu/quant/dequantize.h"

#include <cstring>

#include "base/half.h"

namespace bessemer::cpu {
namespace {

// A block as bytes; multi-byte fields are little-endian and unaligned.
using Bytes = const uint8_t*;

uint16_t u16_at(Bytes p) { return static_cast<uint16_t>(p[0] | (p[1] << 8)); }
uint32_t u32_at(Bytes p) { return u16_at(p) | (static_cast<uint32_t>(u16_at(p + 2)) << 16); }
float f16_at(Bytes p) { return f16_to_f32(u16_at(p)); }

// The formats of 32-element blocks. Elements i and i + 16 share a byte of nibbles; the fifth bits
// of the q5 formats stand apart as one 32-bit word.

// d f16 | 16 x (low nibble: i, high nibble: i + 16); value = d * (q - 8)
void q4_0(Bytes b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}

// d f16 | m f16 | 16 nibble pairs; value = d * q + m
void q4_1(Bytes b, float* y) {
  const float d = f16_at(b);
  const float m = f16_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    y[i + 16] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

// d f16 | high bits u32 | 16 nibble pairs; value = d * (q - 16)
void q5_0(Bytes b, float* y) {
  const float d = f16_at(b);
  const uint32_t high = u32_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    const int lo = (b[6 + i] & 15) | static_cast<int>((high >> i) & 1) << 4;
    const int hi = (b[6 + i] >> 4) | static_cast<int>((high >> (i + 16)) & 1) << 4;
    y[i] = d * static_cast<float>(lo - 16);
    y[i + 16] = d * static_cast<float>(hi - 16);
  }
}

// d f16 | m f16 | high bits u32 | 16 nibble pairs; value = d * q + m
void q5_1(Bytes b, float* y) {
  const float d = f16_at(b);
  const float m = f16_at(b + 2);
  const uint32_t high = u32_at(b + 4);
  for (int i = 0; i < 16; ++i) {
    const int lo = (b[8 + i] & 15) | static_cast<int>((high >> i) & 1) << 4;
    const int hi = (b[8 + i] >> 4) | static_cast<int>((high >> (i + 16)) & 1) << 4;
    y[i] = d * static_cast<float>(lo) + m;
    y[i + 16] = d * static_cast<float>(hi) + m;
  }
}

// d f16 | 32 x i8; value = d * q
void q8_0(Bytes b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(b[2 + i]));
}

// The formats of 256-element blocks: eight sub-blocks of 32, whose 6-bit scales and mins share 12
// bytes: the first four of each in the low six bits of bytes 0-3 and 4-7; of the last four, the low
// nibbles in bytes 8-11 and the upper two bits on top of the first eight bytes.
struct ScaleMin {
  int scale;
  int min;
};
ScaleMin scale_min_at(Bytes s, int sub) {
  if (sub < 4) return {s[sub] & 63, s[sub + 4] & 63};
  return {(s[sub + 4] & 15) | (s[sub - 4] >> 6) << 4, (s[sub + 4] >> 4) | (s[sub] >> 6) << 4};
}

// d f16 | dmin f16 | 12 scale bytes | 4 x 32 nibble pairs: the low nibbles of chunk c are sub-block
// 2c, the high ones 2c + 1; value = d * scale * q - dmin * min
void q4_k(Bytes b, float* y) {
  const float d = f16_at(b);
  const float dmin = f16_at(b + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin sm = scale_min_at(b + 4, sub);
    const float scale = d * static_cast<float>(sm.scale);
    const float min = dmin * static_cast<float>(sm.min);
    Bytes q = b + 16 + sub / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      const int v = (q[i] >> (sub % 2 * 4)) & 15;
      y[sub * 32 + i] = scale * static_cast<float>(v) - min;
    }
  }
}

// As q4_k with 32 bytes between the scales and the nibbles, in whose byte i bit s is the fifth bit
// of element i of sub-block s.
void q5_k(Bytes b, float* y) {
  const float d = f16_at(b);
  const float dmin = f16_at(b + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin sm = scale_min_at(b + 4, sub);
    const float scale = d * static_cast<float>(sm.scale);
    const float min = dmin * static_cast<float>(sm.min);
    Bytes high = b + 16;
    Bytes q = b + 48 + sub / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      const int v = ((q[i] >> (sub % 2 * 4)) & 15) | ((high[i] >> sub) & 1) << 4;
      y[sub * 32 + i] = scale * static_cast<float>(v) - min;
    }
  }
}

// 128 low nibbles | 64 x four upper bit pairs | 16 x i8 scales | d f16; sub-blocks of 16 elements;
// value = d * scale * (q - 32). Each half of 128 elements takes 64 and 32 bytes; its quarter j (32
// elements) has nibbles in bytes j % 2 * 32.., low for j < 2, and its upper bits at 2j.
void q6_k(Bytes b, float* y) {
  const float d = f16_at(b + 208);
  for (int half = 0; half < 2; ++half) {
    Bytes low = b + half * 64;
    Bytes high = b + 128 + half * 32;
    Bytes scales = b + 192 + half * 8;
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 32; ++i) {
        const int v = ((low[j % 2 * 32 + i] >> (j / 2 * 4)) & 15) | ((high[i] >> (2 * j)) & 3) << 4;
        const float scale = d * static_cast<float>(static_cast<int8_t>(scales[j * 2 + i / 16]));
        y[half * 128 + j * 32 + i] = scale * static_cast<float>(v - 32);
      }
    }
  }
}

void blocks(void (*one)(Bytes, float*), DType dtype, Bytes src, float* dst, int64_t count) {
  const DTypeInfo& type = info(dtype);
  for (int64_t i = 0; i < count; i += type.block_elements) {
    one(src, dst + i);
    src += type.block_bytes;
  }
}

}  // namespace

void dequantize_row(DType dtype, const std::byte* src, float* dst, int64_t count) {
  const auto* bytes = reinterpret_cast<Bytes>(src);
  switch (dtype) {
    case DType::kF32:
      if (count > 0) std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) dst[i] = f16_at(bytes + 2 * i);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) dst[i] = bf16_to_f32(u16_at(bytes + 2 * i));
      return;
    case DType::kQ4_0:
      return blocks(q4_0, dtype, bytes, dst, count);
    case DType::kQ4_1:
      return blocks(q4_1, dtype, bytes, dst, count);
    case DType::kQ5_0:
      return blocks(q5_0, dtype, bytes, dst, count);
    case DType::kQ5_1:
      return blocks(q5_1, dtype, bytes, dst, count);
    case DType::kQ8_0:
      return blocks(q8_0, dtype, bytes, dst, count);
    case DType::kQ4_K:
      return blocks(q4_k, dtype, bytes, dst, count);
    case DType::kQ5_K:
      return blocks(q5_k, dtype, bytes, dst, count);
    case DType::kQ6_K:
      return blocks(q6_k, dtype, bytes, dst, count);
    default:
      return;  // not a weight type: refused when the graph is built
  }
}

}  // namespace bessemer::cpu
