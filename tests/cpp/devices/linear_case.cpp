#include "linear_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "base/half.h"
#include "gguf_reference.h"

namespace bessemer::test {

double element(DType dtype, const std::vector<uint8_t>& data, int64_t i) {
  return weight_at(dtype, data.data() + bytes_of(dtype, i), 0);
}

void put_element(DType dtype, std::vector<uint8_t>& data, int64_t i, double value) {
  const auto f = static_cast<float>(value);
  uint8_t* p = data.data() + bytes_of(dtype, i);
  if (dtype == DType::kF32) {
    std::memcpy(p, &f, 4);
  } else {
    const uint16_t h = dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
    std::memcpy(p, &h, 2);
  }
}

void LinearCase::fill() {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto floats = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& f : v) f = static_cast<float>(normal(random));
    return v;
  };
  x.resize(static_cast<size_t>(bytes_of(x_dtype, m * k)));
  for (int64_t i = 0; i < m * k; ++i) put_element(x_dtype, x, i, normal(random) + 0.25);
  norm_weight = floats(k);
  norm_bias_values = floats(k);
  w.clear();
  bias_values.clear();
  for (size_t i = 0; i < n.size(); ++i) {
    std::vector<uint8_t> all;
    for (int64_t j = 0; j < n[i]; ++j) {
      const std::vector<uint8_t> row = random_row(weights[i], k, random);
      all.insert(all.end(), row.begin(), row.end());
    }
    w.push_back(all);
    bias_values.push_back(floats(n[i]));
  }
  residual_values.resize(static_cast<size_t>(bytes_of(out_dtype, m * n[0])));
  for (int64_t i = 0; i < m * n[0]; ++i) put_element(out_dtype, residual_values, i, normal(random));
}

abi::LinearParams LinearCase::params() const {
  abi::LinearParams p{};
  p.m = m;
  p.k = k;
  p.n_weights = static_cast<uint32_t>(n.size());
  for (size_t i = 0; i < n.size(); ++i) {
    p.n[i] = n[i];
    p.weight_dtype[i] = static_cast<uint32_t>(weights[i]);
  }
  p.x_dtype = static_cast<uint32_t>(x_dtype);
  p.out_dtype = static_cast<uint32_t>(out_dtype);
  p.norm = norm;
  p.has_norm_bias = norm_bias;
  p.has_bias = bias;
  p.activation = activation;
  p.gated = gated;
  p.has_residual = residual;
  p.int8_activations = int8;
  p.norm_epsilon = 1e-5f;
  return p;
}

std::vector<std::vector<uint8_t>> LinearCase::run(cpu::Isa isa, ThreadPool& pool,
                                                  int threads) const {
  constexpr size_t kGuard = 64;
  const abi::LinearParams p = params();
  std::vector<std::byte*> operands;
  const auto in = [&](const void* data) {
    operands.push_back(const_cast<std::byte*>(static_cast<const std::byte*>(data)));
  };
  in(x.data());
  if (norm != abi::kNormNone) in(norm_weight.data());
  if (norm_bias) in(norm_bias_values.data());
  // Weights end where their memory ends (so that ASan sees a read past them) and start at odd
  // multiples of two bytes, as anything in a mapped file may.
  std::vector<std::unique_ptr<uint8_t[]>> copies;
  for (const std::vector<uint8_t>& data : w) {
    const size_t shift =
        p.weight_dtype[copies.size()] == static_cast<uint32_t>(DType::kF32) ? 4 : 2;
    copies.push_back(std::make_unique<uint8_t[]>(data.size() + shift));
    std::copy(data.begin(), data.end(), copies.back().get() + shift);
    in(copies.back().get() + shift);
  }
  if (bias) {
    for (const std::vector<float>& data : bias_values) in(data.data());
  }
  if (residual) in(residual_values.data());
  std::vector<std::vector<uint8_t>> out;
  for (int i = 0; i < outputs(); ++i) {
    out.emplace_back(
        static_cast<size_t>(bytes_of(out_dtype, m * n[static_cast<size_t>(i)])) + kGuard,
        uint8_t{0xa5});
  }
  for (auto& data : out) in(data.data());
  const auto scratch_bytes = static_cast<size_t>(abi::linear_scratch_bytes(p));
  std::vector<uint8_t> scratch_memory(scratch_bytes + 128, uint8_t{0xff});
  uint8_t* scratch = scratch_memory.data();
  while (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) ++scratch;
  in(scratch);

  const cpu::KernelFn linear = cpu::find_kernel("linear__test");
  linear({&p, operands.data(), pool, threads, isa});

  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(scratch[scratch_bytes + i], 0xff) << name();
  for (auto& data : out) {
    for (size_t i = 0; i < kGuard; ++i) EXPECT_EQ(data[data.size() - 1 - i], 0xa5) << name();
    data.resize(data.size() - kGuard);
  }
  return out;
}

