// rope, and its fusion with norms and the append of keys and values to their states.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "devices/cpu/kernels.h"
#include "devices/cpu/matrix_isa.h"
#include "devices/cpu/rows.h"
#include "devices/cpu/rows_isa.h"
#include "kernel_abi/rope_params.h"

namespace bessemer::cpu {
namespace {

int64_t width_of(uint32_t dtype) { return info(static_cast<DType>(dtype)).block_bytes; }

// Cosines and sines of one token's angles. Angles are formed in double: at position 10^6 an f32
// angle would be off by 0.06.
class Angles {
 public:
  Angles(const abi::RopeParams& p, const float* factors, const RowsIsa& isa) : isa_(isa) {
    const auto pairs = static_cast<size_t>(p.n_rot / 2);
    frequency_.resize(pairs);
    turns_.resize(2 * pairs);
    const auto base = std::bit_cast<double>(p.base_bits);
    const auto scale = std::bit_cast<double>(p.scale_bits);
    const double step = std::pow(base, -2.0 / static_cast<double>(p.n_rot));
    for (size_t i = 0; i < pairs; ++i) {
      // A product of few factors: 16 roundings are far below those of an f32.
      frequency_[i] =
          i % 16 == 0
              ? scale * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(p.n_rot))
              : frequency_[i - 1] * step;
    }
    for (size_t i = 0; i < pairs; ++i) {
      if (factors != nullptr) frequency_[i] /= static_cast<double>(factors[i]);
      fastest_ = std::max(fastest_, std::abs(frequency_[i]));
    }
  }
  void set(int64_t position) {
    const auto at = static_cast<double>(position);
    const auto pairs = static_cast<int64_t>(frequency_.size());
    if (std::abs(at) * fastest_ < 0x1p30) {
      isa_.angles(frequency_.data(), pairs, at, turns_.data(), turns_.data() + pairs);
      return;
    }
    for (size_t i = 0; i < frequency_.size(); ++i) {
      turns_[i] = static_cast<float>(std::cos(at * frequency_[i]));
      turns_[frequency_.size() + i] = static_cast<float>(std::sin(at * frequency_[i]));
    }
  }
  void rotate(const abi::RopeParams& p, int64_t heads, float* rows) const {
    const auto pairs = static_cast<int64_t>(frequency_.size());
    isa_.rotate(rows, heads, p.head_dim, pairs, p.interleaved != 0, turns_.data(),
                turns_.data() + pairs);
  }

 private:
  const RowsIsa& isa_;
  std::vector<double> frequency_;
  std::vector<float> turns_;  // cosines, then sines
  double fastest_ = 0;
};

// The heads of one token on their way: read, normalised, rotated, written. Each step's result has
// the input's dtype, as if the steps were ops of their own.
class Heads {
 public:
  Heads(const KernelCall& call, const abi::RopeParams& p, int64_t most_heads)
      : p_(p), rows_(rows_isa(call.isa)), matrix_(matrix_isa(call.isa)) {
    buffer_.resize(static_cast<size_t>(most_heads * p.head_dim));
    if (p.x_dtype != static_cast<uint32_t>(DType::kF32)) {
      half_.resize(buffer_.size() * sizeof(uint16_t));
    }
  }
  void run(const std::byte* in, int64_t heads, const NormRow* norm, const Angles& angles,
           std::byte* out, uint32_t out_dtype) {
    const int64_t n = heads * p_.head_dim;
    float* x = buffer_.data();
    if (norm == nullptr) {
      rows_.widen(p_.x_dtype, in, n, x);
    } else {
      const int64_t head_bytes = p_.head_dim * width_of(p_.x_dtype);
      for (int64_t h = 0; h < heads; ++h) {
        matrix_.norm_row(*norm, in + h * head_bytes, x + h * p_.head_dim);
      }
      round(n);
    }
    angles.rotate(p_, heads, x);
    if (out_dtype != p_.x_dtype) round(n);
    rows_.narrow(out_dtype, x, n, out);
  }

 private:
  void round(int64_t n) {
    if (half_.empty()) return;
    rows_.narrow(p_.x_dtype, buffer_.data(), n, half_.data());
    rows_.widen(p_.x_dtype, half_.data(), n, buffer_.data());
  }

  const abi::RopeParams& p_;
  const RowsIsa& rows_;
  const MatrixIsa& matrix_;
  std::vector<float> buffer_;
  std::vector<std::byte> half_;
};

// A row of any float dtype as one of another.
void convert_row(const RowsIsa& rows, const std::byte* in, uint32_t in_dtype, int64_t n,
                 std::byte* out, uint32_t out_dtype) {
  const auto f32 = static_cast<uint32_t>(DType::kF32);
  if (in_dtype == out_dtype) {
    std::memcpy(out, in, static_cast<size_t>(n * width_of(in_dtype)));
  } else if (out_dtype == f32) {
    rows.widen(in_dtype, in, n, reinterpret_cast<float*>(out));
  } else if (in_dtype == f32) {
    rows.narrow(out_dtype, reinterpret_cast<const float*>(in), n, out);
  } else {
    float part[256];
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t count = std::min<int64_t>(256, n - i);
      rows.widen(in_dtype, in + 2 * i, count, part);
      rows.narrow(out_dtype, part, count, out + 2 * i);
    }
  }
}

