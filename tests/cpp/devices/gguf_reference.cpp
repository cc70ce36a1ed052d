#include "gguf_reference.h"

#include <cmath>
#include <cstring>

namespace bessemer::test {
namespace {

uint16_t word(const uint8_t* p) { return static_cast<uint16_t>(p[0] + 256 * p[1]); }

// Bit `n` of the little-endian bit string at p.
int bit(const uint8_t* p, int n) { return (p[n / 8] >> (n % 8)) & 1; }

// The j-th 6-bit scale or min of q4_k and q5_k, out of the 12 bytes at s.
int six_bits(const uint8_t* s, int j, bool min) {
  const int base = min ? 4 : 0;
  if (j < 4) return s[base + j] % 64;
  const int low = min ? s[8 + j - 4] / 16 : s[8 + j - 4] % 16;
  return low + 16 * (s[base + j - 4] / 64);
}

void put_half(uint8_t* p, double value) {
  // Only powers of two times 1.0 .. 2.0 in tenths of the mantissa; normal numbers.
  int exponent = 0;
  double mantissa = std::frexp(std::fabs(value), &exponent) * 2;  // [1, 2)
  const auto bits =
      static_cast<uint16_t>((exponent - 1 + 15) * 1024 + static_cast<int>((mantissa - 1) * 1024) +
                            (value < 0 ? 0x8000 : 0));
  p[0] = static_cast<uint8_t>(bits & 255);
  p[1] = static_cast<uint8_t>(bits >> 8);
}

}  // namespace

double half_to_double(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double weight_at(DType dtype, const uint8_t* row, int64_t i) {
  const DTypeInfo& type = info(dtype);
  const uint8_t* b = row + i / type.block_elements * type.block_bytes;
  const int e = static_cast<int>(i % type.block_elements);
  const auto nibble = [e](const uint8_t* q) { return e < 16 ? q[e] % 16 : q[e - 16] / 16; };
  const double d = half_to_double(word(b));
  switch (dtype) {
    case DType::kF32: {
      float f;
      std::memcpy(&f, b, sizeof f);
      return f;
    }
    case DType::kF16:
      return half_to_double(word(b));
    case DType::kBF16: {
      const uint32_t bits = static_cast<uint32_t>(word(b)) << 16;
      float f;
      std::memcpy(&f, &bits, sizeof f);
      return f;
    }
    case DType::kQ4_0:
      return d * (nibble(b + 2) - 8);
    case DType::kQ4_1:
      return d * nibble(b + 4) + half_to_double(word(b + 2));
    case DType::kQ5_0:
      return d * (nibble(b + 6) + 16 * bit(b + 2, e) - 16);
    case DType::kQ5_1:
      return d * (nibble(b + 8) + 16 * bit(b + 4, e)) + half_to_double(word(b + 2));
    case DType::kQ8_0:
      return d * static_cast<int8_t>(b[2 + e]);
    case DType::kQ4_K:
    case DType::kQ5_K: {
      const int sub = e / 32;
      const bool five = dtype == DType::kQ5_K;
      const uint8_t byte = b[(five ? 48 : 16) + e / 64 * 32 + e % 32];
      int q = sub % 2 == 0 ? byte % 16 : byte / 16;
      if (five) q += 16 * bit(b + 16 + e % 32, sub);
      return d * six_bits(b + 4, sub, false) * q -
             half_to_double(word(b + 2)) * six_bits(b + 4, sub, true);
    }
    case DType::kQ6_K: {
      const int half = e / 128;
      const int quarter = e % 128 / 32;
      const int l = e % 32;
      const uint8_t low = b[half * 64 + quarter % 2 * 32 + l];
      const int four = quarter < 2 ? low % 16 : low / 16;
      const int two = b[128 + half * 32 + l] / (1 << (2 * quarter)) % 4;
      const int scale = static_cast<int8_t>(b[192 + e / 16]);
      return half_to_double(word(b + 208)) * scale * (four + 16 * two - 32);
    }
    default:
      return std::nan("");
  }
}

std::vector<uint8_t> random_row(DType dtype, int64_t k, std::mt19937& random) {
  const DTypeInfo& type = info(dtype);
  std::vector<uint8_t> row(static_cast<size_t>(bytes_of(dtype, k)));
  for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
  std::uniform_real_distribution<double> unit(0.5, 1.5);
  const auto set = [&](size_t at, double size) {
    put_half(&row[at], (random() % 4 == 0 ? -1 : 1) * size * unit(random));
  };
  for (size_t at = 0; at < row.size(); at += static_cast<size_t>(type.block_bytes)) {
    switch (dtype) {
      case DType::kF32: {
        const auto f = static_cast<float>(unit(random) * (random() % 2 == 0 ? -1 : 1));
        std::memcpy(&row[at], &f, sizeof f);
        break;
      }
      case DType::kF16:
        set(at, 1);
        break;
      case DType::kBF16:
        row[at + 1] = static_cast<uint8_t>(0x3f | (random() % 2) << 7);
        break;
      case DType::kQ4_1:
      case DType::kQ5_1:
        set(at, 0.1);
        set(at + 2, 0.8);
        break;
      case DType::kQ4_0:
      case DType::kQ5_0:
        set(at, 0.1);
        break;
      case DType::kQ8_0:
        set(at, 0.01);
        break;
      case DType::kQ4_K:
      case DType::kQ5_K:
        set(at, 0.003);
        set(at + 2, 0.02);
        break;
      case DType::kQ6_K:
        set(at + 208, 0.0005);
        break;
      default:
        break;
    }
  }
  return row;
}

}  // namespace bessemer::test
