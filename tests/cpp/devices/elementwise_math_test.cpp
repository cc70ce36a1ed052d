// The functions behind the table's rows against double, over samples of all f32 values, by
// instruction set: error in units in the last place, special values, and equal bits everywhere.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernel_abi/elementwise_params.h"
#include "run_graph.h"

namespace bessemer {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<cpu::Isa> all_isas() {
  std::vector<cpu::Isa> isas;
  for (cpu::Isa isa : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    if (cpu::isa_available(isa)) isas.push_back(isa);
  }
  return isas;
}

std::vector<float> run_op(uint16_t op, const std::vector<std::vector<float>>& inputs,
                          cpu::Isa isa) {
  abi::ElementwiseParams p{};
  p.rank = 1;
  p.dims[0] = static_cast<int64_t>(inputs[0].size());
  p.n_inputs = static_cast<uint32_t>(inputs.size());
  p.n_outputs = 1;
  p.n_instrs = 1;
  for (size_t i = 0; i < inputs.size(); ++i) p.strides[i][0] = 1;
  p.output_value[0] = static_cast<uint8_t>(inputs.size());
  p.program[0] = {op, 0, 0, {0, static_cast<uint8_t>(inputs.size() > 1 ? 1 : 0), 0}, 0};
  std::vector<float> out(inputs[0].size());
  std::vector<std::byte*> operands;
  for (const auto& input : inputs) {
    operands.push_back(reinterpret_cast<std::byte*>(const_cast<float*>(input.data())));
  }
  operands.push_back(reinterpret_cast<std::byte*>(out.data()));
  ThreadPool pool(1);
  cpu::find_kernel("elementwise")({&p, operands.data(), pool, 1, isa});
  return out;
}

// Distance of `got` from the exact value in units of the last place of the f32 next to it.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kInf;
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : kInf;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -125) - 24);
  return std::abs(static_cast<double>(got) - exact) / unit;
}

struct Function {
  const char* name;
  uint16_t op;
  double (*exact)(double);
  double most_ulps;
};

const Function kFunctions[] = {
    {"exp", abi::kElementwise_exp, [](double x) { return std::exp(x); }, 1.01},
    {"exp2", abi::kElementwise_exp2, [](double x) { return std::exp2(x); }, 0.51},
    {"expm1", abi::kElementwise_expm1, [](double x) { return std::expm1(x); }, 0.51},
    {"log", abi::kElementwise_log, [](double x) { return std::log(x); }, 0.51},
    {"log2", abi::kElementwise_log2, [](double x) { return std::log2(x); }, 0.51},
    {"log10", abi::kElementwise_log10, [](double x) { return std::log10(x); }, 0.51},
    {"log1p", abi::kElementwise_log1p, [](double x) { return std::log1p(x); }, 0.51},
    {"sin", abi::kElementwise_sin, [](double x) { return std::sin(x); }, 0.51},
    {"cos", abi::kElementwise_cos, [](double x) { return std::cos(x); }, 0.51},
    {"tan", abi::kElementwise_tan, [](double x) { return std::tan(x); }, 0.51},
    {"asin", abi::kElementwise_asin, [](double x) { return std::asin(x); }, 0.51},
    {"acos", abi::kElementwise_acos, [](double x) { return std::acos(x); }, 0.51},
    {"atan", abi::kElementwise_atan, [](double x) { return std::atan(x); }, 0.51},
    {"sinh", abi::kElementwise_sinh, [](double x) { return std::sinh(x); }, 0.51},
    {"cosh", abi::kElementwise_cosh, [](double x) { return std::cosh(x); }, 0.51},
    {"tanh", abi::kElementwise_tanh, [](double x) { return std::tanh(x); }, 1.6},
    {"erf", abi::kElementwise_erf, [](double x) { return std::erf(x); }, 1.3},
    {"sqrt", abi::kElementwise_sqrt, [](double x) { return std::sqrt(x); }, 0.51},
    {"rsqrt", abi::kElementwise_rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.51},
};

std::vector<float> sample_of_all_floats(uint32_t step) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += step) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float v : {0.0f,          -0.0f,          1.0f,     -1.0f,   INFINITY,   -INFINITY,  NAN,
                  0.5f,          -0.5f,          88.7228f, 88.73f,  -87.33f,    -103.9f,    -104.1f,
                  3.4028235e38f, -3.4028235e38f, 1e-45f,   -1e-45f, 1048575.9f, 1048576.0f, 0.625f,
                  0.9375f,       3.95f,          8.0f,     1000.0f, 2.0f}) {
    values.push_back(v);
  }
  // Dense where functions turn.
  for (float x = -12.0f; x < 12.0f; x += 0.000317f) values.push_back(x);
  return values;
}