int workers_for(const KernelCall& call, int64_t elements) {
  return elements < 32768 ? 1 : call.threads;
}

// Whether (seq, pos) rises from token to token, so that no two tokens go to the same row.
bool rising(const int32_t* seq, const int32_t* pos, int64_t tokens) {
  for (int64_t t = 1; t < tokens; ++t) {
    if (seq[t] < seq[t - 1] || (seq[t] == seq[t - 1] && pos[t] <= pos[t - 1])) return false;
  }
  return true;
}

}  // namespace

void rope(const KernelCall& call) {
  const auto& p = *static_cast<const abi::RopeParams*>(call.params);
  std::byte* const* o = call.operands;
  const std::byte* x = o[0];
  const std::byte* positions = o[1];
  const auto* factors = p.has_factors != 0 ? reinterpret_cast<const float*>(o[2]) : nullptr;
  std::byte* out = o[p.has_factors != 0 ? 3 : 2];
  const int64_t row_bytes = p.heads * p.head_dim * width_of(p.x_dtype);
  auto body = [&](int worker, int n) {
    Angles angles(p, factors, rows_isa(call.isa));
    Heads heads(call, p, p.heads);
    const Share s = share_of(p.tokens, worker, n);
    for (int64_t t = s.begin; t < s.end; ++t) {
      angles.set(index_at(positions, static_cast<DType>(p.position_dtype), t));
      heads.run(x + t * row_bytes, p.heads, nullptr, angles, out + t * row_bytes, p.x_dtype);
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
  const auto* pos = reinterpret_cast<const int32_t*>(*o++);
  const auto* seq = reinterpret_cast<const int32_t*>(*o++);
  const float* q_weight = a.has_norm != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  const float* k_weight = a.has_norm != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  const float* factors = p.has_factors != 0 ? reinterpret_cast<const float*>(*o++) : nullptr;
  std::byte* k_state = *o++;
  std::byte* v_state = *o++;
  std::byte* out = *o;
  const RowsIsa& rows = rows_isa(call.isa);
  const int64_t q_row = p.heads * p.head_dim * width_of(p.x_dtype);
  const int64_t k_elements = a.kv_heads * p.head_dim;
  const int64_t v_elements = a.kv_heads * a.v_head_dim;
  const NormRow q_norm{abi::kNormRms, p.x_dtype, p.head_dim, a.epsilon, q_weight, nullptr};
  const NormRow k_norm{abi::kNormRms, p.x_dtype, p.head_dim, a.epsilon, k_weight, nullptr};
  auto body = [&](int worker, int n) {
    Angles angles(p, factors, rows);
    Heads heads(call, p, std::max(p.heads, a.kv_heads));
    const Share s = share_of(p.tokens, worker, n);
    for (int64_t t = s.begin; t < s.end; ++t) {
      angles.set(pos[t]);
      heads.run(q + t * q_row, p.heads, a.has_norm != 0 ? &q_norm : nullptr, angles,
                out + t * q_row, p.x_dtype);
      if (pos[t] < 0 || pos[t] >= a.context || seq[t] < 0 || seq[t] >= a.sequences) {
        call.report(kIndexOutOfRange);
        continue;
      }
      const int64_t row = seq[t] * a.context + pos[t];
      heads.run(k + t * k_elements * width_of(p.x_dtype), a.kv_heads,
                a.has_norm != 0 ? &k_norm : nullptr, angles,
                k_state + row * k_elements * width_of(a.k_state_dtype), a.k_state_dtype);
      convert_row(rows, v + t * v_elements * width_of(a.v_dtype), a.v_dtype, v_elements,
                  v_state + row * v_elements * width_of(a.v_state_dtype), a.v_state_dtype);
    }
  };
  // Of tokens with the same place the last must win, and two workers would race.
  const bool apart = rising(seq, pos, p.tokens);
  call.pool.run(apart ? workers_for(call, p.tokens * p.heads * p.head_dim) : 1, body);
}

void scatter_rows(const KernelCall& call) {
  const auto& p = *static_cast<const abi::ScatterRowsParams*>(call.params);
  std::byte* const* o = call.operands;
  const std::byte* rows = o[0];
  const std::byte* idx0 = o[1];
  const std::byte* idx1 = p.n_indices == 2 ? o[2] : nullptr;
  std::byte* state = o[p.n_indices + 1];
  const auto index_dtype = static_cast<DType>(p.index_dtype);
  const int64_t state_bytes = p.row * width_of(p.state_dtype);
  const int64_t row_bytes = p.row * width_of(p.row_dtype);
  const RowsIsa& isa = rows_isa(call.isa);
  // One worker: the last of equal indices wins, and rows are few.
  for (int64_t t = 0; t < p.count; ++t) {
    const int64_t i = index_at(idx0, index_dtype, t);
    const int64_t j = idx1 != nullptr ? index_at(idx1, index_dtype, t) : 0;
    if (i < 0 || i >= p.size0 || j < 0 || j >= p.size1) {
      call.report(kIndexOutOfRange);
      continue;
    }
    convert_row(isa, rows + t * row_bytes, p.row_dtype, p.row,
                state + (i * p.size1 + j) * state_bytes, p.state_dtype);
  }
}

}  // namespace bessemer::cpu
