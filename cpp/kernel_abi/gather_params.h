// Kernels that pick rows by index. An index of any integer dtype; a negative one counts from the
// end; one out of range is a fault, and its row of the result is zeros.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

// gather: out [outer, indices, row_bytes] = x [outer, size, row_bytes] at indices.
// Operands: x, indices, out.
struct GatherParams {
  int64_t outer;
  int64_t size;
  int64_t row_bytes;
  int64_t indices;
  uint32_t index_dtype;  // bessemer::DType
  uint32_t reserved;
};
static_assert(sizeof(GatherParams) == 40);

// embedding: out [ids, width] = rows of table [rows, width], dequantised or converted.
// Operands: table, ids, out.
struct EmbeddingParams {
  int64_t rows;
  int64_t width;
  int64_t ids;
  uint32_t table_dtype;  // f32 f16 bf16 or block-quantised
  uint32_t id_dtype;
  uint32_t out_dtype;  // f32 f16 bf16
  uint32_t reserved;
};
static_assert(sizeof(EmbeddingParams) == 40);

}  // namespace abi
}  // namespace bessemer