TEST(ElementwiseMath, IsWithinTheDocumentedErrorOnEveryInstructionSet) {
  const std::vector<float> x = sample_of_all_floats(40009);
  for (const Function& f : kFunctions) {
    std::vector<float> first;
    for (const cpu::Isa isa : all_isas()) {
      const std::vector<float> y = run_op(f.op, {x}, isa);
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double e = ulps(y[i], f.exact(static_cast<double>(x[i])));
        if (e > worst) {
          worst = e;
          at = x[i];
        }
      }
      EXPECT_LE(worst, f.most_ulps) << f.name << " at " << at << " on " << to_string(isa);
      RecordProperty(std::string(f.name) + "_ulps", std::to_string(worst));
      if (first.empty()) {
        first = y;
        std::printf("%-6s %.3f ulp at %g\n", f.name, worst, static_cast<double>(at));
      }
      for (size_t i = 0; i < x.size(); ++i) {
        const bool both_nan = std::isnan(y[i]) && std::isnan(first[i]);
        ASSERT_TRUE(both_nan || std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(first[i]))
            << f.name << "(" << x[i] << ") differs on " << to_string(isa);
      }
    }
  }
}

TEST(ElementwiseMath, KeepsTheSignOfZero) {
  for (const char* name : {"sin", "tan", "asin", "atan", "sinh", "tanh", "erf", "expm1", "log1p"}) {
    for (const Function& f : kFunctions) {
      if (std::string(f.name) != name) continue;
      const std::vector<float> y = run_op(f.op, {{-0.0f, 0.0f}}, cpu::Isa::kGeneric);
      EXPECT_TRUE(std::signbit(y[0]) && y[0] == 0) << name;
      EXPECT_TRUE(!std::signbit(y[1]) && y[1] == 0) << name;
    }
  }
}

struct Function2 {
  const char* name;
  uint16_t op;
  double (*exact)(double, double);
};

TEST(ElementwiseMath, OfTwoArguments) {
  const Function2 functions[] = {
      {"pow", abi::kElementwise_pow, [](double x, double y) { return std::pow(x, y); }},
      {"atan2", abi::kElementwise_atan2, [](double x, double y) { return std::atan2(x, y); }},
      {"hypot", abi::kElementwise_hypot, [](double x, double y) { return std::hypot(x, y); }},
  };
  std::vector<float> x;
  std::vector<float> y;
  const std::vector<float> special = {
      0.0f, -0.0f,  1.0f,        -1.0f,       2.0f,        -2.0f,        0.5f,       -0.5f,
      3.0f, -3.0f,  INFINITY,    -INFINITY,   NAN,         1e30f,        1e-30f,     -1e30f,
      1.5f, 1e-42f, 16777217.0f, 33554432.0f, 16777215.0f, -16777215.0f, 1.0000001f, 0.99999994f};
  for (float a : special) {
    for (float b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  uint32_t state = 7;
  const auto random = [&state] { return state = state * 1664525u + 1013904223u; };
  for (int i = 0; i < 200000; ++i) {
    const uint32_t a = random();
    const uint32_t b = random();
    x.push_back(i % 2 == 0 ? std::bit_cast<float>(a) : static_cast<float>(a >> 8) * 1e-6f);
    y.push_back(i % 2 == 0 ? std::bit_cast<float>(b)
                           : static_cast<float>(static_cast<int32_t>(b)) * 1e-8f);
  }
  for (const Function2& f : functions) {
    for (const cpu::Isa isa : all_isas()) {
      const std::vector<float> z = run_op(f.op, {x, y}, isa);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = f.exact(static_cast<double>(x[i]), static_cast<double>(y[i]));
        ASSERT_LE(ulps(z[i], exact), 0.51)
            << f.name << "(" << x[i] << ", " << y[i] << ") = " << z[i] << ", not " << exact;
        if (exact == 0) {
          ASSERT_EQ(std::signbit(z[i]), std::signbit(exact))
              << f.name << "(" << x[i] << ", " << y[i] << ")";
        }
      }
    }
  }
}

}  // namespace
}  // namespace bessemer
