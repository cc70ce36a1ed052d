// rope: rotates pairs of each head by angles position * scale * base^(-2i / n_rot) / factors[i].
// Operands: x [tokens, heads, head_dim]; positions i32 or i64 [tokens]; factors f32 [n_rot / 2] (if
// has_factors); out (may be x).
//
// rope_append: by head RMS norm of q and k (if has_norm), rope of both, then row (seq[t], pos[t])
// of the states becomes k and v. Operands: q [tokens, heads, head_dim]; k [tokens, kv_heads,
// head_dim]; v [tokens, kv_heads, v_head_dim]; pos, seq i32 [tokens]; q_norm, k_norm f32 [head_dim]
// (if has_norm); factors (if has_factors); k_state, v_state [sequences, context, kv_heads, dim];
// out [tokens, heads, head_dim] (may be q).
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

// A number as a GPU without f64 has it: sign * mantissa * 2^(exponent - 63). The mantissa is in
// [2^63, 2^64), or 0.
struct RopeNumber {
  uint64_t mantissa;
  int32_t exponent;
  uint32_t negative;
};

BSM_ABI_CONSTANT int kRopeSteps = 16;  // so pairs are fewer than 2^16

struct RopeParams {
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t n_rot;
  uint64_t base_bits;  // of a double
  uint64_t scale_bits;
  RopeNumber turn;               // scale / (2 pi)
  RopeNumber steps[kRopeSteps];  // base^(-2^(b + 1) / n_rot), the factor of bit b of a pair's index
  uint32_t x_dtype;
  uint32_t position_dtype;
  uint32_t interleaved;
  uint32_t has_factors;
};
static_assert(sizeof(RopeParams) == 64 + 17 * 16);

struct RopeAppendParams {
  RopeParams rope;  // of q; x_dtype is also k's
  int64_t kv_heads;
  int64_t v_head_dim;
  int64_t sequences;
  int64_t context;
  uint32_t v_dtype;
  uint32_t k_state_dtype;
  uint32_t v_state_dtype;
  uint32_t has_norm;
  float epsilon;
  uint32_t reserved;
};
static_assert(sizeof(RopeAppendParams) == 120 + 17 * 16);

// scatter_rows: state[idx0[t], (idx1[t])] = rows[t] for rising t. Operands: rows [count, row];
// idx0 (and idx1) i32 or i64 [count]; state.
struct ScatterRowsParams {
  int64_t count;
  int64_t row;    // elements
  int64_t size0;  // of the first indexed axis
  int64_t size1;  // of the second, 1 if only one is indexed
  uint32_t n_indices;
  uint32_t index_dtype;
  uint32_t row_dtype;
  uint32_t state_dtype;
};
static_assert(sizeof(ScatterRowsParams) == 48);

}  // namespace abi
}  // namespace bessemer
