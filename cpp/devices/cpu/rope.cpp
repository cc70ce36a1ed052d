#include <cmath>
#include <vector>

#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"
#include "devices/cpu/rows.h"
#include "kernel_abi/rope_params.h"

namespace bessemer::cpu {
namespace {

// Cosines and sines of one token's angles. Angles are formed in double: at position 10^6 an f32
// angle would be off by 0.06.
class Angles {
 public:
  Angles(const abi::RopeParams& p, const float* factors) {
    const auto pairs = static_cast<size_t>(p.n_rot / 2);
    frequency_.resize(pairs);
    for (size_t i = 0; i < pairs; ++i) {
      frequency_[i] =
          p.scale * std::pow(p.base, -2.0 * static_cast<double>(i) / static_cast<double>(p.n_rot));
      if (factors != nullptr) frequency_[i] /= static_cast<double>(factors[i]);
    }
    cosine.resize(pairs);
    sine.resize(pairs);
  }
  void set(int64_t position) {
    for (size_t i = 0; i < frequency_.size(); ++i) {
      const double angle = static_cast<double>(position) * frequency_[i];
      cosine[i] = static_cast<float>(std::cos(angle));
      sine[i] = static_cast<float>(std::sin(angle));
    }
  }
  std::vector<float> cosine;
  std::vector<float> sine;

