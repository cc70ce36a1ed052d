// attention: scaled dot products over a flat list of tokens; cpp/ops/attention.cpp has the meaning.
//
// Keys are taken in spans of kAttentionSpan by absolute position; each span gives a partial result
// (maximum, sum, weighted values), and partials are merged in rising order. So a token's result
// depends on its own query and keys alone, whoever computes which span.
//
// Operands: q [tokens, heads, head_dim]; k, v; q_seq, q_pos i32 [tokens]; k_seq, k_pos i32 [keys]
// (flat form, sequences == 0); mask bool [tokens, keys] (if has_mask); bias f32 [bias_heads,
// tokens, keys] (if has_bias); out [tokens, heads, v_head_dim]; scratch.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer::abi {

inline constexpr int64_t kAttentionSpan = 256;

struct AttentionParams {
  int64_t tokens;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t v_head_dim;
  int64_t keys;       // rows of one sequence, or all keys of the flat form
  int64_t sequences;  // 0: the flat form
  int64_t window;     // 0: none
  int64_t bias_heads;
  int64_t split_tokens;  // runs of at most so many tokens may be split over keys, through scratch
  uint32_t causal;
  uint32_t has_mask;
  uint32_t has_bias;
  uint32_t q_dtype;  // also out's: f32 f16 bf16
  uint32_t k_dtype;
  uint32_t v_dtype;
  float scale;
  float softcap;  // 0: none
};
static_assert(sizeof(AttentionParams) == 112);

// Floats of one partial: maximum, sum, values.
[[nodiscard]] inline int64_t attention_partial_floats(const AttentionParams& p) {
  return p.v_head_dim + 2;
}
[[nodiscard]] inline int64_t attention_scratch_bytes(const AttentionParams& p) {
  const int64_t spans = (p.keys + kAttentionSpan - 1) / kAttentionSpan;
  return p.split_tokens * p.heads * spans * attention_partial_floats(p) * 4;
}

}  // namespace bessemer::abi
