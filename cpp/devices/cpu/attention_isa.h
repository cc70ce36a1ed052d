// What the driver of `attention` asks of a SIMD variant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

// Heads that share loads of keys and values in one call.
inline constexpr int kAttentionHeads = 4;

// One span of keys for the heads of one token that read one kv head.
struct AttentionSpan {
  const float* q;      // [heads, q_stride], f32
  int64_t q_stride;    // elements
  int heads;           // 1..kAttentionHeads
  const std::byte* k;  // row of the span's first key, at the kv head
  int64_t k_stride;    // bytes between keys
  uint32_t k_dtype;
  const std::byte* v;
  int64_t v_stride;
  uint32_t v_dtype;
  int64_t head_dim;
  int64_t v_head_dim;
  int64_t keys;                        // 1..abi::kAttentionSpan
  const uint8_t* visible;              // [keys], 0: not attended; null: all are
  const float* bias[kAttentionHeads];  // [keys] each, or null
  float scale;
  float softcap;
};

// Writes heads partials: maximum, sum, then v_head_dim weighted values, out_stride floats apart.
// A span without a visible key gives sum 0.
using AttentionSpanFn = void (*)(const AttentionSpan& span, float* out, int64_t out_stride);

[[nodiscard]] AttentionSpanFn attention_span_generic();
[[nodiscard]] AttentionSpanFn attention_span_avx2();
[[nodiscard]] AttentionSpanFn attention_span_avx512();
[[nodiscard]] AttentionSpanFn attention_span(Isa isa);

}  // namespace bessemer::cpu