 private:
  std::vector<double> frequency_;
};

void rotate(const abi::RopeParams& p, const Angles& a, float* head) {
  const int64_t pairs = p.n_rot / 2;
  const int64_t step = p.interleaved != 0 ? 2 : 1;
  const int64_t other = p.interleaved != 0 ? 1 : pairs;
  for (int64_t i = 0; i < pairs; ++i) {
    const float c = a.cosine[static_cast<size_t>(i)];
    const float s = a.sine[static_cast<size_t>(i)];
    const float x = head[i * step];
    const float y = head[i * step + other];
    head[i * step] = x * c - y * s;
    head[i * step + other] = x * s + y * c;
  }
}

// The heads of one token: read, normalised by `norm` if any, rotated, written.
struct HeadRows {
  const std::byte* in;
  DType in_dtype;
  std::byte* out;
  DType out_dtype;
};

void rotate_heads(const KernelCall& call, const abi::RopeParams& p, const Angles& angles,
                  const HeadRows& rows, int64_t heads, const NormRow* norm, float* buffer) {
  const int64_t width = info(rows.in_dtype).block_bytes;
  for (int64_t h = 0; h < heads; ++h) {
    const std::byte* in = rows.in + h * p.head_dim * width;
    if (norm != nullptr) {
      matrix_isa(call.isa).norm_row(*norm, in, buffer);
      // A norm's result has the input's dtype before it is rotated.
      if (rows.in_dtype != DType::kF32) {
        std::byte half[2];
        for (int64_t d = 0; d < p.head_dim; ++d) {
          put_float(half, rows.in_dtype, 0, buffer[d]);
          buffer[d] = float_at(half, rows.in_dtype, 0);
        }
      }
    } else {
      for (int64_t d = 0; d < p.head_dim; ++d) buffer[d] = float_at(in, rows.in_dtype, d);
    }
    rotate(p, angles, buffer);
    for (int64_t d = 0; d < p.head_dim; ++d) {
      float value = buffer[d];
      if (rows.in_dtype != DType::kF32 && rows.out_dtype != rows.in_dtype) {
        std::byte half[2];
        put_float(half, rows.in_dtype, 0, value);
        value = float_at(half, rows.in_dtype, 0);
      }
      put_float(rows.out, rows.out_dtype, h * p.head_dim + d, value);
    }
  }
}

int workers_for(const KernelCall& call, int64_t elements) {
  return elements < 8192 ? 1 : call.threads;
}

}  // namespace

void rope(const KernelCall& call) {
  const auto& p = *static_cast<const abi::RopeParams*>(call.params);
  std::byte* const* o = call.operands;
  const std::byte* x = o[0];
  const std::byte* positions = o[1];
  const auto* factors = p.has_factors != 0 ? reinterpret_cast<const float*>(o[2]) : nullptr;
  std::byte* out = o[p.has_factors != 0 ? 3 : 2];
  const auto dtype = static_cast<DType>(p.x_dtype);
  const int64_t row_bytes = p.heads * p.head_dim * info(dtype).block_bytes;
  auto body = [&](int worker, int n) {
    Angles angles(p, factors);
    std::vector<float> buffer(static_cast<size_t>(p.head_dim));
    const Share s = share_of(p.tokens, worker, n);
    for (int64_t t = s.begin; t < s.end; ++t) {
      angles.set(index_at(positions, static_cast<DType>(p.position_dtype), t));
      rotate_heads(call, p, angles, {x + t * row_bytes, dtype, out + t * row_bytes, dtype}, p.heads,
                   nullptr, buffer.data());
    }
  };
  call.pool.run(workers_for(call, p.tokens * p.heads * p.head_dim), body);
}

void rope_append(const KernelCall& call) {
  const auto& a = *static_cast<const abi::RopeAppendParams*>(call.params);
  const abi::RopeParams& p = a.rope;
  std::byte* const* o = call.operands;
  const std::byte* q = *o++;
  const std::byte* k = *o++;
  const std::byte* v = *o++;
  const std::byte* pos = *o++;
  const std::byte* seq = *o++;
  const float* q_weight = a.has_norm != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  const float* k_weight = a.has_norm != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  const float* factors = p.has_factors != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  std::byte* k_state = *o++;
  std::byte* v_state = *o++;
  std::byte* out = *o;
  const auto x_dtype = static_cast<DType>(p.x_dtype);
  const auto v_dtype = static_cast<DType>(a.v_dtype);
  const auto ks_dtype = static_cast<DType>(a.k_state_dtype);
  const auto vs_dtype = static_cast<DType>(a.v_state_dtype);
  const int64_t x_bytes = info(x_dtype).block_bytes;
  const NormRow q_norm{abi::kNormRms, p.x_dtype, p.head_dim, a.epsilon, q_weight, nullptr};
  const NormRow k_norm{abi::kNormRms, p.x_dtype, p.head_dim, a.epsilon, k_weight, nullptr};
  auto body = [&](int worker, int n) {
    Angles angles(p, factors);
    std::vector<float> buffer(static_cast<size_t>(p.head_dim));
    // A sequence's rows are written in rising order of token by one worker only if positions
    // repeat; tokens of one run have distinct (sequence, position), or the last must win: see
    // below.
    const Share s = share_of(p.tokens, worker, n);
    for (int64_t t = s.begin; t < s.end; ++t) {
      const int64_t position = index_at(pos, DType::kI32, t);
      const int64_t sequence = index_at(seq, DType::kI32, t);
      angles.set(position);
      const int64_t q_row = t * p.heads * p.head_dim * x_bytes;
      rotate_heads(call, p, angles, {q + q_row, x_dtype, out + q_row, x_dtype}, p.heads,
                   a.has_norm != 0 ? &q_norm : nullptr, buffer.data());
      if (position < 0 || position >= a.context || sequence < 0 || sequence >= a.sequences) {
        call.report(kIndexOutOfRange);
        continue;
      }
      const int64_t row = sequence * a.context + position;
      std::byte* k_row = k_state + row * a.kv_heads * p.head_dim * info(ks_dtype).block_bytes;
      rotate_heads(call, p, angles,
                   {k + t * a.kv_heads * p.head_dim * x_bytes, x_dtype, k_row, ks_dtype},
                   a.kv_heads, a.has_norm != 0 ? &k_norm : nullptr, buffer.data());
      const int64_t v_row = a.kv_heads * a.v_head_dim;
      std::byte* v_out = v_state + row * v_row * info(vs_dtype).block_bytes;
      for (int64_t i = 0; i < v_row; ++i) {
        put_float(v_out, vs_dtype, i, float_at(v, v_dtype, t * v_row + i));
      }
    }
  };
  // Two tokens with the same place would race; one worker keeps "the last wins" true.
  bool repeats = false;
  for (int64_t t = 1; t < p.tokens && !repeats; ++t) {
    const int64_t a0 = index_at(seq, DType::kI32, t - 1);
    const int64_t a1 = index_at(seq, DType::kI32, t);
    repeats =
        a1 < a0 || (a1 == a0 && index_at(pos, DType::kI32, t) <= index_at(pos, DType::kI32, t - 1));
  }
  call.pool.run(repeats ? 1 : workers_for(call, p.tokens * p.heads * p.head_dim), body);
}

void scatter_rows(const KernelCall& call) {
  const auto& p = *static_cast<const abi::ScatterRowsParams*>(call.params);
  std::byte* const* o = call.operands;
  const std::byte* rows = o[0];
  const std::byte* idx0 = o[1];
  const std::byte* idx1 = p.n_indices == 2 ? o[2] : nullptr;
  std::byte* state = o[p.n_indices + 1];
  const auto index_dtype = static_cast<DType>(p.index_dtype);
  const auto row_dtype = static_cast<DType>(p.row_dtype);
  const auto state_dtype = static_cast<DType>(p.state_dtype);
  const int64_t state_bytes = p.row * info(state_dtype).block_bytes;
  const int64_t row_bytes = p.row * info(row_dtype).block_bytes;
  // One worker: the last of equal indices wins, and rows are few.
  for (int64_t t = 0; t < p.count; ++t) {
    const int64_t i = index_at(idx0, index_dtype, t);
    const int64_t j = idx1 != nullptr ? index_at(idx1, index_dtype, t) : 0;
    if (i < 0 || i >= p.size0 || j < 0 || j >= p.size1) {
      call.report(kIndexOutOfRange);
      continue;
    }
    std::byte* to = state + (i * p.size1 + j) * state_bytes;
    const std::byte* from = rows + t * row_bytes;
    if (row_dtype == state_dtype) {
      std::memcpy(to, from, static_cast<size_t>(row_bytes));
    } else {
      for (int64_t e = 0; e < p.row; ++e)
        put_float(to, state_dtype, e, float_at(from, row_dtype, e));
    }
  }
}

}  // namespace bessemer::cpu
