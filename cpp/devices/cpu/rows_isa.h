// What kernels that work row by row ask of a SIMD variant: conversions, sums, rotations. A dtype is
// f32, f16 or bf16 (the code of bessemer::DType); rows may be the same memory where both have the
// same dtype.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

struct RowsIsa {
  // out[i] = row[i] as f32.
  void (*widen)(uint32_t dtype, const std::byte* row, int64_t n, float* out);
  // out[i] = row[i] rounded to dtype.
  void (*narrow)(uint32_t dtype, const float* row, int64_t n, std::byte* out);
  // out[i] = a[i] + b[i], added in f32 and rounded to dtype.
  void (*add)(uint32_t dtype, const std::byte* a, const std::byte* b, int64_t n, std::byte* out);
  // Cosine and sine of position * frequency[i], |position * frequency[i]| < 2^30, to f32 accuracy.
  // The same bits on every variant.
  void (*angles)(const double* frequency, int64_t n, double position, float* cosine, float* sine);
  // Turns the first `pairs` pairs of each head: (i, i + pairs), or (2i, 2i + 1) if interleaved.
  void (*rotate)(float* rows, int64_t heads, int64_t head_dim, int64_t pairs, bool interleaved,
                 const float* cosine, const float* sine);
};

[[nodiscard]] const RowsIsa& rows_generic();
[[nodiscard]] const RowsIsa& rows_avx2();
[[nodiscard]] const RowsIsa& rows_avx512();
[[nodiscard]] const RowsIsa& rows_isa(Isa isa);

}  // namespace bessemer::cpu
