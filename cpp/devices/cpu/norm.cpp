#include <vector>

#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"
#include "devices/cpu/rows.h"
#include "devices/cpu/rows_isa.h"
#include "kernel_abi/norm_params.h"

namespace bessemer::cpu {
namespace {

struct Operands {
  const std::byte* x;
  const std::byte* residual = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::byte* out;
  std::byte* sum = nullptr;
};

Operands operands_of(const abi::NormParams& p, std::byte* const* o) {
  Operands r;
  r.x = *o++;
  if (p.mode != abi::kNormPlain) r.residual = *o++;
  if (p.has_weight != 0) r.weight = reinterpret_cast<const float*>(*o++);
  if (p.has_bias != 0) r.bias = reinterpret_cast<const float*>(*o++);
  r.out = *o++;
  if (p.mode == abi::kNormAddFirst) r.sum = *o;
  return r;
}

// Weights of a group norm: channel c of the row's group has `spatial` consecutive elements.
void weigh_channels(const abi::NormParams& p, const Operands& o, int64_t row, float* y) {
  const int64_t channels = p.cols / p.spatial;
  for (int64_t c = 0; c < channels; ++c, y += p.spatial) {
    const int64_t channel = row % p.groups * channels + c;
    const float weight = o.weight != nullptr ? o.weight[channel] : 1.0f;
    for (int64_t i = 0; i < p.spatial; ++i) y[i] *= weight;
    if (o.bias == nullptr) continue;
    const float bias = o.bias[channel];
    for (int64_t i = 0; i < p.spatial; ++i) y[i] += bias;
  }
}

}  // namespace

void norm(const KernelCall& call) {
  const auto& p = *static_cast<const abi::NormParams*>(call.params);
  if (p.rows == 0 || p.cols == 0) return;
  const Operands o = operands_of(p, call.operands);
  const RowsIsa& rows = rows_isa(call.isa);
  const MatrixIsa& matrix = matrix_isa(call.isa);
  const bool f32 = static_cast<DType>(p.dtype) == DType::kF32;
  const int64_t row_bytes = p.cols * info(static_cast<DType>(p.dtype)).block_bytes;
  const bool by_channel = p.spatial != 1 && (o.weight != nullptr || o.bias != nullptr);
  auto body = [&](int worker, int n) {
    std::vector<float> buffer(static_cast<size_t>(p.cols));
    std::vector<std::byte> half;
    if (!f32 && p.mode == abi::kNormAddAfter) half.resize(static_cast<size_t>(row_bytes));
    const Share s = share_of(p.rows, worker, n);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const std::byte* x = o.x + r * row_bytes;
      std::byte* out = o.out + r * row_bytes;
      if (p.mode == abi::kNormAddFirst) {
        std::byte* sum = o.sum + r * row_bytes;
        rows.add(p.dtype, x, o.residual + r * row_bytes, p.cols, sum);
        x = sum;
      }
      const int64_t first = p.spatial != 1 ? 0 : r % p.groups * p.cols;
      const NormRow row{p.kind,
                        p.dtype,
                        p.cols,
                        p.epsilon,
                        by_channel || o.weight == nullptr ? nullptr : o.weight + first,
                        by_channel || o.bias == nullptr ? nullptr : o.bias + first};
      float* y = buffer.data();
      // A row of f32 is normalised in its place.
      if (f32 && p.mode != abi::kNormAddAfter) y = reinterpret_cast<float*>(out);
      matrix.norm_row(row, x, y);
      if (by_channel) weigh_channels(p, o, r, y);
      if (p.mode != abi::kNormAddAfter) {
        if (!f32) rows.narrow(p.dtype, y, p.cols, out);
        continue;
      }
      // A norm's result has its input's dtype before it is added.
      const std::byte* normed = reinterpret_cast<const std::byte*>(y);
      if (!f32) {
        rows.narrow(p.dtype, y, p.cols, half.data());
        normed = half.data();
      }
      rows.add(p.dtype, o.residual + r * row_bytes, normed, p.cols, out);
    }
  };
  call.pool.run(p.rows * p.cols < 16384 ? 1 : call.threads, body);
}

}  // namespace bessemer::cpu