namespace {

double activated(abi::Activation activation, double v) {
  switch (activation) {
    case abi::kActSilu:
      return v / (1 + std::exp(-v));
    case abi::kActGeluErf:
      return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    case abi::kActGeluTanh:
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    case abi::kActRelu:
      return std::isnan(v) ? v : std::max(v, 0.0);
    case abi::kActSigmoid:
      return 1 / (1 + std::exp(-v));
    case abi::kActTanh:
      return std::tanh(v);
    default:
      return v;
  }
}

// x as the kernel is to see it: normalised, and for int8 rounded to 32512 steps of each block's
// largest magnitude. `step` is the size of a step of each element, where int8 (0 otherwise).
void prepare(const LinearCase& c, int64_t row, std::vector<double>& v, std::vector<double>& step) {
  v.resize(static_cast<size_t>(c.k));
  step.assign(static_cast<size_t>(c.k), 0.0);
  for (int64_t i = 0; i < c.k; ++i)
    v[static_cast<size_t>(i)] = element(c.x_dtype, c.x, row * c.k + i);
  if (c.norm != abi::kNormNone) {
    double mean = 0;
    double square = 0;
    if (c.norm == abi::kNormLayer) {
      for (const double a : v) mean += a / static_cast<double>(c.k);
    }
    for (const double a : v) square += (a - mean) * (a - mean) / static_cast<double>(c.k);
    for (size_t i = 0; i < v.size(); ++i) {
      v[i] = (v[i] - mean) / std::sqrt(square + 1e-5f) * c.norm_weight[i];
      if (c.norm_bias) v[i] += c.norm_bias_values[i];
    }
  }
  if (!c.int8) return;
  for (size_t i = 0; i < v.size(); i += 32) {
    float most = 0;
    for (size_t j = i; j < i + 32; ++j) most = std::max(most, std::fabs(static_cast<float>(v[j])));
    const float to_steps = 32512.0f / most;
    const float size = most / 32512.0f;
    for (size_t j = i; j < i + 32; ++j) {
      if (!(most > 0)) continue;
      v[j] = size * std::nearbyint(static_cast<float>(v[j]) * to_steps);
      step[j] = size;
    }
  }
}

}  // namespace

std::vector<std::vector<LinearCase::Answer>> LinearCase::expected() const {
  std::vector<std::vector<Answer>> products(n.size());
  for (size_t i = 0; i < n.size(); ++i) {
    const int64_t row_bytes = bytes_of(weights[i], k);
    // With a norm before it, int8 rounding may fall to the other side for some elements.
    const double flips = norm != abi::kNormNone || x_dtype != DType::kF32 ? 0.05 : 0;
    std::vector<double> v;
    std::vector<double> step;
    LinearCase as_seen = *this;
    as_seen.int8 = int8 && is_quantised(weights[i]);
    std::vector<double> row(static_cast<size_t>(k));
    std::vector<std::vector<double>> dense;
    for (int64_t j = 0; j < n[i]; ++j) {
      for (int64_t e = 0; e < k; ++e) {
        row[static_cast<size_t>(e)] = weight_at(weights[i], w[i].data() + j * row_bytes, e);
      }
      dense.push_back(row);
    }
    for (int64_t r = 0; r < m; ++r) {
      prepare(as_seen, r, v, step);
      for (const std::vector<double>& column : dense) {
        double total = 0;
        double size = 0;
        double flipped = 0;
        for (size_t e = 0; e < v.size(); ++e) {
          total += v[e] * column[e];
          size += std::fabs(v[e] * column[e]);
          flipped += step[e] * std::fabs(column[e]);
        }
        const size_t at = products[i].size() % static_cast<size_t>(n[i]);
        if (bias) total += bias_values[i][at];
        products[i].push_back(
            {total, 4e-6 * size + flips * flipped + 1e-6 * std::fabs(total) + 1e-6});
      }
    }
  }
  const double ulp = out_dtype == DType::kF32 ? 1e-6 : out_dtype == DType::kF16 ? 1e-3 : 8e-3;
  for (size_t i = 0; i < static_cast<size_t>(outputs()); ++i) {
    for (size_t e = 0; e < products[i].size(); ++e) {
      Answer& a = products[i][e];
      a.value = activated(activation, a.value);
      a.slack *= 1.2;  // no activation is steeper
      if (gated) {
        const Answer& g = products[1][e];
        a.slack = a.slack * (std::fabs(g.value) + g.slack) + g.slack * std::fabs(a.value);
        a.value *= g.value;
      }
      if (residual) a.value += element(out_dtype, residual_values, static_cast<int64_t>(e));
      a.slack += ulp * std::fabs(a.value);
    }
  }
  products.resize(static_cast<size_t>(outputs()));
  return products;
}

std::string LinearCase::name() const {
  std::string s = "m=" + std::to_string(m) + " k=" + std::to_string(k);
  for (size_t i = 0; i < n.size(); ++i) {
    s += " " + std::string(to_string(weights[i])) + "[" + std::to_string(n[i]) + "]";
  }
  s += " x=" + std::string(to_string(x_dtype)) + " out=" + std::string(to_string(out_dtype));
  s += " norm=" + std::to_string(norm) + " act=" + std::to_string(activation);
  if (bias) s += " bias";
  if (gated) s += " gated";
  if (residual) s += " residual";
  if (int8) s += " int8";
  return s;
}

void expect_answers(const LinearCase& c, cpu::Isa isa,
                    const std::vector<std::vector<uint8_t>>& got) {
  const auto expected = c.expected();
  int shown = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t e = 0; e < expected[i].size() && shown < 3; ++e) {
      const double value = element(c.out_dtype, got[i], static_cast<int64_t>(e));
      const auto& [want, slack] = expected[i][e];
      if (!(std::fabs(value - want) <= slack)) {
        ADD_FAILURE() << c.name() << " on " << cpu::to_string(isa) << ": output " << i << " row "
                      << e / static_cast<size_t>(c.n[i]) << " column "
                      << e % static_cast<size_t>(c.n[i]) << " is " << value << ", not " << want
                      << " +- " << slack;
        ++shown;
      }
    }
  }
}

std::vector<cpu::Isa> available_isas() {
  std::vector<cpu::Isa> isas;
  for (const cpu::Isa isa : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512,
                             cpu::Isa::kAvx512Vnni, cpu::Isa::kNeon}) {
    if (cpu::isa_available(isa)) isas.push_back(isa);
  }
  return isas;
}

}  // namespace bessemer::test
