// f32 products of dot form: lane i of an accumulator sums k = i mod kWidth over a chunk, then the
// lanes are added by a fixed tree. Included once by each SIMD variant, after matrix_rows.inl.

namespace bessemer::cpu {
namespace {

// Rows of x that share a load of weights; limited by the registers.
constexpr int kTileRows = kWidth == 16 ? 6 : 2;

// out[r][j] += x_r · w_j over `len` elements.
template <int kRows>
inline void dot_tile(const float* const* x, const float* const* w, int64_t len, float (*out)[4]) {
  F acc[kRows][4];
  for (auto& row : acc) {
    for (F& a : row) a = zero();
  }
  int64_t i = 0;
  for (; i + kWidth <= len; i += kWidth) {
    const F w0 = load(w[0] + i);
    const F w1 = load(w[1] + i);
    const F w2 = load(w[2] + i);
    const F w3 = load(w[3] + i);
    for (int r = 0; r < kRows; ++r) {
      const F xr = load(x[r] + i);
      acc[r][0] = fma(xr, w0, acc[r][0]);
      acc[r][1] = fma(xr, w1, acc[r][1]);
      acc[r][2] = fma(xr, w2, acc[r][2]);
      acc[r][3] = fma(xr, w3, acc[r][3]);
    }
  }
  if (i < len) {
    for (int r = 0; r < kRows; ++r) {
      const F xr = load_n(x[r] + i, len - i);
      for (int j = 0; j < 4; ++j) acc[r][j] = fma(xr, load_n(w[j] + i, len - i), acc[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) sum4(acc[r][0], acc[r][1], acc[r][2], acc[r][3], out[r]);
}

// Rows [0, kRows) of x at `tile.x` + row * stride against four rows of weights. Rows past `rows`
// and columns past `columns` repeat the last one; their results are dropped.
template <int kRows>
inline void dot_rows(const LinearTile& tile, int64_t row, int64_t rows, int64_t k0,
                     const float* const* w, int64_t len, float* y, int64_t columns) {
  const float* x[kRows];
  float out[kRows][4];
  for (int r = 0; r < kRows; ++r) {
    const int64_t at = row + (r < rows ? r : rows - 1);
    x[r] = reinterpret_cast<const float*>(tile.x + at * tile.x_stride) + k0;
  }
  dot_tile<kRows>(x, w, len, out);
  for (int r = 0; r < kRows && r < rows; ++r) {
    for (int64_t j = 0; j < columns && j < 4; ++j) y[(row + r) * tile.y_stride + j] += out[r][j];
  }
}

inline void dot_all_rows(const LinearTile& tile, int64_t k0, const float* const* w, int64_t len,
                         float* y, int64_t columns) {
  int64_t row = 0;
  while (row < tile.m) {
    const int64_t left = tile.m - row;
    if (left == 1) {
      dot_rows<1>(tile, row, 1, k0, w, len, y, columns);
      row += 1;
    } else if (kTileRows == 2 || left == 2) {
      dot_rows<2>(tile, row, 2, k0, w, len, y, columns);
      row += 2;
    } else if (left <= 4) {
      dot_rows<kTileRows == 2 ? 2 : 4>(tile, row, left, k0, w, len, y, columns);
      row += left;
    } else {
      dot_rows<kTileRows>(tile, row, left, k0, w, len, y, columns);
      row += kTileRows;
    }
  }
}

// `count` weights of one row from k0 (a multiple of kChunk) on, as f32 in `panel` or in place.
inline const float* weights_as_f32(const LinearTile& tile, int64_t row, int64_t k0, int64_t count,
                                   float* panel) {
  const auto dtype = static_cast<DType>(tile.weight_dtype);
  Bytes w = tile.w + row * tile.w_stride;
  if (dtype == DType::kF32) return reinterpret_cast<const float*>(w) + k0;
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    w += 2 * k0;
    for (int64_t i = 0; i < count; i += kWidth) {
      store_n(panel + i, load_as(tile.weight_dtype, w, i, count - i), count - i);
    }
    return panel;
  }
  const DTypeInfo& type = info(dtype);
  dequantize_row(dtype, w + k0 / type.block_elements * type.block_bytes, panel, count);
  return panel;
}

void f32_tile(const LinearTile& tile) {
  alignas(64) float panel[4][kChunk];
  for (int64_t r = 0; r < tile.m; ++r) {
    for (int64_t j = 0; j < tile.n; ++j) tile.y[r * tile.y_stride + j] = 0;
  }
  for (int64_t k0 = 0; k0 < tile.k; k0 += kChunk) {
    const int64_t len = tile.k - k0 < kChunk ? tile.k - k0 : kChunk;
    for (int64_t j0 = 0; j0 < tile.n; j0 += 4) {
      const float* w[4];
      for (int j = 0; j < 4; ++j) {
        w[j] = j0 + j < tile.n ? weights_as_f32(tile, j0 + j, k0, len, panel[j]) : w[j - 1];
      }
      dot_all_rows(tile, k0, w, len, tile.y + j0, tile.n - j0);
    }
  }
}

}  // namespace
}  // namespace bessemer::cpu
