// linear: up to four weight matrices applied to one input, with everything that is usually around
// such a product folded in. One dispatch serves Q, K and V, or gate and up.
//
//   xn  = norm(x) over k, times norm_weight, plus norm_bias        (if norm)
//   y_i = xn · W_i^T + bias_i                                       W_i is [n_i, k], row-major
//   out_0 = act(y_0) * y_1 (+ residual)                             if gated (n_weights == 2)
//   out_i = act(y_i) (+ residual, only when n_weights == 1)         otherwise
//
// Accumulates in f32. A row of the result depends on that row of x alone: not on m, on the tile, on
// the number of threads (batch invariance; docs/decisions).
//
// int8_activations applies to block-quantised weights; dense ones beside them use f32. A row of x
// that is not finite then gives NaN in the whole row of the result (in f32 mode NaN and infinity
// take part in the arithmetic as they are). Blocks of x below 2^-111 in magnitude count as zero.
//
// Operands in order: x [m,k]; norm_weight [k] f32 (if norm); norm_bias [k] f32 (if has_norm_bias);
// W_0..; bias_0.. [n_i] f32 (if has_bias); residual [m,n] of out's dtype (if has_residual); out_0..
// (one if gated); scratch (scratch_bytes, 64-byte aligned; always present, may be empty).
#pragma once

#include "kernel_abi/abi.h"
#ifndef __METAL_VERSION__
#include "base/dtype.h"
#endif

namespace bessemer {
namespace abi {

struct LinearParams {
  int64_t m;  // rows of x (an extent)
  int64_t k;
  int64_t n[4];
  uint32_t weight_dtype[4];  // bessemer::DType: f32 f16 bf16 or block-quantised
  uint32_t x_dtype;          // f32 f16 bf16
  uint32_t out_dtype;        // f32 f16 bf16
  uint32_t n_weights;        // 1..4
  uint32_t norm;             // Norm
  uint32_t has_norm_bias;
  uint32_t has_bias;
  uint32_t activation;  // Activation
  uint32_t gated;
  uint32_t has_residual;
  uint32_t int8_activations;  // 1: x is quantised dynamically, per 32 elements, to 16 bits in two
                              // int8 terms (quantised weights only)
  float norm_epsilon;
  uint32_t reserved;
};
static_assert(sizeof(LinearParams) == 112);

#ifndef __METAL_VERSION__
// The CPU kernel's scratch, which holds normalised or quantised rows of x: so many bytes for each
// row, whatever the number of threads. A function of everything but m and n.
[[nodiscard]] inline int64_t linear_scratch_row_bytes(const LinearParams& p) {
  bool as_int8 = false;
  bool as_f32 = false;
  for (uint32_t i = 0; i < p.n_weights; ++i) {
    const bool int8 = p.int8_activations && is_quantised(static_cast<DType>(p.weight_dtype[i]));
    (int8 ? as_int8 : as_f32) = true;
  }
  const bool in_place = p.norm == kNormNone && static_cast<DType>(p.x_dtype) == DType::kF32;
  int64_t bytes = 0;
  // Per 128 elements: twice 128 x i8, 4 scales, 4 scaled sums, 4 sums, 8 sums of halves.
  if (as_int8) bytes += ((p.k + 127) / 128 * 336 + 63) / 64 * 64;
  if (as_f32 && !in_place) bytes += (p.k + 15) / 16 * 64;
  return bytes;
}
[[nodiscard]] inline int64_t linear_scratch_bytes(const LinearParams& p) {
  return p.m * linear_scratch_row_bytes(p);
}
#endif

}  // namespace abi
}  // namespace bessemer
