// What the driver of `attention` asks of a SIMD variant.
//
// One order of additions serves every path, so that a token's bits do not depend on which is taken:
//   score   of the scaled query: four sums over d = 0, 1, 2, 3 (mod 4), each in rising order, added
//   (0 + 2) + (1 + 3) sum     one sum a vector lane (key mod kWidth) in rising order, then a fixed
//   tree values  in rising order of key
// `direct` serves few query rows and reads keys and values as they lie; `tile` serves many rows and
// reads a span that pack_keys and widen_rows have laid out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

// Heads that share loads of keys and values in one call of `direct`.
inline constexpr int kAttentionHeads = 4;
// Rows of one block of `tile`.
inline constexpr int kAttentionBlock = 4;

struct AttentionShape {
  int64_t head_dim;
  int64_t v_head_dim;
  uint32_t k_dtype;
  uint32_t v_dtype;
  int64_t k_stride;  // bytes between keys
  int64_t v_stride;
  int64_t q_stride;        // floats between rows of q, which load_query made
  int64_t partial_stride;  // floats between partials: maximum, sum, v_head_dim values
  int64_t panel_stride;    // floats between rows of the values that a tile reads
  float softcap;           // 0: none
};

// The keys of a span that one token sees: lo <= j < hi, counted from the span's start, and where
// bytes[j] != 0 unless bytes is null. hi <= lo: none.
struct AttentionSight {
  int32_t lo;
  int32_t hi;
  const uint8_t* bytes;
};
static_assert(sizeof(AttentionSight) == 16);

struct AttentionDirect {
  const float* q;  // [heads, q_stride]
  int heads;       // 1..kAttentionHeads
  AttentionSight sight;
  const std::byte* k;                  // row of the span's key `sight.lo`, at the kv head
  const std::byte* v;                  // likewise
  const float* bias[kAttentionHeads];  // of the span's key 0, or null
};

struct AttentionTile {
  const float* q;                // [rows rounded up to kAttentionBlock, q_stride]
  int64_t rows;                  // tokens * group, the heads of a token side by side
  int64_t group;                 // heads of one token
  const AttentionSight* sights;  // one a token
  const float* keys;             // by pack_keys
  const float* values;           // f32 rows, panel_stride floats apart
  const float* bias;             // of the first row and the span's key 0, or null
  int64_t bias_token;            // floats between tokens
  int64_t bias_head;             // floats between heads
  float* partials;               // [kAttentionBlock, partial_stride]
  float* totals;                 // [rows, partial_stride]: merged with this span's
};

struct AttentionIsa {
  // A row of f32, f16 or bf16 as f32, times the scale of the scores, padded with zeros to `padded`
  // (a multiple of 16).
  void (*load_query)(uint32_t dtype, const std::byte* row, int64_t n, int64_t padded, float factor,
                     float* out);
  // n rows of values as f32, panel_stride floats apart.
  void (*widen_rows)(const AttentionShape& shape, const std::byte* rows, int64_t n, float* out);
  // Keys [lo, hi) of a span, `rows` pointing at key lo, for `tile`.
  void (*pack_keys)(const AttentionShape& shape, const std::byte* rows, int64_t lo, int64_t hi,
                    float* panel);
  // Writes partials of one span for the heads of one token. Nothing seen: sum 0.
  void (*direct)(const AttentionShape& shape, const AttentionDirect& span, float* partials);
  // Partials of one span for many rows, merged into totals.
  void (*tile)(const AttentionShape& shape, const AttentionTile& tile);
  // total = total merged with next, the later span.
  void (*merge)(const AttentionShape& shape, float* total, const float* next);
  // out = values / sum, zeros if the sum is 0.
  void (*finish)(const AttentionShape& shape, const float* total, uint32_t dtype, std::byte* out);
};

[[nodiscard]] const AttentionIsa& attention_generic();
[[nodiscard]] const AttentionIsa& attention_avx2();
[[nodiscard]] const AttentionIsa& attention_avx512();
[[nodiscard]] const AttentionIsa& attention_isa(Isa isa);

}  // namespace bessemer::cpu
