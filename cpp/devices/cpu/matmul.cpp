// matmul: tiles of every batch are handed out to the workers. All arithmetic is in the SIMD
// variants (matrix_isa.h).
#include "kernel_abi/matmul_params.h"

#include <algorithm>
#include <atomic>

#include "base/dtype.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"

namespace bessemer::cpu {
namespace {

constexpr int64_t kTileFloats = 4096;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t element_bytes(uint32_t dtype) { return info(static_cast<DType>(dtype)).block_bytes; }

}  // namespace

void matmul(const KernelCall& call) {
  const auto& p = *static_cast<const abi::MatmulParams*>(call.params);
  std::byte* const* operand = call.operands;
  Bytes a = *operand++;
  Bytes b = *operand++;
  const float* bias = p.has_bias ? reinterpret_cast<const float*>(*operand++) : nullptr;
  Bytes residual = p.has_residual ? *operand++ : nullptr;
  std::byte* out = *operand++;
  const int64_t batches = p.batch[0] * p.batch[1] * p.batch[2] * p.batch[3];
  if (batches == 0 || p.m == 0 || p.n == 0) return;

  const MatrixIsa& isa = matrix_isa(call.isa);
  const int64_t tile_n = p.m <= 2 ? 256 : 64;
  const int64_t column_tiles = divide_up(p.n, tile_n);
  // A hand-over costs a few microseconds: not for products that take less.
  const int64_t by_size = 1 + batches * p.m * p.n * std::max(p.k, int64_t{1}) / 32768;
  const int threads =
      static_cast<int>(std::min<int64_t>(std::min(call.threads, call.pool.size()), by_size));
  // Several tiles a worker, so that one that is held up does not hold up the rest.
  const int64_t wanted = threads == 1 ? 1 : 4 * threads;
  const int64_t tile_m = std::clamp(divide_up(p.m * batches * column_tiles, wanted), int64_t{16},
                                    kTileFloats / tile_n);
  const int64_t row_tiles = divide_up(p.m, tile_m);
  const int64_t tiles = batches * column_tiles * row_tiles;
  const int64_t out_bytes = element_bytes(p.out_dtype);

  std::atomic<int64_t> next{0};
  auto body = [&](int, int) {
    alignas(64) float y[kTileFloats];
    for (int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < tiles;) {
      const int64_t row = t % row_tiles * tile_m;
      const int64_t column = t / row_tiles % column_tiles * tile_n;
      int64_t batch = t / row_tiles / column_tiles;
      int64_t at_a = row * p.a_row;
      int64_t at_b = column * p.b_col;
      int64_t at_out = row * p.out_row + column;
      for (int i = 3; i >= 0; --i) {
        const int64_t index = batch % p.batch[i];
        batch /= p.batch[i];
        at_a += index * p.a_batch[i];
        at_b += index * p.b_batch[i];
        at_out += index * p.out_batch[i];
      }
      DenseTile tile{};
      tile.a_dtype = p.a_dtype;
      tile.b_dtype = p.b_dtype;
      tile.a = a + at_a * element_bytes(p.a_dtype);
      tile.b = b + at_b * element_bytes(p.b_dtype);
      tile.a_row = p.a_row;
      tile.a_col = p.a_col;
      tile.b_row = p.b_row;
      tile.b_col = p.b_col;
      tile.m = std::min(tile_m, p.m - row);
      tile.n = std::min(tile_n, p.n - column);
      tile.k = p.k;
      tile.y = y;
      tile.y_stride = tile_n;
      isa.dense_tile(tile);

      FinishRow finish{};
      finish.activation = p.activation;
      finish.out_dtype = p.out_dtype;
      finish.n = tile.n;
      finish.bias = bias != nullptr ? bias + column : nullptr;
      for (int64_t r = 0; r < tile.m; ++r) {
        const int64_t offset = (at_out + r * p.out_row) * out_bytes;
        finish.y = y + r * tile_n;
        finish.residual = residual != nullptr ? residual + offset : nullptr;
        finish.out = out + offset;
        isa.finish_row(finish);
      }
    }
  };
  call.pool.run(threads, body);
}

}  // namespace bessemer::cpu
