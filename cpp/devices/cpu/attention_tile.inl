// One span of keys for many query rows, from a span that has been laid out for it: keys as columns,
// values as f32 (see attention_isa.h).
namespace bessemer::cpu {
namespace {

constexpr int kKeyVectors = 2;
constexpr int kKeyBlock = kKeyVectors * kWidth;
// Query rows whose three running sums fit the registers.
constexpr int kDotRows = kWidth == 16 ? 4 : 2;
static_assert(kSpan % kKeyBlock == 0 && kAttentionBlock % kDotRows == 0);

// The panel: for each block of kKeyBlock keys, for l in 0..3, for c, element 4c + l of its keys.
inline int64_t quads_of(const AttentionShape& s) { return (s.head_dim + 3) / 4; }

template <uint32_t kDType>
inline void pack_as(const AttentionShape& s, const std::byte* rows, int64_t lo, int64_t hi,
                    float* panel) {
  const int64_t quads = quads_of(s);
  for (int64_t j = lo / kKeyBlock * kKeyBlock; j < hi; j += kWidth) {
    float* block = panel + j / kKeyBlock * 4 * quads * kKeyBlock + j % kKeyBlock;
    for (int64_t d = 0; d < s.head_dim; d += kWidth) {
      F square[kWidth];
      for (int i = 0; i < kWidth; ++i) {
        const bool seen = j + i >= lo && j + i < hi;
        const std::byte* row = rows + (j + i - lo) * s.k_stride;
        square[i] = seen ? row_at_n<kDType>(row, d, s.head_dim - d) : zero();
      }
      transpose(square);
      for (int i = 0; i < kWidth && (d + i) / 4 < quads; ++i) {
        store(block + ((d + i) % 4 * quads + (d + i) / 4) * kKeyBlock, square[i]);
      }
    }
  }
  // The rest of the last block.
  const int64_t begin = (hi + kWidth - 1) / kWidth * kWidth;
  const int64_t end = (hi + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  for (int64_t j = begin; j < end; j += kWidth) {
    float* block = panel + j / kKeyBlock * 4 * quads * kKeyBlock + j % kKeyBlock;
    for (int64_t i = 0; i < 4 * quads; ++i) store(block + i * kKeyBlock, zero());
  }
}
void pack_keys(const AttentionShape& s, const std::byte* rows, int64_t lo, int64_t hi,
               float* panel) {
  if (s.k_dtype == kRowF32) return pack_as<kRowF32>(s, rows, lo, hi, panel);
  if (s.k_dtype == kRowF16) return pack_as<kRowF16>(s, rows, lo, hi, panel);
  pack_as<kRowBF16>(s, rows, lo, hi, panel);
}

// scores[r][j ..] = q_r · k for one block of keys and kDotRows rows.
inline void dot_block(const AttentionShape& s, const float* q, const float* block,
                      float (*scores)[kSpan], int64_t j) {
  const int64_t quads = quads_of(s);
  F sums[3][kDotRows][kKeyVectors];
  // Sum l of every row and key into sums[to].
  const auto run = [&](int l, int to) __attribute__((always_inline)) {
    for (int r = 0; r < kDotRows; ++r) {
      for (int v = 0; v < kKeyVectors; ++v) sums[to][r][v] = zero();
    }
    const float* k = block + l * quads * kKeyBlock;
    const float* row = q + l;
    for (int64_t c = 0; c < quads; ++c, k += kKeyBlock, row += 4) {
      F keys[kKeyVectors];
      for (int v = 0; v < kKeyVectors; ++v) keys[v] = load(k + v * kWidth);
      for (int r = 0; r < kDotRows; ++r) {
        const F x = splat(row[r * s.q_stride]);
        for (int v = 0; v < kKeyVectors; ++v) sums[to][r][v] = fma(x, keys[v], sums[to][r][v]);
      }
    }
  };
  const auto join = [&](int to, int from) __attribute__((always_inline)) {
    for (int r = 0; r < kDotRows; ++r) {
      for (int v = 0; v < kKeyVectors; ++v) {
        sums[to][r][v] = add(sums[to][r][v], sums[from][r][v]);
      }
    }
  };
  run(0, 0);
  run(2, 1);
  join(0, 1);
  run(1, 1);
  run(3, 2);
  join(1, 2);
  join(0, 1);
  for (int r = 0; r < kDotRows; ++r) {
    for (int v = 0; v < kKeyVectors; ++v) store(scores[r] + j + v * kWidth, sums[0][r][v]);
  }
}

// The rows of one block and what they see.
struct Block {
  AttentionSight sight[kAttentionBlock];
  int64_t low;       // no row sees a key before it
  int64_t all_low;   // from here ..
  int64_t all_high;  // .. up to here every row sees every key
  int64_t high;      // no row sees a key from here on
};

inline Block block_of(const AttentionTile& t, int64_t first) {
  Block b;
  b.low = kSpan;
  b.high = 0;
  b.all_low = 0;
  b.all_high = kSpan;
  bool bytes = false;
  for (int r = 0; r < kAttentionBlock; ++r) {
    // Rows past the end repeat the last one: their results are not used.
    b.sight[r] = t.sights[smaller(first + r, t.rows - 1) / t.group];
    const AttentionSight& s = b.sight[r];
    bytes = bytes || s.bytes != nullptr;
    if (s.hi > s.lo) {
      b.low = smaller(b.low, s.lo);
      b.high = larger(b.high, s.hi);
    }
    b.all_low = larger(b.all_low, s.lo);
    b.all_high = smaller(b.all_high, s.hi);
  }
  if (bytes || b.all_low >= b.all_high) {
    b.all_low = b.high;
    b.all_high = b.high;
  }
  return b;
}

// acc += weights · values for keys [begin, end), in rising order.
template <bool kAll, int kVectors>
inline void weigh_keys(const AttentionShape& s, const Block& b, const float (*weights)[kSpan],
                       const float* values, int64_t n, int64_t begin, int64_t end,
                       F (*acc)[kVectors]) {
  for (int64_t j = begin; j < end; ++j) {
    F row[kVectors];
    const float* v = values + j * s.panel_stride;
    if constexpr (kVectors == 1) {
      row[0] = load_n(v, n);
    } else {
      for (int i = 0; i < kVectors; ++i) row[i] = load(v + i * kWidth);
    }
    for (int r = 0; r < kAttentionBlock; ++r) {
      if constexpr (!kAll) {
        const AttentionSight& sight = b.sight[r];
        if (j < sight.lo || j >= sight.hi) continue;
        if (sight.bytes != nullptr && sight.bytes[j] == 0) continue;
      }
      const F w = splat(weights[r][j]);
      for (int i = 0; i < kVectors; ++i) acc[r][i] = fma(w, row[i], acc[r][i]);
    }
  }
}

template <int kVectors>
inline void weigh_rows(const AttentionShape& s, const Block& b, const float (*weights)[kSpan],
                       const float* values, int64_t d, float* out) {
  const int64_t n = s.v_head_dim - d;
  F acc[kAttentionBlock][kVectors];
  for (int r = 0; r < kAttentionBlock; ++r) {
    for (int i = 0; i < kVectors; ++i) acc[r][i] = zero();
  }
  weigh_keys<false, kVectors>(s, b, weights, values + d, n, b.low, b.all_low, acc);
  weigh_keys<true, kVectors>(s, b, weights, values + d, n, b.all_low, b.all_high, acc);
  weigh_keys<false, kVectors>(s, b, weights, values + d, n, b.all_high, b.high, acc);
  for (int r = 0; r < kAttentionBlock; ++r) {
    for (int i = 0; i < kVectors; ++i) {
      store_n(out + r * s.partial_stride + 2 + d + i * kWidth, acc[r][i], n - i * kWidth);
    }
  }
}

void tile(const AttentionShape& s, const AttentionTile& t) {
  const int64_t block_floats = 4 * quads_of(s) * kKeyBlock;
  float scores[kAttentionBlock][kSpan];
  for (int64_t first = 0; first < t.rows; first += kAttentionBlock) {
    const Block b = block_of(t, first);
    if (b.high <= b.low) continue;
    for (int64_t j = b.low / kKeyBlock * kKeyBlock; j < b.high; j += kKeyBlock) {
      for (int r = 0; r < kAttentionBlock; r += kDotRows) {
        dot_block(s, t.q + (first + r) * s.q_stride, t.keys + j / kKeyBlock * block_floats,
                  scores + r, j);
      }
    }
    const float* bias[kAttentionBlock];
    for (int r = 0; r < kAttentionBlock; ++r) {
      const int64_t row = smaller(first + r, t.rows - 1);
      bias[r] = t.bias == nullptr
                    ? nullptr
                    : t.bias + row / t.group * t.bias_token + row % t.group * t.bias_head;
    }
    const int64_t end = (b.high + kWidth - 1) / kWidth * kWidth;
    soften<kAttentionBlock>(s, b.sight, bias, b.low / kWidth * kWidth, end, scores, t.partials);
    int64_t d = 0;
    for (; d + 4 * kWidth <= s.v_head_dim; d += 4 * kWidth) {
      weigh_rows<4>(s, b, scores, t.values, d, t.partials);
    }
    for (; d < s.v_head_dim; d += kWidth) weigh_rows<1>(s, b, scores, t.values, d, t.partials);
    for (int r = 0; r < kAttentionBlock && first + r < t.rows; ++r) {
      merge(s, t.totals + (first + r) * s.partial_stride, t.partials + r * s.partial_stride);
    }
  }
}

}  // namespace
}  // namespace bessemer::cpu
