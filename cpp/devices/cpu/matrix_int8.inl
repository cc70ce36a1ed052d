// Products of int8 rows of x with block-quantised weights: exact integer sums within a block (or
// half a block), times the two scales, added up in f32. Block b of a chunk goes to partial sum b
// mod kLanes, and the partial sums are added by a fixed tree; both paths below keep to that order,
// so that they give the same bits. Included once by each SIMD variant, after matrix_formats.inl.

namespace bessemer::cpu {
namespace {

constexpr int kChunkBlocks = 32;  // a multiple of the 256-element formats'

// A row of x, read-only.
struct Int8View {
  const std::byte* base;
  int64_t low, scale, scaled_sum, minus_sum, minus_half[2];  // offsets in bytes

  inline Int8View(const std::byte* row, int64_t k) : base(row) {
    const int64_t padded = padded_k(k);
    const int64_t part = padded / 8;
    low = padded;
    scale = 2 * padded;
    scaled_sum = scale + part;
    minus_sum = scaled_sum + part;
    minus_half[0] = minus_sum + part;
    minus_half[1] = minus_half[0] + part;
  }
};

inline const float* floats_at(const std::byte* row, int64_t offset, int64_t block) {
  return reinterpret_cast<const float*>(row + offset) + block;
}
inline const int32_t* ints_at(const std::byte* row, int64_t offset, int64_t block) {
  return reinterpret_cast<const int32_t*>(row + offset) + block;
}

// Few rows of x: weights are used straight from their blocks, four rows of them at a time, each
// vector holding kLanes blocks.

// How the few-rows path reads a format; a variant may specialise it (matrix_formats_avx512.inl).
template <class Format>
struct Few {
  // Whether q[0] and q[1] are first and second halves of blocks in order, as x is.
  static constexpr bool kInOrder = true;
  static inline void load(const uint8_t* row, int64_t block, int count, B* q) {
    Format::halves(row, block, count, q);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    return Format::scales(rows, block, count);
  }
  // Otherwise: arranges x as q is, and the lanes of sums over q[0] and q[1] into those over first
  // and second halves.
  static inline void arrange(B*) {}
  static inline void sort(I*) {}
};

#if defined(__AVX512F__)
}  // namespace
}  // namespace bessemer::cpu
#include "devices/cpu/matrix_formats_avx512.inl"
namespace bessemer::cpu {
namespace {
#endif

template <class Format, int kRows>
inline void few_rows_step(const uint8_t* const* w, int64_t block, int count,
                          const std::byte* const* x, const Int8View& view, F* acc) {
  B q[4][2];
  for (int j = 0; j < 4; ++j) Few<Format>::load(w[j], block, count, q[j]);
  const Scales s = Few<Format>::scales(w, block, count);
  for (int r = 0; r < kRows; ++r) {
    const std::byte* high = x[r] + block * 32;
    const std::byte* low = high + view.low;
    B xs[2] = {load_bytes(high), load_bytes(high + kLanes * 16)};
    B xl[2] = {load_bytes(low), load_bytes(low + kLanes * 16)};
    Few<Format>::arrange(xs);
    Few<Format>::arrange(xl);
    const F x_scale = expand(floats_at(x[r], view.scale, block));
    I sums[4];
    I total[2];
    if constexpr (Format::kSplit || !Few<Format>::kInOrder) {
      for (int h = 0; h < 2; ++h) {
        for (int j = 0; j < 4; ++j) {
          sums[j] = shift_left<8>(dot4<Format::kWide>(splat_int(0), q[j][h], xs[h]));
          sums[j] = dot4<Format::kWide>(sums[j], q[j][h], xl[h]);
        }
        total[h] = sum_quads(sums[0], sums[1], sums[2], sums[3]);
      }
      Few<Format>::sort(total);
    } else {
      for (int j = 0; j < 4; ++j) {
        sums[j] = dot4<Format::kWide>(splat_int(0), q[j][0], xs[0]);
        sums[j] = shift_left<8>(dot4<Format::kWide>(sums[j], q[j][1], xs[1]));
        sums[j] = dot4<Format::kWide>(sums[j], q[j][0], xl[0]);
        sums[j] = dot4<Format::kWide>(sums[j], q[j][1], xl[1]);
      }
      total[0] = sum_quads(sums[0], sums[1], sums[2], sums[3]);
    }
    if constexpr (Format::kSplit) {
      for (int h = 0; h < 2; ++h) {
        const I minus = expand(ints_at(x[r], view.minus_half[h], block));
        total[h] = add(total[h], shift_left<Format::kZeroShift>(minus));
        acc[r] = fma(to_float(total[h]), mul(s.scale[h], x_scale), acc[r]);
      }
    } else {
      if constexpr (!Few<Format>::kInOrder) total[0] = add(total[0], total[1]);
      if constexpr (Format::kZeroShift > 0) {
        const I minus = expand(ints_at(x[r], view.minus_sum, block));
        total[0] = add(total[0], shift_left<Format::kZeroShift>(minus));
      }
      acc[r] = fma(to_float(total[0]), mul(s.scale[0], x_scale), acc[r]);
      if constexpr (Format::kMin) {
        acc[r] = fma(s.min, expand(floats_at(x[r], view.scaled_sum, block)), acc[r]);
      }
    }
  }
}

template <class Format, int kRows>
void few_rows(const LinearTile& tile) {
  const Int8View view(tile.x, tile.k);
  const int64_t blocks = tile.k / 32;
  // On average, for the 256-element formats.
  const int64_t block_bytes = blocks == 0 ? 0 : tile.w_stride / blocks;
  const std::byte* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = tile.x + r * tile.x_stride;
  for (int64_t j0 = 0; j0 < tile.n; j0 += 4) {
    const uint8_t* w[4];
    for (int j = 0; j < 4; ++j) {
      const int64_t column = j0 + j < tile.n ? j0 + j : tile.n - 1;
      w[j] = reinterpret_cast<const uint8_t*>(tile.w + column * tile.w_stride);
    }
    float y[kRows][4] = {};
    for (int64_t b0 = 0; b0 < blocks; b0 += kChunkBlocks) {
      const int64_t end = blocks - b0 < kChunkBlocks ? blocks : b0 + kChunkBlocks;
      F acc[kRows];
      for (F& a : acc) a = zero();
      int64_t b = b0;
      for (; b + kLanes <= end; b += kLanes) {
        // Rows are short and four are read at once, which hides the stream from the hardware: the
        // same place of the next four rows is asked for in time.
        for (int j = 0; j < 4; ++j) {
          const uint8_t* next = w[j] + b * block_bytes + 4 * tile.w_stride;
          __builtin_prefetch(next);
          __builtin_prefetch(next + 64);
        }
        few_rows_step<Format, kRows>(w, b, kLanes, x, view, acc);
      }
      if (b < end) few_rows_step<Format, kRows>(w, b, static_cast<int>(end - b), x, view, acc);
      for (int r = 0; r < kRows; ++r) add_lanes_to(y[r], acc[r]);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int64_t j = 0; j < 4 && j0 + j < tile.n; ++j)
        tile.y[r * tile.y_stride + j0 + j] = y[r][j];
    }
  }
}

// Many rows of x: a panel of weights is unpacked, kPanelVectors vectors of columns wide, so that a
// 32-bit lane holds four consecutive elements of its column and all further work is vertical.

constexpr int kPanelVectors = kWidth == 4 ? 1 : 2;
constexpr int kPanelColumns = kPanelVectors * kWidth;
constexpr int kInt8TileRows = kWidth == 16 ? 6 : 2;

struct Panel {
  alignas(64) uint8_t q[kChunkBlocks][8][kPanelColumns * 4];
  alignas(64) float scale[kChunkBlocks][2][kPanelColumns];  // [1]: the second half's, or the min
};

template <class Format>
inline void pack_step(const uint8_t* const* w, int64_t block, int count, int64_t at, int column,
                      Panel& panel) {
  B q[4][2];
  for (int j = 0; j < 4; ++j) Format::halves(w[j], block, count, q[j]);
  const Scales s = Few<Format>::scales(w, block, count);
  for (int h = 0; h < 2; ++h) {
    transpose4(q[0][h], q[1][h], q[2][h], q[3][h]);
    for (int g = 0; g < 4; ++g) {
      for (int l = 0; l < kLanes && l < count; ++l) {
        store_lane(&panel.q[at + l][4 * h + g][4 * column], q[g][h], l);
      }
    }
  }
  for (int l = 0; l < kLanes && l < count; ++l) {
    store_lane(&panel.scale[at + l][0][column], s.scale[0], l);
    if constexpr (Format::kSplit) store_lane(&panel.scale[at + l][1][column], s.scale[1], l);
    if constexpr (Format::kMin) store_lane(&panel.scale[at + l][1][column], s.min, l);
  }
}

template <class Format>
inline void pack(const LinearTile& tile, int64_t j0, int64_t b0, int64_t blocks, Panel& panel) {
  for (int column = 0; column < kPanelColumns; column += 4) {
    const uint8_t* w[4];
    for (int j = 0; j < 4; ++j) {
      const int64_t from = j0 + column + j < tile.n ? j0 + column + j : tile.n - 1;
      w[j] = reinterpret_cast<const uint8_t*>(tile.w + from * tile.w_stride);
    }
    int64_t b = 0;
    for (; b + kLanes <= blocks; b += kLanes)
      pack_step<Format>(w, b0 + b, kLanes, b, column, panel);
    if (b < blocks) pack_step<Format>(w, b0 + b, static_cast<int>(blocks - b), b, column, panel);
  }
}

// y[r][...] += kRows rows of x times the panel, for blocks b0 .. b0 + blocks - 1.
template <class Format, int kRows>
void panel_rows(const Panel& panel, const std::byte* const* x, const Int8View& view, int64_t b0,
                int64_t blocks, float* const* y, int64_t columns) {
  F partial[kLanes][kRows][kPanelVectors];
  for (int phase = 0; phase < kLanes; ++phase) {
    F acc[kRows][kPanelVectors];
    for (auto& row : acc) {
      for (F& a : row) a = zero();
    }
    for (int64_t b = phase; b < blocks; b += kLanes) {
      for (int h = 0; h < (Format::kSplit ? 2 : 1); ++h) {
        constexpr int kGroups = Format::kSplit ? 4 : 8;
        I sums[kRows][kPanelVectors];
        for (auto& row : sums) {
          for (I& each : row) each = splat_int(0);
        }
        const auto add_products = [&](int64_t term) {
          for (int g = h * kGroups; g < (h + 1) * kGroups; ++g) {
            B w[kPanelVectors];
            for (int c = 0; c < kPanelVectors; ++c) {
              w[c] = load_bytes(&panel.q[b][g][c * kWidth * 4]);
            }
            for (int r = 0; r < kRows; ++r) {
              const B xr = splat_word(x[r] + term + (b0 + b) * 32 + 4 * g);
              for (int c = 0; c < kPanelVectors; ++c) {
                sums[r][c] = dot4<Format::kWide>(sums[r][c], w[c], xr);
              }
            }
          }
        };
        add_products(0);
        for (int r = 0; r < kRows; ++r) {
          for (I& each : sums[r]) each = shift_left<8>(each);
          if constexpr (Format::kZeroShift > 0) {
            const int64_t minus = Format::kSplit ? view.minus_half[h] : view.minus_sum;
            const I start =
                shift_left<Format::kZeroShift>(splat_from(ints_at(x[r], minus, b0 + b)));
            for (I& each : sums[r]) each = add(each, start);
          }
        }
        add_products(view.low);
        for (int c = 0; c < kPanelVectors; ++c) {
          const F scale = load(&panel.scale[b][h][c * kWidth]);
          for (int r = 0; r < kRows; ++r) {
            const F x_scale = splat_from(floats_at(x[r], view.scale, b0 + b));
            acc[r][c] = fma(to_float(sums[r][c]), mul(scale, x_scale), acc[r][c]);
          }
        }
      }
      if constexpr (Format::kMin) {
        for (int c = 0; c < kPanelVectors; ++c) {
          const F min = load(&panel.scale[b][1][c * kWidth]);
          for (int r = 0; r < kRows; ++r) {
            acc[r][c] = fma(min, splat_from(floats_at(x[r], view.scaled_sum, b0 + b)), acc[r][c]);
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kPanelVectors; ++c) partial[phase][r][c] = acc[r][c];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kPanelVectors; ++c) {
      F total = partial[0][r][c];
      if constexpr (kLanes == 2) total = add(total, partial[1][r][c]);
      if constexpr (kLanes == 4) {
        total = add(add(total, partial[2][r][c]), add(partial[1][r][c], partial[3][r][c]));
      }
      const int64_t n = columns - c * kWidth;
      if (n > 0) store_n(y[r] + c * kWidth, add(load_n(y[r] + c * kWidth, n), total), n);
    }
  }
}

template <class Format, int kRows>
inline void some_rows(const LinearTile& tile, const Panel& panel, const Int8View& view, int64_t row,
                      int64_t rows, int64_t b0, int64_t blocks, float* y, int64_t columns) {
  // Rows past the last repeat it, with their results thrown away.
  alignas(64) float spare[kPanelColumns] = {};
  const std::byte* x[kRows];
  float* out[kRows];
  for (int r = 0; r < kRows; ++r) {
    x[r] = tile.x + (row + (r < rows ? r : rows - 1)) * tile.x_stride;
    out[r] = r < rows ? y + (row + r) * tile.y_stride : spare;
  }
  panel_rows<Format, kRows>(panel, x, view, b0, blocks, out, columns);
}

template <class Format>
void many_rows(const LinearTile& tile) {
  const Int8View view(tile.x, tile.k);
  const int64_t all_blocks = tile.k / 32;
  Panel panel;
  for (int64_t r = 0; r < tile.m; ++r) {
    for (int64_t j = 0; j < tile.n; ++j) tile.y[r * tile.y_stride + j] = 0;
  }
  for (int64_t j0 = 0; j0 < tile.n; j0 += kPanelColumns) {
    const int64_t columns = tile.n - j0;
    for (int64_t b0 = 0; b0 < all_blocks; b0 += kChunkBlocks) {
      const int64_t blocks = all_blocks - b0 < kChunkBlocks ? all_blocks - b0 : kChunkBlocks;
      pack<Format>(tile, j0, b0, blocks, panel);
      int64_t row = 0;
      while (row < tile.m) {
        const int64_t left = tile.m - row;
        constexpr int kFull = kInt8TileRows;
        if (kFull == 2 || left <= 2) {
          some_rows<Format, 2>(tile, panel, view, row, left, b0, blocks, tile.y + j0, columns);
          row += 2;
        } else if (left <= 4 || left == 7 || left == 8) {
          some_rows<Format, kFull == 2 ? 2 : 4>(tile, panel, view, row, left, b0, blocks,
                                                tile.y + j0, columns);
          row += 4;
        } else {
          some_rows<Format, kFull>(tile, panel, view, row, left, b0, blocks, tile.y + j0, columns);
          row += kFull;
        }
      }
    }
  }
}

template <class Format>
void int8_tile_of(const LinearTile& tile) {
  if (!tile.halves_apart) return many_rows<Format>(tile);
  switch (tile.m) {
    case 1:
      return few_rows<Format, 1>(tile);
    case 2:
      return few_rows<Format, 2>(tile);
    case 3:
      return few_rows<Format, 3>(tile);
    default:
      return few_rows<Format, 4>(tile);
  }
}

void int8_tile(const LinearTile& tile) {
  switch (static_cast<DType>(tile.weight_dtype)) {
    case DType::kQ4_0:
      return int8_tile_of<Q4_0>(tile);
    case DType::kQ4_1:
      return int8_tile_of<Q4_1>(tile);
    case DType::kQ5_0:
      return int8_tile_of<Q5_0>(tile);
    case DType::kQ5_1:
      return int8_tile_of<Q5_1>(tile);
    case DType::kQ8_0:
      return int8_tile_of<Q8_0>(tile);
    case DType::kQ4_K:
      return int8_tile_of<Q4_K>(tile);
    case DType::kQ5_K:
      return int8_tile_of<Q5_K>(tile);
    case DType::kQ6_K:
      return int8_tile_of<Q6_K>(tile);
    default:
      return;  // the driver sends only block-quantised weights here
  }
}

}  // namespace
}  // namespace bessemer::cpu
