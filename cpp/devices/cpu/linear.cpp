// linear: rows of x are normalised and widened or quantised, then tiles of the product are handed
// out to the workers. All arithmetic is in the SIMD variants (matrix_isa.h).
#include "kernel_abi/linear_params.h"

#include <algorithm>
#include <atomic>

#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"

namespace bessemer::cpu {
namespace {

// Results of one tile, and rows of x that a worker keeps to itself: both on the worker's stack.
constexpr int64_t kTileFloats = 4096;
constexpr int64_t kPrivateBytes = 16384;
constexpr int64_t kTileColumns = 32;

struct Weight {
  DType dtype;
  bool int8;
  int64_t n;
  int64_t row_bytes;
  Bytes data;
  const float* bias;
  std::byte* out;
};

// Where the prepared rows of x are.
struct Rows {
  const std::byte* f32 = nullptr;
  int64_t f32_stride = 0;
  const std::byte* int8 = nullptr;
  int64_t int8_stride = 0;
};

struct Job {
  const abi::LinearParams& p;
  const MatrixIsa& isa;
  NormRow norm{};
  Bytes x = nullptr;
  int64_t x_row_bytes = 0;
  Weight weights[4] = {};
  int outputs = 0;  // 1 if gated, else the number of weights
  Bytes residual = nullptr;
  std::byte* scratch = nullptr;
  bool as_f32 = false;
  bool as_int8 = false;
  bool f32_in_place = false;

