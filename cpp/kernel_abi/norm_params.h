// norm: LayerNorm, RMSNorm and GroupNorm over rows, with what is fused around them.
//   mode kPlain      out = norm(x)
//   mode kAddFirst   sum = x + residual; out = norm(sum)      (two results)
//   mode kAddAfter   out = residual + norm(x)
// Operands: x [rows, cols]; residual (unless kPlain); weight (if has_weight); bias (if has_bias);
// out; sum (kAddFirst). A weight has one element per column, or per channel of a group.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

enum NormMode : uint32_t { kNormPlain = 0, kNormAddFirst = 1, kNormAddAfter = 2 };

struct NormParams {
  int64_t rows;
  int64_t cols;
  int64_t groups;   // row r is group r % groups; 1 for LayerNorm and RMSNorm
  int64_t spatial;  // consecutive columns that share a weight; 1 for LayerNorm and RMSNorm
  uint32_t kind;    // Norm
  uint32_t mode;    // NormMode
  uint32_t dtype;   // of x, residual, out and sum
  uint32_t has_weight;
  uint32_t has_bias;
  float epsilon;
};
static_assert(sizeof(NormParams) == 56);

}  // namespace abi
}  // namespace bessemer
