// One span of keys for the heads of one token, read as it lies (see attention_isa.h).
namespace bessemer::cpu {
namespace {

// scores[h * kSpan ..] = q_h · k_j for the kWidth keys at `k`. Each vector holds a block of four
// elements of kWidth / 4 keys, so that only four sums a key are left to add at the end.
template <uint32_t kDType, int kHeads>
inline void dot_keys(const AttentionShape& s, const float* q, const std::byte* const* k,
                     float* scores) {
  constexpr int kKeys = kWidth / 4;
  F acc[kHeads][4];
  for (int h = 0; h < kHeads; ++h) {
    for (int g = 0; g < 4; ++g) acc[h][g] = zero();
  }
  for (int64_t d = 0; d < s.head_dim; d += kWidth) {
    const int64_t n = s.head_dim - d;
    for (int g = 0; g < 4; ++g) {
      F rows[kKeys];
      if (n >= kWidth) {
        for (int i = 0; i < kKeys; ++i) rows[i] = row_at<kDType>(k[4 * i + g], d);
      } else {
        for (int i = 0; i < kKeys; ++i) rows[i] = row_at_n<kDType>(k[4 * i + g], d, n);
      }
      transpose_quads(rows);
      for (int c = 0; c < kKeys; ++c) {
        for (int h = 0; h < kHeads; ++h) {
          acc[h][g] = fma(load_quad(q + h * s.q_stride + d + 4 * c), rows[c], acc[h][g]);
        }
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    store(scores + h * kSpan, sum_quads(acc[h][0], acc[h][1], acc[h][2], acc[h][3]));
  }
}

// out[h][d ..] = sum over visible j of weights[h][j] * v_j[d ..], kVectors at a time. A key that is
// not visible may hold anything, NaN too: its row is left out, not multiplied by 0.
template <uint32_t kDType, int kHeads, int kVectors>
inline void weigh(const AttentionShape& s, const AttentionDirect& a, const float (*weights)[kSpan],
                  int64_t d, float* out) {
  const int64_t n = s.v_head_dim - d;
  F acc[kHeads][kVectors];
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kVectors; ++i) acc[h][i] = zero();
  }
  const std::byte* v = a.v;
  for (int64_t j = a.sight.lo; j < a.sight.hi; ++j, v += s.v_stride) {
    if (a.sight.bytes != nullptr && a.sight.bytes[j] == 0) continue;
    F row[kVectors];
    if constexpr (kVectors == 1) {
      row[0] = row_at_n<kDType>(v, d, n);
    } else {
      for (int i = 0; i < kVectors; ++i) row[i] = row_at<kDType>(v, d + i * kWidth);
    }
    for (int h = 0; h < kHeads; ++h) {
      const F w = splat(weights[h][j]);
      for (int i = 0; i < kVectors; ++i) acc[h][i] = fma(w, row[i], acc[h][i]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < kVectors; ++i) {
      store_n(out + h * s.partial_stride + 2 + d + i * kWidth, acc[h][i], n - i * kWidth);
    }
  }
}

// Rows of one kv head lie apart, and a hardware prefetcher that follows lines does not know which
// of them are wanted.
inline void prefetch_rows(const std::byte* rows, int64_t stride, int64_t bytes) {
  for (int i = 0; i < kWidth; ++i, rows += stride) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(rows + at);
  }
}

inline int64_t row_bytes(uint32_t dtype, int64_t n) { return dtype == kRowF32 ? 4 * n : 2 * n; }

template <uint32_t kDType, int kHeads>
inline void dot_span(const AttentionShape& s, const AttentionDirect& a, float (*scores)[kSpan]) {
  const int64_t lo = a.sight.lo;
  const int64_t hi = a.sight.hi;
  constexpr int64_t kAhead = 32;  // keys
  const int64_t k_bytes = row_bytes(kDType, s.head_dim);
  const int64_t v_bytes = row_bytes(s.v_dtype, s.v_head_dim);
  for (int64_t j = lo / kWidth * kWidth; j < hi; j += kWidth) {
    prefetch_rows(a.k + (j + kAhead - lo) * s.k_stride, s.k_stride, k_bytes);
    prefetch_rows(a.v + (j - lo) * s.v_stride, s.v_stride, v_bytes);
    // Lanes without a key repeat one: their scores are not used.
    const std::byte* k[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      k[i] = a.k + (smaller(larger(j + i, lo), hi - 1) - lo) * s.k_stride;
    }
    dot_keys<kDType, kHeads>(s, a.q, k, scores[0] + j);
  }
}

template <uint32_t kDType, int kHeads>
inline void weigh_span(const AttentionShape& s, const AttentionDirect& a,
                       const float (*weights)[kSpan], float* out) {
  int64_t d = 0;
  for (; d + 4 * kWidth <= s.v_head_dim; d += 4 * kWidth) {
    weigh<kDType, kHeads, 4>(s, a, weights, d, out);
  }
  for (; d < s.v_head_dim; d += kWidth) weigh<kDType, kHeads, 1>(s, a, weights, d, out);
}

template <int kHeads>
void direct_heads(const AttentionShape& s, const AttentionDirect& a, float* partials) {
  float scores[kHeads][kSpan];
  if (s.k_dtype == kRowF32) {
    dot_span<kRowF32, kHeads>(s, a, scores);
  } else if (s.k_dtype == kRowF16) {
    dot_span<kRowF16, kHeads>(s, a, scores);
  } else {
    dot_span<kRowBF16, kHeads>(s, a, scores);
  }
  AttentionSight sights[kHeads];
  for (int h = 0; h < kHeads; ++h) sights[h] = a.sight;
  const int64_t end = (a.sight.hi + kWidth - 1) / kWidth * kWidth;
  soften<kHeads>(s, sights, a.bias, a.sight.lo / kWidth * kWidth, end, scores, partials);
  if (s.v_dtype == kRowF32) {
    weigh_span<kRowF32, kHeads>(s, a, scores, partials);
  } else if (s.v_dtype == kRowF16) {
    weigh_span<kRowF16, kHeads>(s, a, scores, partials);
  } else {
    weigh_span<kRowBF16, kHeads>(s, a, scores, partials);
  }
}

void direct(const AttentionShape& s, const AttentionDirect& a, float* partials) {
  if (a.sight.hi <= a.sight.lo) {
    for (int h = 0; h < a.heads; ++h) clear_partial(s, partials + h * s.partial_stride);
    return;
  }
  switch (a.heads) {
    case 1:
      return direct_heads<1>(s, a, partials);
    case 2:
      return direct_heads<2>(s, a, partials);
    case 3:
      return direct_heads<3>(s, a, partials);
    default:
      return direct_heads<4>(s, a, partials);
  }
}

}  // namespace
}  // namespace bessemer::cpu
