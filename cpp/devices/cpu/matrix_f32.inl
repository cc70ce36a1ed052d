// f32 products of dot form: lane i of an accumulator sums k = i mod kWidth over a chunk, then the
// lanes are added by a fixed tree. Included once by each SIMD variant, after matrix_rows.inl and
// matrix_formats.inl.

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
    int64_t step = 0;
    for (int64_t j = 0; j < columns; j += 4) {
      const float* const* wj = w + j;
      float* yj = y + j;
      if (left == 1) {
        dot_rows<1>(tile, row, 1, k0, wj, len, yj, columns - j);
        step = 1;
      } else if (kTileRows == 2 || left == 2) {
        dot_rows<2>(tile, row, 2, k0, wj, len, yj, columns - j);
        step = 2;
      } else if (left <= 4 || left == 7 || left == 8) {
        dot_rows<kTileRows == 2 ? 2 : 4>(tile, row, left, k0, wj, len, yj, columns - j);
        step = 4;
      } else {
        dot_rows<kTileRows>(tile, row, left, k0, wj, len, yj, columns - j);
        step = kTileRows;
      }
    }
    row += step;
  }
}

// Columns of weights that are widened together, and how far along k: panel and rows of x stay in a
// 48 KiB L1 cache.
constexpr int kPanelRows = 8;
constexpr int64_t kF32Chunk = 512;

// `count` elements from k0 on (a multiple of 256) of four rows, to four rows of kF32Chunk floats.
template <class Format>
void widen_blocks(const uint8_t* const* w, int64_t k0, int64_t count, float* out) {
  alignas(64) uint8_t q[4][2][kLanes * 16];
  alignas(64) float scale[2][kWidth];
  alignas(64) float min[kWidth];
  const F zero_point = splat(Format::kZeroShift > 0 ? 1 << Format::kZeroShift : 0);
  for (int64_t b = 0; b < count / 32; b += kLanes) {
    const int lanes = count / 32 - b < kLanes ? static_cast<int>(count / 32 - b) : kLanes;
    const int64_t block = k0 / 32 + b;
    for (int j = 0; j < 4; ++j) {
      B h[2];
      Format::halves(w[j], block, lanes, h);
      store_bytes(q[j][0], h[0]);
      store_bytes(q[j][1], h[1]);
    }
    const Scales s = Format::scales(w, block, lanes);
    store(scale[0], s.scale[0]);
    store(scale[1], s.scale[1]);
    store(min, s.min);
    for (int j = 0; j < 4; ++j) {
      for (int l = 0; l < lanes; ++l) {
        float* to = out + j * kF32Chunk + (b + l) * 32;
        for (int i = 0; i < 32; i += kWidth) {
          const int h = i / 16;
          const F digit = sub(floats_of_bytes(q[j][h] + l * 16 + i % 16), zero_point);
          // The product is exact in every format, so that one rounding or two are the same.
          F value = mul(digit, splat(scale[Format::kSplit ? h : 0][4 * l + j]));
          if constexpr (Format::kMin) value = add(value, splat(min[4 * l + j]));
          store(to + i, value);
        }
      }
    }
  }
}

// Four rows of weights from `column` on (past the last: the last again) as f32: in place, or in
// `panel`. w[j] are the rows.
void widen_rows(const LinearTile& tile, int64_t column, int64_t k0, int64_t count,
                float (*panel)[kF32Chunk], const float** w) {
  const uint8_t* rows[4];
  for (int j = 0; j < 4; ++j) {
    const int64_t at = column + j < tile.n ? column + j : tile.n - 1;
    rows[j] = reinterpret_cast<const uint8_t*>(tile.w + at * tile.w_stride);
    w[j] = panel[j];
  }
  switch (static_cast<DType>(tile.weight_dtype)) {
    case DType::kF16:
    case DType::kBF16:
      for (int j = 0; j < 4; ++j) {
        const Bytes from = reinterpret_cast<Bytes>(rows[j]) + 2 * k0;
        for (int64_t i = 0; i < count; i += kWidth) {
          store_n(panel[j] + i, load_as(tile.weight_dtype, from, i, count - i), count - i);
        }
      }
      return;
    case DType::kQ4_0:
      return widen_blocks<Q4_0>(rows, k0, count, panel[0]);
    case DType::kQ4_1:
      return widen_blocks<Q4_1>(rows, k0, count, panel[0]);
    case DType::kQ5_0:
      return widen_blocks<Q5_0>(rows, k0, count, panel[0]);
    case DType::kQ5_1:
      return widen_blocks<Q5_1>(rows, k0, count, panel[0]);
    case DType::kQ8_0:
      return widen_blocks<Q8_0>(rows, k0, count, panel[0]);
    case DType::kQ4_K:
      return widen_blocks<Q4_K>(rows, k0, count, panel[0]);
    case DType::kQ5_K:
      return widen_blocks<Q5_K>(rows, k0, count, panel[0]);
    case DType::kQ6_K:
      return widen_blocks<Q6_K>(rows, k0, count, panel[0]);
    default:  // f32
      for (int j = 0; j < 4; ++j) w[j] = reinterpret_cast<const float*>(rows[j]) + k0;
      return;
  }
}

void f32_tile(const LinearTile& tile) {
  alignas(64) float panel[kPanelRows][kF32Chunk];
  for (int64_t r = 0; r < tile.m; ++r) {
    for (int64_t j = 0; j < tile.n; ++j) tile.y[r * tile.y_stride + j] = 0;
  }
  for (int64_t k0 = 0; k0 < tile.k; k0 += kF32Chunk) {
    const int64_t count = tile.k - k0 < kF32Chunk ? tile.k - k0 : kF32Chunk;
    for (int64_t j0 = 0; j0 < tile.n; j0 += kPanelRows) {
      const float* w[kPanelRows];
      const int64_t columns = tile.n - j0 < kPanelRows ? tile.n - j0 : kPanelRows;
      for (int64_t j = 0; j < columns; j += 4) {
        widen_rows(tile, j0 + j, k0, count, panel + j, w + j);
      }
      dot_all_rows(tile, k0, w, count, tile.y + j0, columns);
    }
  }
}

}  // namespace
}  // namespace bessemer::cpu
