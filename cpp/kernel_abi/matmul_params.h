// matmul: a batched product of two dense operands with any strides, so that transposed, sliced and
// broadcast operands need no copy.
//
//   y[b.., i, j] = sum over l of A[b.., i, l] * B[b.., l, j] + bias[j]
//   out[b.., i, j] = act(y) (+ residual)
//
// Element [b0, b1, b2, b3, i, l] of A is at sum(b * a_batch) + i * a_row + l * a_col, and so on;
// all strides count elements and may be 0 (broadcast) or negative. Rows of out are contiguous.
// Accumulates in f32; k = 0 gives the bias. A row of the result depends on that row of A and on B
// alone: not on m, on the tile, on the number of threads (batch invariance).
//
// Operands in order: A; B; bias [n] f32 (if has_bias); residual (if has_residual; dtype and strides
// of out; it may be out itself); out. No scratch.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

struct MatmulParams {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch[4];  // outermost first; 1 where there is none
  int64_t a_batch[4];
  int64_t b_batch[4];
  int64_t out_batch[4];
  int64_t a_row;
  int64_t a_col;
  int64_t b_row;
  int64_t b_col;
  int64_t out_row;
  uint32_t a_dtype;  // bessemer::DType: f32 f16 bf16
  uint32_t b_dtype;
  uint32_t out_dtype;
  uint32_t has_bias;
  uint32_t activation;  // Activation
  uint32_t has_residual;
};
static_assert(sizeof(MatmulParams) == 216);

}  // namespace abi
}  // namespace bessemer
