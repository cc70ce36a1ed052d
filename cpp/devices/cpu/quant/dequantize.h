// Block-quantised rows to f32, in portable C++: the reference for the SIMD kernels, and what ops
// use that read single rows (embedding).
//
// Layouts and formulas follow the GGUF format's reference quantisers (ggml's documentation and
// `gguf.quants` of the gguf package). Every value is d * q (+ m): the product is exact in f32 (an
// 11-bit mantissa times integers of at most 12 bits), so that each format has one right answer and
// all variants give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace bessemer::cpu {

// Writes `count` floats from the start of a row. `dtype` is f32, f16, bf16 or block-quantised;
// `count` is a multiple of its block. `src` needs no alignment.
void dequantize_row(DType dtype, const std::byte* src, float* dst, int64_t count);

}  // namespace bessemer::cpu
