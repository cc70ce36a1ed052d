// Products of two dense matrices of outer-product form: a vector of columns of B times one element
// of A at a time, so that each result is a plain sum over k in rising order within a chunk.
// Included once by each SIMD variant, after matrix_rows.inl.

namespace bessemer::cpu {
namespace {

constexpr int64_t kDenseChunk = 256;
constexpr int kDenseRows = kWidth == 16 ? 8 : 4;
// Vectors of columns: few beside many rows, many beside one or two rows, where the loads of B
// should run on in memory.
constexpr int kNarrow = 2;
constexpr int kWide = kWidth == 16 ? 8 : 4;

// kColumns vectors of B from column j on, for rows k0 .. k0 + count - 1: in place, or copied.
struct DensePanel {
  const float* b;
  int64_t stride;
};

inline float float_at(uint32_t dtype, Bytes base, int64_t i) {
  float lanes[kWidth];
  store(lanes, load_as(dtype, base, i, 1));
  return lanes[0];
}

template <int kVectors>
inline DensePanel dense_panel(const DenseTile& t, int64_t j, int64_t k0, int64_t count,
                              float* memory) {
  constexpr int64_t kColumns = kVectors * kWidth;
  const bool is_f32 = static_cast<DType>(t.b_dtype) == DType::kF32;
  const int64_t start = k0 * t.b_row + j * t.b_col;
  if (is_f32 && t.b_col == 1 && j + kColumns <= t.n) {
    return {reinterpret_cast<const float*>(t.b) + start, t.b_row};
  }
  const int64_t columns = t.n - j < kColumns ? t.n - j : kColumns;
  if (t.b_col == 1) {
    for (int64_t l = 0; l < count; ++l) {
      for (int64_t c = 0; c < kColumns; c += kWidth) {
        const F v =
            c < columns ? load_as(t.b_dtype, t.b, start + l * t.b_row + c, columns - c) : zero();
        store(memory + l * kColumns + c, v);
      }
    }
    return {memory, kColumns};
  }
  int64_t c = 0;
  if (t.b_row == 1) {  // four columns, kWidth rows at a time, are transposed
    for (; c + 4 <= columns; c += 4) {
      int64_t l = 0;
      for (; l + kWidth <= count; l += kWidth) {
        F v[4];
        for (int i = 0; i < 4; ++i) {
          v[i] = load_as(t.b_dtype, t.b, start + (c + i) * t.b_col + l, kWidth);
        }
        transpose4(v[0], v[1], v[2], v[3]);
        for (int lane = 0; lane < kLanes; ++lane) {
          for (int i = 0; i < 4; ++i) {
            store_lane(memory + (l + 4 * lane + i) * kColumns + c, v[i], lane);
          }
        }
      }
      for (; l < count; ++l) {
        for (int64_t i = c; i < c + 4; ++i) {
          memory[l * kColumns + i] = float_at(t.b_dtype, t.b, start + i * t.b_col + l);
        }
      }
    }
  }
  for (; c < kColumns; ++c) {
    for (int64_t l = 0; l < count; ++l) {
      memory[l * kColumns + c] =
          c < columns ? float_at(t.b_dtype, t.b, start + l * t.b_row + c * t.b_col) : 0.0f;
    }
  }
  return {memory, kColumns};
}

// Rows [row, row + kRows) times a panel, added to y. Rows past the last repeat it and are dropped.
template <int kRows, int kVectors>
inline void dense_rows(const DenseTile& t, const DensePanel& panel, int64_t row, int64_t k0,
                       int64_t count, float* y, int64_t columns) {
  alignas(64) float widened[kRows][kDenseChunk];
  const float* a[kRows];
  int64_t step = t.a_col;
  for (int r = 0; r < kRows; ++r) {
    const int64_t start = (row + r < t.m ? row + r : t.m - 1) * t.a_row + k0 * t.a_col;
    a[r] = reinterpret_cast<const float*>(t.a) + start;
    if (static_cast<DType>(t.a_dtype) != DType::kF32) {
      if (t.a_col == 1) {
        for (int64_t l = 0; l < count; l += kWidth) {
          store_n(widened[r] + l, load_as(t.a_dtype, t.a, start + l, count - l), count - l);
        }
      } else {
        for (int64_t l = 0; l < count; ++l) {
          widened[r][l] = float_at(t.a_dtype, t.a, start + l * t.a_col);
        }
      }
      a[r] = widened[r];
      step = 1;
    }
  }
  F acc[kRows][kVectors];
  for (auto& of_row : acc) {
    for (F& v : of_row) v = zero();
  }
  const float* b = panel.b;
  for (int64_t l = 0; l < count; ++l) {
    F bv[kVectors];
    for (int c = 0; c < kVectors; ++c) bv[c] = load(b + c * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const F ar = splat(a[r][l * step]);
      for (int c = 0; c < kVectors; ++c) acc[r][c] = fma(ar, bv[c], acc[r][c]);
    }
    b += panel.stride;
  }
  for (int r = 0; r < kRows && row + r < t.m; ++r) {
    float* out = y + (row + r) * t.y_stride;
    for (int c = 0; c < kVectors; ++c) {
      const int64_t n = columns - c * kWidth;
      if (n > 0) store_n(out + c * kWidth, add(load_n(out + c * kWidth, n), acc[r][c]), n);
    }
  }
}

template <int kVectors, bool kFew>
void dense_columns(const DenseTile& t) {
  constexpr int64_t kColumns = kVectors * kWidth;
  alignas(64) float memory[kDenseChunk * kColumns];
  for (int64_t j = 0; j < t.n; j += kColumns) {
    for (int64_t k0 = 0; k0 < t.k; k0 += kDenseChunk) {
      const int64_t count = t.k - k0 < kDenseChunk ? t.k - k0 : kDenseChunk;
      const DensePanel panel = dense_panel<kVectors>(t, j, k0, count, memory);
      if constexpr (kFew) {
        if (t.m == 1) {
          dense_rows<1, kVectors>(t, panel, 0, k0, count, t.y + j, t.n - j);
        } else {
          dense_rows<2, kVectors>(t, panel, 0, k0, count, t.y + j, t.n - j);
        }
      } else {
        int64_t row = 0;
        for (; t.m - row > kDenseRows / 2; row += kDenseRows) {
          dense_rows<kDenseRows, kVectors>(t, panel, row, k0, count, t.y + j, t.n - j);
        }
        if (row < t.m) {
          dense_rows<kDenseRows / 2, kVectors>(t, panel, row, k0, count, t.y + j, t.n - j);
        }
      }
    }
  }
}

void dense_tile(const DenseTile& t) {
  for (int64_t r = 0; r < t.m; ++r) {
    for (int64_t j = 0; j < t.n; ++j) t.y[r * t.y_stride + j] = 0;
  }
  if (t.m <= 2) {
    dense_columns<kWide, true>(t);
  } else {
    dense_columns<kNarrow, false>(t);
  }
}

}  // namespace
}  // namespace bessemer::cpu
