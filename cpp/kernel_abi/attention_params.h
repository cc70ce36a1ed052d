// attention: scaled dot products over a flat list of tokens; cpp/ops/attention.cpp has the meaning.
//
// Keys are taken in spans of kAttentionSpan by absolute position; each span gives a partial result
// (maximum, sum, weighted values), and partials are merged in rising order. So a token's result
// depends on its own query and keys alone, whoever computes which span (batch invariance).
//
// Operands: q [tokens, heads, head_dim]; k, v; q_seq, q_pos i32 [tokens]; k_seq, k_pos i32 [keys]
// (flat form, sequences == 0); mask bool [tokens, keys] (if has_mask); bias f32 [bias_heads,
// tokens, keys] (if has_bias); out [tokens, heads, v_head_dim]; scratch (attention_scratch_bytes,
// 64-byte aligned).
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

BSM_ABI_CONSTANT int64_t kAttentionSpan = 128;
// Rows (query heads) that share one unpacked span of keys and values, at most.
BSM_ABI_CONSTANT int64_t kAttentionTileRows = 192;

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
  int64_t workers;       // that scratch has room for
  int64_t tile_tokens;   // consecutive tokens that may share a tile; 1: no tiles
  int64_t split_tokens;  // runs of at most so many tokens may be split over keys
  int64_t split_keys;    // the keys for which scratch has room in such a run
  uint32_t causal;
  uint32_t has_mask;
  uint32_t has_bias;
  uint32_t q_dtype;  // also out's: f32 f16 bf16
  uint32_t k_dtype;
  uint32_t v_dtype;
  float scale;
  float softcap;  // 0: none
};
static_assert(sizeof(AttentionParams) == 136);

#ifndef __METAL_VERSION__
// The CPU kernel's scratch: one area a worker, then the partials of a run that is split over keys,
// then the first token of each tile. Sizes in bytes; areas start at multiples of 64.
struct AttentionScratch {
  // Offsets into a worker's area.
  int64_t q = 0;        // f32 [rows, padded head_dim]
  int64_t totals;       // f32 [rows, partial]
  int64_t partials;     // f32 [rows of one block, partial]
  int64_t keys;         // f32, a span of keys turned around
  int64_t values;       // f32 [span, padded v_head_dim]
  int64_t visible;      // u8 [tokens, span]
  int64_t sights;       // 16 bytes a token
  int64_t worker_area;  // bytes of all that
  int64_t split;        // offset of the split run's partials
  int64_t tiles;        // offset of i32 [tokens + 1]

  int64_t partial;   // floats of a partial, padded: maximum, sum, values
  int64_t q_stride;  // floats
  int64_t v_stride;  // floats of a row of `values`

  explicit AttentionScratch(const AttentionParams& p) {
    const auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
    const int64_t group = p.heads / p.kv_heads;
    const int64_t tile_rows = up(group * p.tile_tokens, 4);
    const int64_t rows = tile_rows > p.heads ? tile_rows : p.heads;
    const bool tiles_used = p.tile_tokens > 1;
    q_stride = up(p.head_dim, 16);
    v_stride = up(p.v_head_dim, 16);
    partial = up(p.v_head_dim + 2, 16);
    totals = q + up(rows * q_stride * 4, 64);
    partials = totals + rows * partial * 4;
    keys = partials + up(group, 4) * partial * 4;
    values = keys + (tiles_used ? kAttentionSpan * up(p.head_dim, 4) * 4 : 0);
    visible = values + (tiles_used ? kAttentionSpan * v_stride * 4 : 0);
    sights = visible + p.tile_tokens * kAttentionSpan;
    worker_area = up(sights + p.tile_tokens * 16, 64);
    split = p.workers * worker_area;
    const int64_t spans = (p.split_keys + kAttentionSpan - 1) / kAttentionSpan;
    tiles = split + (p.workers > 1 ? p.split_tokens * p.heads * spans * partial * 4 : 0);
  }
};
// For params at the extents' maxima.
[[nodiscard]] inline int64_t attention_scratch_bytes(const AttentionParams& p) {
  return AttentionScratch(p).tiles + (p.tokens + 1) * 4;
}
#endif

}  // namespace abi
}  // namespace bessemer
