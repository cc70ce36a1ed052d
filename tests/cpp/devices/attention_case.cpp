#include "attention_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "one_op.h"

namespace bessemer::testing {
void AttentionCase::fill(uint32_t seed) {
  const auto rows = static_cast<size_t>(std::max<int64_t>(sequences, 1) * keys * kv_heads);
  const auto n = static_cast<size_t>(tokens());
  q = rounded(q_dtype, normal_values(n * static_cast<size_t>(heads * head_dim), seed));
  k = rounded(k_dtype, normal_values(rows * static_cast<size_t>(head_dim), seed + 1));
  v = rounded(v_dtype, normal_values(rows * static_cast<size_t>(v_head_dim), seed + 2));
  if (bias_heads > 0) {
    bias =
        rounded(DType::kF32, normal_values(n * static_cast<size_t>(bias_heads * keys), seed + 3));
  }
  if (mask) {
    std::mt19937 random(seed + 4);
    mask_values.resize(n * static_cast<size_t>(keys));
    for (uint8_t& m : mask_values) m = random() % 3 != 0 ? 1 : 0;
  }
}

AttentionCase AttentionCase::with_tokens(const std::vector<size_t>& which) const {
  AttentionCase c = *this;
  c.seq.clear();
  c.pos.clear();
  c.q.clear();
  c.bias.clear();
  c.mask_values.clear();
  const auto row = static_cast<ptrdiff_t>(heads * head_dim);
  for (size_t t : which) {
    const auto at = static_cast<ptrdiff_t>(t);
    c.seq.push_back(seq[t]);
    c.pos.push_back(pos[t]);
    c.q.insert(c.q.end(), q.begin() + at * row, q.begin() + (at + 1) * row);
    if (mask) {
      c.mask_values.insert(c.mask_values.end(), mask_values.begin() + at * keys,
                           mask_values.begin() + (at + 1) * keys);
    }
  }
  for (int64_t h = 0; h < bias_heads; ++h) {
    for (size_t t : which) {
      const auto at = static_cast<ptrdiff_t>(h * tokens() + static_cast<int64_t>(t));
      c.bias.insert(c.bias.end(), bias.begin() + at * keys, bias.begin() + (at + 1) * keys);
    }
  }
  return c;
}

Bytes AttentionCase::run(cpu::Isa isa, int threads, uint32_t* fault) const {
  Build b;
  std::vector<Value> operands;
  const auto leaf = [&](const char* name, DType dtype, Shape shape, Bytes bytes) {
    operands.push_back(b.input(name, dtype, std::move(shape), std::move(bytes)));
  };
  const Dim n(tokens());
  leaf("q", q_dtype, {n, heads, head_dim}, encode(q_dtype, q));
  if (sequences > 0) {
    leaf("k", k_dtype, {sequences, keys, kv_heads, head_dim}, encode(k_dtype, k));
    leaf("v", v_dtype, {sequences, keys, kv_heads, v_head_dim}, encode(v_dtype, v));
  } else {
    leaf("k", k_dtype, {keys, kv_heads, head_dim}, encode(k_dtype, k));
    leaf("v", v_dtype, {keys, kv_heads, v_head_dim}, encode(v_dtype, v));
  }
  leaf("seq", DType::kI32, {n}, to_bytes(seq));
  leaf("pos", DType::kI32, {n}, to_bytes(pos));
  if (sequences == 0) {
    leaf("k_seq", DType::kI32, {keys}, to_bytes(k_seq));
    leaf("k_pos", DType::kI32, {keys}, to_bytes(k_pos));
  }
  Attrs attrs{{"causal", causal}, {"window", window}, {"softcap", softcap}, {"scale", scale}};
  if (mask) {
    leaf("mask", DType::kBool, {n, keys}, to_bytes(mask_values));
    attrs.set("has_mask", true);
  }
  if (bias_heads > 0) {
    leaf("bias", DType::kF32, {bias_heads, n, keys}, encode(DType::kF32, bias));
    attrs.set("has_bias", true);
  }
  b.output("out", b.op(Op::k_attention, operands, attrs));
  const RunResult result = b.run(isa, threads);
  if (fault != nullptr) *fault = result.fault;
  const auto out = result.outputs.find("out");
  return out == result.outputs.end() ? Bytes{} : out->second;
}

bool AttentionCase::sees(int64_t token, int64_t key) const {
  const auto t = static_cast<size_t>(token);
  const auto j = static_cast<size_t>(key);
  if (mask && mask_values[t * static_cast<size_t>(keys) + j] == 0) return false;
  int64_t key_pos = key;
  if (sequences == 0) {
    if (k_seq[j] != seq[t]) return false;
    key_pos = k_pos[j];
  } else if (seq[t] < 0 || seq[t] >= sequences || pos[t] < 0 || pos[t] >= keys) {
    return false;
  }
  const int64_t behind = int64_t{pos[t]} - key_pos;
  if (causal && behind < 0) return false;
  return window == 0 || std::abs(behind) < window;
}

std::vector<double> AttentionCase::expected() const {
  std::vector<double> out;
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(head_dim));
  for (int64_t t = 0; t < tokens(); ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = h / (heads / kv_heads);
      const int64_t base =
          sequences > 0 ? std::clamp<int64_t>(seq[static_cast<size_t>(t)], 0, sequences - 1) * keys
                        : 0;
      std::vector<double> scores(static_cast<size_t>(keys));
      double most = -std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < keys; ++j) {
        if (!sees(t, j)) continue;
        double s = 0;
        for (int64_t d = 0; d < head_dim; ++d) {
          s += q[static_cast<size_t>((t * heads + h) * head_dim + d)] *
               k[static_cast<size_t>(((base + j) * kv_heads + g) * head_dim + d)];
        }
        s *= factor;
        if (softcap != 0) s = softcap * std::tanh(s / softcap);
        if (bias_heads > 0) {
          const int64_t bh = bias_heads == 1 ? 0 : h;
          s += bias[static_cast<size_t>((bh * tokens() + t) * keys + j)];
        }
        scores[static_cast<size_t>(j)] = s;
        if (s > most) most = s;
      }
      double sum = 0;
      std::vector<double> row(static_cast<size_t>(v_head_dim), 0.0);
      for (int64_t j = 0; j < keys; ++j) {
        if (!sees(t, j)) continue;
        const double s = scores[static_cast<size_t>(j)];
        const double w =
            s == -std::numeric_limits<double>::infinity() && most == s ? 0.0 : std::exp(s - most);
        sum += w;
        for (int64_t d = 0; d < v_head_dim; ++d) {
          row[static_cast<size_t>(d)] +=
              w * v[static_cast<size_t>(((base + j) * kv_heads + g) * v_head_dim + d)];
        }
      }
      for (double& r : row) out.push_back(sum == 0 ? 0.0 : r / sum);
    }
  }
  return out;
}

std::optional<std::string> compare(const AttentionCase& c, const Bytes& got) {
  const std::vector<double> want = c.expected();
  const std::vector<double> have = decode(c.q_dtype, got);
  if (want.size() != have.size()) return "sizes differ";
  for (size_t i = 0; i < want.size(); ++i) {
    const double slack =
        3e-6 + 2e-6 * std::abs(want[i]) + 1.01 * half_ulp(c.q_dtype) * std::abs(want[i]);
    const bool same =
        std::isnan(want[i]) ? std::isnan(have[i]) : std::abs(want[i] - have[i]) <= slack;
    if (!same) {
      return "element " + std::to_string(i) + ": " + std::to_string(have[i]) + ", expected " +
             std::to_string(want[i]);
    }
  }
  return std::nullopt;
}

}  // namespace bessemer::testing