  // The tiles: output i has column tiles [first[i], first[i + 1]), each cut in `row_tiles`.
  int64_t tile_m = 0;
  int64_t tile_n = 0;
  int64_t row_tiles = 0;
  int64_t first[5] = {};
  std::atomic<int64_t> next{0};
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

void choose_tiles(Job& job, int workers) {
  const int64_t m = job.p.m;
  int64_t columns = 0;
  for (int i = 0; i < job.outputs; ++i) columns += job.weights[i].n;
  // Several tiles a worker, so that one that is held up does not hold up the rest.
  const int64_t wanted = workers == 1 ? 1 : 4 * workers;
  if (m <= kFewRows) {
    job.tile_m = m;
    job.tile_n =
        std::clamp(divide_up(divide_up(columns, wanted), 16) * 16, int64_t{16}, kTileFloats / 4);
  } else {
    job.tile_n = kTileColumns;
    const int64_t column_tiles = std::max(int64_t{1}, columns / job.tile_n);
    job.tile_m =
        std::clamp(divide_up(m * column_tiles, wanted), int64_t{16}, kTileFloats / job.tile_n);
  }
  job.row_tiles = divide_up(m, job.tile_m);
  for (int i = 0; i < job.outputs; ++i) {
    job.first[i + 1] = job.first[i] + divide_up(job.weights[i].n, job.tile_n);
  }
}

// Lays rows of x out at `at`: all int8 rows, then all f32 rows.
Rows place_rows(const Job& job, std::byte* at) {
  Rows rows;
  if (job.as_int8) {
    rows.int8 = at;
    rows.int8_stride = int8_row_bytes(job.p.k);
    at += job.p.m * rows.int8_stride;
  }
  if (job.as_f32) {
    rows.f32 = job.f32_in_place ? job.x : at;
    rows.f32_stride = job.f32_in_place ? job.x_row_bytes : divide_up(job.p.k, 16) * 64;
  }
  return rows;
}

void prepare_row(const Job& job, const Rows& rows, int64_t row) {
  Bytes x = job.x + row * job.x_row_bytes;
  if (job.as_f32 && !job.f32_in_place) {
    auto* out = const_cast<std::byte*>(rows.f32) + row * rows.f32_stride;
    job.isa.norm_row(job.norm, x, reinterpret_cast<float*>(out));
  }
  if (job.as_int8) {
    auto* out = const_cast<std::byte*>(rows.int8) + row * rows.int8_stride;
    job.isa.quantize_row(job.norm, x, job.p.m <= kFewRows, int8_row(out, job.p.k));
  }
}

void product(const Job& job, const Rows& rows, const Weight& weight, int64_t row, int64_t m,
             int64_t column, int64_t n, float* y, int64_t y_stride) {
  LinearTile tile{};
  tile.weight_dtype = static_cast<uint32_t>(weight.dtype);
  tile.w = weight.data + column * weight.row_bytes;
  tile.w_stride = weight.row_bytes;
  tile.m = m;
  tile.n = n;
  tile.k = job.p.k;
  tile.x_stride = weight.int8 ? rows.int8_stride : rows.f32_stride;
  tile.x = (weight.int8 ? rows.int8 : rows.f32) + row * tile.x_stride;
  tile.halves_apart = job.p.m <= kFewRows;
  tile.y = y;
  tile.y_stride = y_stride;
  (weight.int8 ? job.isa.int8_tile : job.isa.f32_tile)(tile);
}

void run_tiles(Job& job, const Rows& rows) {
  alignas(64) float y[2][kTileFloats];
  const int64_t tiles = job.first[job.outputs] * job.row_tiles;
  const auto out_bytes =
      static_cast<int64_t>(info(static_cast<DType>(job.p.out_dtype)).block_bytes);
  for (int64_t t; (t = job.next.fetch_add(1, std::memory_order_relaxed)) < tiles;) {
    const int64_t column_tile = t / job.row_tiles;
    int i = 0;
    while (column_tile >= job.first[i + 1]) ++i;
    const Weight& weight = job.weights[i];
    const int64_t column = (column_tile - job.first[i]) * job.tile_n;
    const int64_t n = std::min(job.tile_n, weight.n - column);
    const int64_t row = t % job.row_tiles * job.tile_m;
    const int64_t m = std::min(job.tile_m, job.p.m - row);

    product(job, rows, weight, row, m, column, n, y[0], job.tile_n);
    if (job.p.gated) product(job, rows, job.weights[1], row, m, column, n, y[1], job.tile_n);

    FinishRow finish{};
    finish.activation = job.p.activation;
    finish.out_dtype = job.p.out_dtype;
    finish.n = n;
    if (weight.bias != nullptr) finish.bias = weight.bias + column;
    if (job.p.gated && job.weights[1].bias != nullptr) {
      finish.gate_bias = job.weights[1].bias + column;
    }
    for (int64_t r = 0; r < m; ++r) {
      const int64_t offset = ((row + r) * weight.n + column) * out_bytes;
      finish.y = y[0] + r * job.tile_n;
      finish.gate = job.p.gated ? y[1] + r * job.tile_n : nullptr;
      finish.residual = job.residual != nullptr ? job.residual + offset : nullptr;
      finish.out = weight.out + offset;
      job.isa.finish_row(finish);
    }
  }
}

}  // namespace

void linear(const KernelCall& call) {
  const auto& p = *static_cast<const abi::LinearParams*>(call.params);
  std::byte* const* operand = call.operands;
  const auto next_floats = [&] { return reinterpret_cast<const float*>(*operand++); };

  Job job{.p = p, .isa = matrix_isa(call.isa)};
  job.x = *operand++;
  job.x_row_bytes = p.k * info(static_cast<DType>(p.x_dtype)).block_bytes;
  job.norm = {p.norm, p.x_dtype, p.k, p.norm_epsilon, nullptr, nullptr};
  if (p.norm != abi::kNormNone) job.norm.weight = next_floats();
  if (p.has_norm_bias) job.norm.bias = next_floats();
  const int count = static_cast<int>(p.n_weights);
  int64_t columns = 0;
  for (int i = 0; i < count; ++i) {
    Weight& w = job.weights[i];
    w.dtype = static_cast<DType>(p.weight_dtype[i]);
    w.int8 = p.int8_activations && is_quantised(w.dtype);
    w.n = p.n[i];
    w.row_bytes = bytes_of(w.dtype, p.k);
    w.data = *operand++;
    (w.int8 ? job.as_int8 : job.as_f32) = true;
    columns += w.n;
  }
  for (int i = 0; i < count; ++i) job.weights[i].bias = p.has_bias ? next_floats() : nullptr;
  job.residual = p.has_residual ? *operand++ : nullptr;
  job.outputs = p.gated ? 1 : count;
  for (int i = 0; i < job.outputs; ++i) job.weights[i].out = *operand++;
  job.scratch = *operand++;
  job.f32_in_place = p.norm == abi::kNormNone && static_cast<DType>(p.x_dtype) == DType::kF32;
  if (p.m == 0 || columns == 0) return;

  // A hand-over costs a few microseconds: not for products that take less.
  const int64_t by_size = 1 + p.m * columns * std::max(p.k, int64_t{1}) / 32768;
  const int threads =
      static_cast<int>(std::min<int64_t>(std::min(call.threads, call.pool.size()), by_size));
  choose_tiles(job, threads);

  const int64_t bytes = linear_scratch_bytes(p);
  auto body = [&](int worker, int workers) {
    alignas(64) std::byte own[kPrivateBytes];
    // Few rows are prepared by every worker for itself: cheaper than waiting for each other.
    const bool is_private = workers > 1 && p.m <= kFewRows && bytes <= kPrivateBytes;
    const Rows rows = place_rows(job, is_private ? own : job.scratch);
    if (is_private) {
      for (int64_t r = 0; r < p.m; ++r) prepare_row(job, rows, r);
    } else if (bytes > 0) {
      for (int64_t r = worker; r < p.m; r += workers) prepare_row(job, rows, r);
      if (workers > 1) call.pool.barrier();
    }
    run_tiles(job, rows);
  };
  call.pool.run(threads, body);
}

}  // namespace bessemer::cpu
