// What the drivers of `linear` and `matmul` (portable code) ask of a SIMD variant. Each variant is
// one table of functions, made from the same bodies (*.inl) over another vector layer (simd/).
//
// Every function computes an output element in an order that is fixed by the variant alone: not by
// m, n, the tile or the position in it. That is what makes results independent of the batch. Long k
// is summed in chunks, each from zero, whose sums are added in rising order: that bounds the panels
// of unpacked weights (they are on thread stacks, which are small on some systems) and the rounding
// error.
#pragma once

#include <cstdint>

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

// 16-bit and 32-bit float arrays and packed blocks are all just bytes here.
using Bytes = const std::byte*;

struct NormRow {
  uint32_t norm;     // abi::Norm
  uint32_t x_dtype;  // DType: f32, f16 or bf16
  int64_t k;
  float epsilon;
  const float* weight;  // [k], null for none
  const float* bias;    // [k], null for none
};

// One row of x quantised to 16 bits in two int8 terms: per block of 32, x ~ scale * (256 * q +
// low), with |256 * q + low| <= 32512. One term alone costs language models a percent of their
// top-1 answers; two are as good as f32, for twice the dot products and the same loads of weights.
// All of k padded to 128.
struct Int8Row {
  int8_t* q;
  int8_t* low;             // as q
  float* scale;            // one a block
  float* scaled_sum;       // one a block: scale times the sum of the 16-bit values
  int32_t* minus_sum;      // one a block: minus the sum of the 16-bit values
  int32_t* minus_half[2];  // one a block: minus the sum of its first and its second half
};

// Bytes of one such row, and the offsets of its parts (kernel_abi/linear_params.h counts the same).
static inline int64_t padded_k(int64_t k) { return (k + 127) / 128 * 128; }
static inline int64_t int8_row_bytes(int64_t k) { return (padded_k(k) / 128 * 336 + 63) / 64 * 64; }
static inline Int8Row int8_row(std::byte* base, int64_t k) {
  const int64_t padded = padded_k(k);
  const int64_t part = padded / 32 * 4;
  std::byte* parts = base + 2 * padded;
  return {
      reinterpret_cast<int8_t*>(base),
      reinterpret_cast<int8_t*>(base + padded),
      reinterpret_cast<float*>(parts),
      reinterpret_cast<float*>(parts + part),
      reinterpret_cast<int32_t*>(parts + 2 * part),
      {reinterpret_cast<int32_t*>(parts + 3 * part), reinterpret_cast<int32_t*>(parts + 4 * part)}};
}

// y[r][j] = x_r · w_j for r < m, j < n.
struct LinearTile {
  uint32_t weight_dtype;
  Bytes w;           // row 0 of the tile
  int64_t w_stride;  // bytes
  int64_t m;
  int64_t n;
  int64_t k;
  const std::byte* x;  // f32 rows, or Int8Row areas (see int8_row)
  int64_t x_stride;    // bytes
  bool halves_apart;   // how int8 rows are laid out
  float* y;
  int64_t y_stride;  // elements
};

// y[i][j] = sum over l of A[i][l] * B[l][j] for i < m, j < n; strides in elements.
struct DenseTile {
  uint32_t a_dtype;  // DType: f32, f16 or bf16
  uint32_t b_dtype;
  Bytes a;
  Bytes b;
  int64_t a_row;
  int64_t a_col;
  int64_t b_row;
  int64_t b_col;
  int64_t m;
  int64_t n;
  int64_t k;
  float* y;
  int64_t y_stride;
};

// One row of a tile on its way out: out = act(y + bias) * (gate + gate_bias) + residual.
struct FinishRow {
  const float* y;
  const float* gate;       // null unless gated
  const float* bias;       // null for none
  const float* gate_bias;  // null for none
  uint32_t activation;     // abi::Activation
  uint32_t out_dtype;      // of residual too
  Bytes residual;          // null for none
  std::byte* out;
  int64_t n;
};

struct MatrixIsa {
  // Blocks of 32 that one vector holds half of. Rows quantised for few_rows have each group of so
  // many blocks as first halves, then second halves.
  int lane_blocks;
  void (*norm_row)(const NormRow& norm, Bytes x, float* out);
  void (*quantize_row)(const NormRow& norm, Bytes x, bool halves_apart, const Int8Row& out);
  void (*f32_tile)(const LinearTile& tile);
  void (*int8_tile)(const LinearTile& tile);
  void (*dense_tile)(const DenseTile& tile);
  void (*finish_row)(const FinishRow& row);
};

// Tiles of at most so many rows read weights straight from their blocks (x with its halves apart);
// above, blocks are unpacked once into a panel for many rows.
inline constexpr int64_t kFewRows = 4;

[[nodiscard]] const MatrixIsa& matrix_generic();
[[nodiscard]] const MatrixIsa& matrix_avx2();
[[nodiscard]] const MatrixIsa& matrix_avx512();
[[nodiscard]] const MatrixIsa& matrix_avx512vnni();
// The table of `isa`, which must be available.
[[nodiscard]] const MatrixIsa& matrix_isa(Isa isa);

}  // namespace bessemer::cpu
