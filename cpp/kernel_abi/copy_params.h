// Kernels that move elements without looking at them. Sizes are 1, 2, 4 or 8 bytes; strides and
// offsets are in elements and may be negative.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

BSM_ABI_CONSTANT int kCopyMaxRank = 8;  // after adjacent axes are merged

// copy: dst[dst_offset + i . dst_strides] = src[src_offset + i . src_strides] over i in dims.
// Operands: src, dst. A source stride of 0 repeats.
struct CopyParams {
  int64_t dims[kCopyMaxRank];  // outermost first; only `rank` of them mean anything
  int64_t src_strides[kCopyMaxRank];
  int64_t dst_strides[kCopyMaxRank];
  int64_t src_offset;
  int64_t dst_offset;
  uint32_t rank;
  uint32_t element_bytes;
};
static_assert(sizeof(CopyParams) == 3 * 64 + 16 + 8);

BSM_ABI_CONSTANT int kConcatMaxInputs = 16;

// concat: joins [outer, row_bytes[i]] inputs into rows of out_row_bytes, the first at column
// `column` (bytes). Operands: inputs, out. Other columns of out stay as they are.
struct ConcatParams {
  int64_t outer;
  int64_t row_bytes[kConcatMaxInputs];
  int64_t out_row_bytes;
  int64_t column;
  uint32_t n_inputs;
  uint32_t reserved;
};
static_assert(sizeof(ConcatParams) == 8 + 128 + 16 + 8);

// pad: out [out_dims] holds x [in_dims] from `before` on, and `value` elsewhere. Operands: x, out.
struct PadParams {
  int64_t in_dims[kCopyMaxRank];
  int64_t out_dims[kCopyMaxRank];
  int64_t before[kCopyMaxRank];
  int64_t value;  // the element's bits, low bytes first
  uint32_t rank;
  uint32_t element_bytes;
};
static_assert(sizeof(PadParams) == 3 * 64 + 8 + 8);

// tri: the matrices x [batch, rows, cols] with zeros where column > row + k (lower), or where
// column < row + k (upper). Operands: x, out; in place if they are the same.
struct TriParams {
  int64_t batch;
  int64_t rows;
  int64_t cols;
  int64_t k;
  uint32_t upper;
  uint32_t element_bytes;
};
static_assert(sizeof(TriParams) == 40);

// iota: out [outer, count, inner] = its middle index. Integers wrap, f16 and bf16 round.
struct IotaParams {
  int64_t outer;
  int64_t count;
  int64_t inner;
  uint32_t dtype;  // bessemer::DType
  uint32_t reserved;
};
static_assert(sizeof(IotaParams) == 32);

}  // namespace abi
}  // namespace bessemer
