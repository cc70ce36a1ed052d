// Rows of 16- and 32-bit floats as f32 and back, for portable kernel code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/half.h"

namespace bessemer::cpu {

inline float float_at(const std::byte* p, DType dtype, int64_t i) {
  if (dtype == DType::kF32) {
    float f;
    std::memcpy(&f, p + 4 * i, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, p + 2 * i, 2);
  return dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

inline void put_float(std::byte* p, DType dtype, int64_t i, float f) {
  if (dtype == DType::kF32) {
    std::memcpy(p + 4 * i, &f, 4);
    return;
  }
  const uint16_t h = dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
  std::memcpy(p + 2 * i, &h, 2);
}

// An index of any integer dtype that ops accept (i32, i64).
inline int64_t index_at(const std::byte* p, DType dtype, int64_t i) {
  if (dtype == DType::kI64) {
    int64_t v;
    std::memcpy(&v, p + 8 * i, 8);
    return v;
  }
  int32_t v;
  std::memcpy(&v, p + 4 * i, 4);
  return v;
}

// [begin, end) of worker w of n, in nearly equal runs.
struct Share {
  int64_t begin;
  int64_t end;
};
inline Share share_of(int64_t count, int worker, int workers) {
  return {count * worker / workers, count * (worker + 1) / workers};
}

}  // namespace bessemer::cpu
