#include <vector>

#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"
#include "devices/cpu/rows.h"
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

}  // namespace

void norm(const KernelCall& call) {
  const auto& p = *static_cast<const abi::NormParams*>(call.params);
  const Operands o = operands_of(p, call.operands);
  const auto dtype = static_cast<DType>(p.dtype);
  const int64_t row_bytes = p.cols * info(dtype).block_bytes;
  // Groups have weights by channel, which are applied after the row is normalised.
  const bool by_channel = p.spatial != 1 || p.groups != 1;
  const NormRow row{p.kind,
                    p.dtype,
                    p.cols,
                    p.epsilon,
                    by_channel ? nullptr : o.weight,
                    by_channel ? nullptr : o.bias};
  auto body = [&](int worker, int n) {
    std::vector<float> y(static_cast<size_t>(p.cols));
    const Share s = share_of(p.rows, worker, n);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const std::byte* x = o.x + r * row_bytes;
      std::byte* out = o.out + r * row_bytes;
      if (p.mode == abi::kNormAddFirst) {
        std::byte* sum = o.sum + r * row_bytes;
        for (int64_t c = 0; c < p.cols; ++c) {
          put_float(sum, dtype, c,
                    float_at(x, dtype, c) + float_at(o.residual + r * row_bytes, dtype, c));
        }
        x = sum;
      }
      matrix_isa(call.isa).norm_row(row, x, y.data());
      if (by_channel && (o.weight != nullptr || o.bias != nullptr)) {
        const int64_t channels = p.cols / p.spatial;
        for (int64_t c = 0; c < p.cols; ++c) {
          const int64_t channel = (r % p.groups) * channels + c / p.spatial;
          float& value = y[static_cast<size_t>(c)];
          if (o.weight != nullptr) value *= o.weight[channel];
          if (o.bias != nullptr) value += o.bias[channel];
        }
      }
      for (int64_t c = 0; c < p.cols; ++c) {
        float value = y[static_cast<size_t>(c)];
        if (p.mode == abi::kNormAddAfter) {
          if (dtype != DType::kF32) {  // a norm's result has its input's dtype before it is added
            std::byte half[2];
            put_float(half, dtype, 0, value);
            value = float_at(half, dtype, 0);
          }
          value = float_at(o.residual + r * row_bytes, dtype, c) + value;
        }
        put_float(out, dtype, c, value);
      }
    }
  };
  call.pool.run(p.rows * p.cols < 16384 ? 1 : call.threads, body);
}

}  // namespace bessemer::cpu
