// Elementwise ops, casts and regions from graph to bytes, against scalar double and int64 code.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "base/half.h"
#include "kernel_abi/elementwise_params.h"
#include "ops/region.h"
#include "run_graph.h"

namespace bessemer {
namespace {

using testing::Bytes;
using testing::run_graph;
using testing::RunOptions;
using testing::to_bytes;

// Values of any dtype as doubles or int64 and back.
double read_float(DType d, const std::byte* p) {
  switch (d) {
    case DType::kF32: {
      float v;
      std::memcpy(&v, p, 4);
      return static_cast<double>(v);
    }
    case DType::kF64: {
      double v;
      std::memcpy(&v, p, 8);
      return v;
    }
    default: {
      uint16_t h;
      std::memcpy(&h, p, 2);
      return static_cast<double>(d == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h));
    }
  }
}

int64_t read_int(DType d, const std::byte* p) {
  const auto bytes = static_cast<size_t>(info(d).block_bytes);
  uint64_t u = 0;
  std::memcpy(&u, p, bytes);
  const bool is_signed = d != DType::kU8 && d != DType::kU32 && d != DType::kBool;
  if (is_signed && bytes < 8 && ((u >> (8 * bytes - 1)) & 1) != 0) u |= ~uint64_t{0} << (8 * bytes);
  return static_cast<int64_t>(u);
}

void write_int(DType d, int64_t v, std::byte* p) {
  std::memcpy(p, &v, static_cast<size_t>(info(d).block_bytes));
}

void write_float(DType d, double v, std::byte* p) {
  const auto f = static_cast<float>(v);
  const uint16_t h = d == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
  if (d == DType::kF64) {
    std::memcpy(p, &v, 8);
  } else if (d == DType::kF32) {
    std::memcpy(p, &f, 4);
  } else {
    std::memcpy(p, &h, 2);
  }
}

struct Oracle {
  std::function<double(double, double, double)> f;      // empty: not for floats
  std::function<int64_t(int64_t, int64_t, int64_t)> i;  // empty: not for integers
  double low = -4;
  double high = 4;
};

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
int64_t floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (x == INT64_MIN && y == -1) return INT64_MIN;
  return x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0);
}

#define F1(expr) [](double x, double, double) -> double { return expr; }
#define F2(expr) [](double x, double y, double) -> double { return expr; }
#define F3(expr) [](double x, double y, double z) -> double { return expr; }
#define I1(expr) [](int64_t x, int64_t, int64_t) -> int64_t { return expr; }
#define I2(expr) [](int64_t x, int64_t y, int64_t) -> int64_t { return expr; }
#define I3(expr) [](int64_t x, int64_t y, int64_t z) -> int64_t { return expr; }
#define U(x) static_cast<uint64_t>(x)

const std::map<std::string, Oracle>& oracles() {
  static const std::map<std::string, Oracle> all = {
      {"abs", {F1(std::abs(x)), I1(x < 0 ? int64_t(0 - U(x)) : x)}},
      {"negative", {F1(-x), I1(int64_t(0 - U(x)))}},
      {"sign",
       {F1(x > 0   ? 1
           : x < 0 ? -1
                   : x),
        I1((x > 0) - (x < 0))}},
      {"floor", {F1(std::floor(x)), {}}},
      {"ceil", {F1(std::ceil(x)), {}}},
      {"round", {F1(std::nearbyint(x)), {}}},
      {"trunc", {F1(std::trunc(x)), {}}},
      {"sqrt", {F1(std::sqrt(x)), {}, 0, 100}},
      {"rsqrt", {F1(1 / std::sqrt(x)), {}, 0.01, 100}},
      {"reciprocal", {F1(1 / x), {}}},
      {"square", {F1(x * x), I1(int64_t(U(x) * U(x)))}},
      {"exp", {F1(std::exp(x)), {}}},
      {"exp2", {F1(std::exp2(x)), {}}},
      {"expm1", {F1(std::expm1(x)), {}}},
      {"log", {F1(std::log(x)), {}, 0.01, 50}},
      {"log2", {F1(std::log2(x)), {}, 0.01, 50}},
      {"log10", {F1(std::log10(x)), {}, 0.01, 50}},
      {"log1p", {F1(std::log1p(x)), {}, -0.9, 50}},
      {"sin", {F1(std::sin(x)), {}, -30, 30}},
      {"cos", {F1(std::cos(x)), {}, -30, 30}},
      {"tan", {F1(std::tan(x)), {}, -1.4, 1.4}},
      {"asin", {F1(std::asin(x)), {}, -1, 1}},
      {"acos", {F1(std::acos(x)), {}, -1, 1}},
      {"atan", {F1(std::atan(x)), {}}},
      {"sinh", {F1(std::sinh(x)), {}}},
      {"cosh", {F1(std::cosh(x)), {}}},
      {"tanh", {F1(std::tanh(x)), {}}},
      {"erf", {F1(std::erf(x)), {}}},
      {"sigmoid", {F1(1 / (1 + std::exp(-x))), {}}},
      {"relu", {F1(x < 0 ? 0 : x), I1(x < 0 ? 0 : x)}},
      {"relu6", {F1(std::min(std::max(x, 0.0), 6.0)), {}, -3, 9}},
      {"gelu", {F1(0.5 * x * std::erfc(-x / std::sqrt(2.0))), {}}},
      {"gelu_tanh", {F1(gelu_tanh(x)), {}}},
      {"silu", {F1(x / (1 + std::exp(-x))), {}}},
      {"softplus", {F1(std::log1p(std::exp(x))), {}, -20, 20}},
      {"elu", {F1(x > 0 ? x : std::expm1(x)), {}}},
      {"selu",
       {F1(1.0507009873554804935 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x))), {}}},
      {"hard_sigmoid", {F1(std::min(std::max(x / 6 + 0.5, 0.0), 1.0)), {}, -5, 5}},
      {"hard_swish", {F1(x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0)), {}, -5, 5}},
      {"mish", {F1(x * std::tanh(std::log1p(std::exp(x)))), {}}},
      {"softsign", {F1(x / (1 + std::abs(x))), {}}},
      {"logical_not", {{}, I1(x == 0)}},
      {"bitwise_not", {{}, I1(~x)}},
      {"isnan", {F1(std::isnan(x)), {}}},
      {"isinf", {F1(std::isinf(x)), {}}},
      {"isfinite", {F1(std::isfinite(x)), {}}},
      {"add", {F2(x + y), I2(int64_t(U(x) + U(y)))}},
      {"subtract", {F2(x - y), I2(int64_t(U(x) - U(y)))}},
      {"multiply", {F2(x * y), I2(int64_t(U(x) * U(y)))}},
      {"divide", {F2(x / y), {}}},
      {"floor_divide", {F2(std::floor(double(float(x) / float(y)))), I2(floor_div(x, y))}},
      {"remainder",
       {F2(x - std::floor(x / y) * y), I2(y == 0 ? 0 : int64_t(U(x) - U(floor_div(x, y)) * U(y)))}},
      {"pow", {F2(std::pow(x, y)), {}, 0.1, 4}},  // integers: a test of their own
      {"maximum", {F2(std::max(x, y)), I2(std::max(x, y))}},
      {"minimum", {F2(std::min(x, y)), I2(std::min(x, y))}},
      {"atan2", {F2(std::atan2(x, y)), {}}},
      {"hypot", {F2(std::hypot(x, y)), {}}},
      {"bitwise_and", {{}, I2(x & y)}},
      {"bitwise_or", {{}, I2(x | y)}},
      {"bitwise_xor", {{}, I2(x ^ y)}},
      {"left_shift", {{}, I2(U(y) < 64 ? int64_t(U(x) << y) : 0)}},
      {"right_shift", {{}, I2(U(y) < 64 ? x >> y : (x < 0 ? -1 : 0))}},
      {"logical_and", {{}, I2(x != 0 && y != 0)}},
      {"logical_or", {{}, I2(x != 0 || y != 0)}},
      {"logical_xor", {{}, I2((x != 0) != (y != 0))}},
      {"equal", {F2(x == y), I2(x == y)}},
      {"not_equal", {F2(x != y), I2(x != y)}},
      {"less", {F2(x < y), I2(x < y)}},
      {"less_equal", {F2(x <= y), I2(x <= y)}},
      {"greater", {F2(x > y), I2(x > y)}},
      {"greater_equal", {F2(x >= y), I2(x >= y)}},
      {"where", {F3(x != 0 ? y : z), I3(x != 0 ? y : z)}},
      {"clamp",
       {F3(x < y   ? y
           : x > z ? z
                   : x),
        I3(x < y   ? y
           : x > z ? z
                   : x)}},
      {"fma", {F3(x * y + z), {}}},
  };
  return all;
}

const DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
const DType kInts[] = {DType::kI8,  DType::kU8,  DType::kI16, DType::kI32,
                       DType::kI64, DType::kU32, DType::kBool};

Bytes random_bytes(DType d, int64_t n, const Oracle& o, std::mt19937& rng) {
  Bytes data(static_cast<size_t>(bytes_of(d, n)));
  std::uniform_real_distribution<double> real(o.low, o.high);
  for (int64_t i = 0; i < n; ++i) {
    std::byte* p = data.data() + bytes_of(d, i);
    if (is_float(d)) {
      write_float(d, rng() % 8 == 0 ? std::round(real(rng)) : real(rng), p);
    } else if (d == DType::kBool) {
      write_int(d, rng() % 2, p);
    } else {
      const uint64_t wide = (uint64_t{rng()} << 32) | rng();
      write_int(d, rng() % 2 == 0 ? static_cast<int64_t>(wide) : static_cast<int64_t>(rng() % 9),
                p);
    }
  }
  return data;
}

int64_t count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

Shape dims(const std::vector<int64_t>& shape) { return Shape(shape.begin(), shape.end()); }

// The element of an operand that belongs to element i of the result.
int64_t source_index(int64_t i, const std::vector<int64_t>& shape,
                     const std::vector<int64_t>& result) {
  int64_t index = 0;
  int64_t stride = 1;
  for (size_t k = 0; k < result.size(); ++k) {
    const size_t axis = result.size() - 1 - k;
    const int64_t at = i % result[axis];
    i /= result[axis];
    if (k >= shape.size()) continue;
    const int64_t size = shape[shape.size() - 1 - k];
    if (size != 1) index += at * stride;
    stride *= size;
  }
  return index;
}

void check(Op op, DType dtype, const std::vector<std::vector<int64_t>>& shapes,
           const std::vector<int64_t>& result_shape, cpu::Isa isa, int threads = 1) {
  const Oracle& oracle = oracles().at(std::string(to_string(op)));
  std::mt19937 rng(static_cast<uint32_t>(op) * 31 + static_cast<uint32_t>(dtype));
  Graph g;
  std::vector<Value> operands;
  std::map<std::string, Bytes> leaves;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool condition = info(op).rule == TypeRule::kSelect && i == 0;
    dtypes.push_back(condition ? DType::kBool : dtype);
    const std::string name(1, static_cast<char>('a' + i));
    operands.push_back(*ops::add_leaf(g, Op::k_input, name, {dtypes[i], dims(shapes[i])}));
    leaves[name] = random_bytes(dtypes[i], count(shapes[i]), oracle, rng);
  }
  const auto v = ops::add_node(g, op, operands);
  ASSERT_TRUE(v.ok()) << v.error().to_string();
  ASSERT_TRUE(g.add_output("out", *v).ok());
  const Type type = g.type(*v);
  ASSERT_EQ(type.shape, dims(result_shape));
  RunOptions options;
  options.isa = isa;
  options.threads = threads;
  const auto run = run_graph(g, leaves, options);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  const Bytes& out = run->outputs.at("out");
  for (int64_t i = 0; i < count(result_shape); ++i) {
    const std::byte* got = out.data() + bytes_of(type.dtype, i);
    const std::byte* at[3] = {};
    for (size_t k = 0; k < shapes.size(); ++k) {
      const std::string name(1, static_cast<char>('a' + k));
      at[k] = leaves[name].data() + bytes_of(dtypes[k], source_index(i, shapes[k], result_shape));
    }
    const std::string what = std::string(to_string(op)) + " " + std::string(to_string(dtype)) +
                             " at " + std::to_string(i) + " on " + std::string(to_string(isa));
    if (is_float(dtype)) {
      double in[3] = {};
      for (size_t k = 0; k < shapes.size(); ++k) {
        in[k] = is_float(dtypes[k]) ? read_float(dtypes[k], at[k])
                                    : static_cast<double>(read_int(dtypes[k], at[k]));
      }
      const double exact = oracle.f(in[0], in[1], in[2]);
      if (type.dtype == DType::kBool) {
        ASSERT_EQ(read_int(DType::kBool, got), static_cast<int64_t>(exact)) << what;
      } else {
        const double unit = dtype == DType::kF32   ? 0x1p-24
                            : dtype == DType::kF16 ? 0x1p-11
                                                   : 0x1p-8;
        // Far below zero, gelu and mish lose digits that their formula cancels.
        const double tolerance =
            unit * (1.01 + (dtype == DType::kF32 ? 9 : 0)) * std::max(std::abs(exact), 0x1p-14) +
            4e-7;
        const double value = read_float(type.dtype, got);
        const bool both_nan = std::isnan(value) && std::isnan(exact);
        ASSERT_TRUE(value == exact || both_nan || std::abs(value - exact) <= tolerance)
            << what << ": " << value << ", not " << exact << ", of " << in[0] << ", " << in[1];
      }
    } else {
      int64_t in[3] = {};
      for (size_t k = 0; k < shapes.size(); ++k) in[k] = read_int(dtypes[k], at[k]);
      std::byte expected[8] = {};
      int64_t value = oracle.i(in[0], in[1], in[2]);
      if (type.dtype == DType::kBool) value &= 1;
      write_int(type.dtype, value, expected);
      ASSERT_EQ(read_int(type.dtype, got), read_int(type.dtype, expected))
          << what << ": " << in[0] << ", " << in[1] << ", " << in[2];
    }
  }
}

std::vector<Op> elementwise_list() {
  std::vector<Op> all;
  for (int i = 0; i < op_count(); ++i) {
    if (is_elementwise(static_cast<Op>(i))) all.push_back(static_cast<Op>(i));
  }
  return all;
}

bool accepts(Op op, DType dtype) {
  std::vector<DType> dtypes(static_cast<size_t>(info(op).min_operands), dtype);
  if (info(op).rule == TypeRule::kSelect) dtypes[0] = DType::kBool;
  return ops::elementwise_dtype(op, dtypes).ok();
}

TEST(Elementwise, EveryOpHasAnOracle) {
  for (const Op op : elementwise_list()) {
    EXPECT_EQ(oracles().count(std::string(to_string(op))), 1u) << to_string(op);
  }
}

TEST(Elementwise, EveryOpInEveryDtypeAndBroadcast) {
  using Shapes = std::vector<std::vector<int64_t>>;
  const std::vector<std::pair<Shapes, std::vector<int64_t>>> cases[4] = {
      {},
      {{{{1300}}, {1300}}, {{{}}, {}}, {{{3, 0, 2}}, {3, 0, 2}}},
      {{{{7, 9}, {7, 9}}, {7, 9}},
       {{{5, 3, 37}, {37}}, {5, 3, 37}},
       {{{4, 1, 6}, {3, 1}}, {4, 3, 6}},
       {{{}, {1025}}, {1025}},
       {{{2, 1, 3, 1, 2}, {5, 1, 7, 1}}, {2, 5, 3, 7, 2}}},
      {{{{600}, {600}, {600}}, {600}},
       {{{3, 1}, {}, {4}}, {3, 4}},
       {{{5, 1, 2}, {1, 3, 2}, {5, 3, 1}}, {5, 3, 2}}},
  };
  for (const Op op : elementwise_list()) {
    for (const cpu::Isa isa : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
      if (!cpu::isa_available(isa)) continue;
      for (const auto& dtypes : {std::span<const DType>(kFloats), std::span<const DType>(kInts)}) {
        for (const DType dtype : dtypes) {
          if (!accepts(op, dtype)) continue;
          if (op == Op::k_pow && !is_float(dtype)) continue;
          for (const auto& [shapes, result] : cases[info(op).min_operands]) {
            check(op, dtype, shapes, result, isa);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Elementwise, ThreadsGiveTheSame) {
  check(Op::k_add, DType::kF32, {{301, 1000}, {1000}}, {301, 1000}, cpu::detect_isa(), 2);
  check(Op::k_silu, DType::kF16, {{200003}}, {200003}, cpu::detect_isa(), 2);
}

TEST(Elementwise, IntegerPowers) {
  Graph g;
  const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kI32, {8}});
  const Value y = *ops::add_leaf(g, Op::k_input, "y", {DType::kI32, {8}});
  ASSERT_TRUE(g.add_output("out", *ops::add_node(g, Op::k_pow, {x, y})).ok());
  const auto run = run_graph(g, {{"x", to_bytes<int32_t>({2, -3, 0, 0, 1, -1, -1, 10})},
                                 {"y", to_bytes<int32_t>({31, 3, 0, -1, -5, -3, -4, 10})}});
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_EQ(testing::from_bytes<int32_t>(run->outputs.at("out")),
            (std::vector<int32_t>{INT32_MIN, -27, 1, 0, 1, -1, 1, 1410065408}));
}

TEST(Elementwise, NanAndInfinity) {
  const float nan = NAN;
  const std::vector<std::pair<Op, std::array<float, 3>>> cases = {
      {Op::k_maximum, {nan, 1, nan}},          {Op::k_maximum, {1, nan, nan}},
      {Op::k_minimum, {nan, 1, nan}},          {Op::k_minimum, {1, nan, nan}},
      {Op::k_floor_divide, {1, 0, INFINITY}},  {Op::k_remainder, {1, 0, nan}},
      {Op::k_remainder, {-1, 3, 2}},           {Op::k_remainder, {5, -3, -1}},
      {Op::k_add, {INFINITY, -INFINITY, nan}},
  };
  for (const auto& [op, v] : cases) {
    Graph g;
    const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {1}});
    const Value y = *ops::add_leaf(g, Op::k_input, "y", {DType::kF32, {1}});
    ASSERT_TRUE(g.add_output("out", *ops::add_node(g, op, {x, y})).ok());
    const auto run = run_graph(g, {{"x", to_bytes<float>({v[0]})}, {"y", to_bytes<float>({v[1]})}});
    const float got = testing::from_bytes<float>(run->outputs.at("out"))[0];
    EXPECT_TRUE(std::isnan(v[2]) ? std::isnan(got) : got == v[2])
        << to_string(op) << "(" << v[0] << ", " << v[1] << ") = " << got;
  }
  const std::vector<std::pair<Op, std::array<float, 2>>> unary = {
      {Op::k_hard_sigmoid, {INFINITY, 1}},
      {Op::k_hard_sigmoid, {-INFINITY, 0}},
      {Op::k_hard_sigmoid, {nan, nan}},
      {Op::k_relu, {nan, nan}},
      {Op::k_sign, {nan, nan}},
      {Op::k_silu, {INFINITY, INFINITY}},
      {Op::k_silu, {-100, -0.0f}},
      {Op::k_softplus, {INFINITY, INFINITY}},
      {Op::k_softplus, {-INFINITY, 0}},
      {Op::k_gelu, {INFINITY, INFINITY}},
      {Op::k_gelu_tanh, {1e30f, 1e30f}},
      {Op::k_exp, {-INFINITY, 0}},
      {Op::k_sin, {INFINITY, nan}},
      {Op::k_tanh, {-INFINITY, -1}},
      {Op::k_elu, {-INFINITY, -1}},
      {Op::k_sigmoid, {-INFINITY, 0}},
  };
  for (const auto& [op, v] : unary) {
    Graph g;
    const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {1}});
    ASSERT_TRUE(g.add_output("out", *ops::add_node(g, op, {x})).ok());
    const auto run = run_graph(g, {{"x", to_bytes<float>({v[0]})}});
    const float got = testing::from_bytes<float>(run->outputs.at("out"))[0];
    EXPECT_TRUE(std::isnan(v[1]) ? std::isnan(got) : got == v[1])
        << to_string(op) << "(" << v[0] << ") = " << got;
  }
}

// The value that a cast of a float must give, as an exact statement.
int64_t saturated(double x, DType to) {
  if (std::isnan(x)) return 0;
  const auto bits = 8 * info(to).block_bytes;
  const bool is_unsigned = to == DType::kU8 || to == DType::kU32;
  const long double low = is_unsigned ? 0 : -std::ldexp(1.0L, bits - 1);
  const long double high = std::ldexp(1.0L, is_unsigned ? bits : bits - 1) - 1;
  const long double t = std::trunc(static_cast<long double>(x));
  return static_cast<int64_t>(t < low ? low : t > high ? high : t);
}

TEST(Cast, BetweenAllDtypes) {
  const DType all[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,  DType::kU8,
                       DType::kI16, DType::kI32, DType::kI64,  DType::kU32, DType::kBool};
  std::vector<double> floats = {0.0,
                                -0.0,
                                0.5,
                                -0.5,
                                1.5,
                                -1.5,
                                2.5,
                                126.5,
                                300.0,
                                -300.0,
                                6e4,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                3e9,
                                -3e9,
                                1e20,
                                -1e20,
                                9.3e18,
                                255.5,
                                65504,
                                65519.9,
                                65520,
                                1e-8,
                                5.96e-8,
                                2.98e-8,
                                2.9802e-8,
                                1.0 + 0x1p-11,
                                1e-40,
                                1.0 + 0x1p-11 + 0x1p-40,
                                1.0 + 0x1p-8 + 0x1p-45,
                                1e300,
                                -1e300,
                                2147483647.0,
                                2147483648.0,
                                -2147483649.0,
                                4294967295.0,
                                4294967296.0};
  std::mt19937 rng(3);
  for (int i = 0; i < 600; ++i)
    floats.push_back(std::ldexp(double(rng()) - 2e9, int(rng() % 64) - 60));
  std::vector<int64_t> ints = {0,
                               1,
                               -1,
                               127,
                               128,
                               -128,
                               255,
                               256,
                               INT64_MAX,
                               INT64_MIN,
                               1 << 24,
                               (1 << 24) + 1,
                               (int64_t{1} << 53) + 1,
                               65519,
                               65520,
                               257,
                               259,
                               (int64_t{1} << 62) + 1};
  for (int i = 0; i < 600; ++i) {
    ints.push_back(static_cast<int64_t>((uint64_t{rng()} << 32) | rng()) >> (rng() % 60));
  }
  for (const cpu::Isa isa : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    if (!cpu::isa_available(isa)) continue;
    for (const DType from : all) {
      Bytes in;
      const size_t n = is_float(from) ? floats.size() : ints.size();
      for (size_t i = 0; i < n; ++i) {
        std::byte p[8];
        if (is_float(from)) {
          write_float(from, floats[i], p);
        } else {
          write_int(from, from == DType::kBool ? ints[i] & 1 : ints[i], p);
        }
        in.insert(in.end(), p, p + info(from).block_bytes);
      }
      for (const DType to : all) {
        Graph g;
        const Value x = *ops::add_leaf(g, Op::k_input, "x", {from, {static_cast<int64_t>(n)}});
        ASSERT_TRUE(g.add_output("out", *ops::add_node(g, Op::k_cast, {x}, {{"dtype", to}})).ok());
        RunOptions options;
        options.isa = isa;
        const auto run = run_graph(g, {{"x", in}}, options);
        ASSERT_TRUE(run.ok()) << run.error().to_string();
        const Bytes& out = run->outputs.at("out");
        for (size_t i = 0; i < n; ++i) {
          const std::byte* got = out.data() + bytes_of(to, static_cast<int64_t>(i));
          const std::byte* source = in.data() + bytes_of(from, static_cast<int64_t>(i));
          const std::string what = std::string(to_string(from)) + " to " +
                                   std::string(to_string(to)) + " at " + std::to_string(i);
          if (is_float(from)) {
            const double v = read_float(from, source);
            if (to == DType::kBool) {
              ASSERT_EQ(read_int(to, got), v != 0) << what;
            } else if (!is_float(to)) {
              ASSERT_EQ(read_int(to, got), saturated(v, to)) << what << " of " << v;
            } else {
              // The nearest value of `to`: no other is nearer, ties to an even mantissa.
              const double w = read_float(to, got);
              if (std::isnan(v)) {
                ASSERT_TRUE(std::isnan(w)) << what;
                continue;
              }
              if (to == DType::kF64) {
                ASSERT_EQ(w, v) << what;
                continue;
              }
              const int mantissa = to == DType::kF32 ? 24 : to == DType::kF16 ? 11 : 8;
              const int least = to == DType::kF16 ? -24 : to == DType::kF32 ? -149 : -133;
              const double largest = to == DType::kF16 ? 65504
                                     : to == DType::kF32
                                         ? static_cast<double>(std::numeric_limits<float>::max())
                                         : 0x1.fep127;
              int exponent = 0;
              std::frexp(v, &exponent);
              const double unit = std::ldexp(1.0, std::max(exponent - mantissa, least));
              double expected = std::isinf(v) ? v : std::nearbyint(v / unit) * unit;
              if (std::abs(expected) > largest) expected = std::copysign(INFINITY, v);
              ASSERT_EQ(w, expected) << what << " of " << v;
            }
          } else {
            const int64_t v = read_int(from, source);
            if (to == DType::kBool) {
              ASSERT_EQ(read_int(to, got), v != 0) << what;
            } else if (!is_float(to)) {
              std::byte wrapped[8];
              write_int(to, v, wrapped);
              ASSERT_EQ(read_int(to, got), read_int(to, wrapped)) << what;
            } else {
              const double w = read_float(to, got);
              if (to == DType::kF64) {
                ASSERT_EQ(w, static_cast<double>(v)) << what;
              } else {
                const int mantissa = to == DType::kF32 ? 24 : to == DType::kF16 ? 11 : 8;
                const long double exact = v;
                int exponent = 0;
                std::frexp(exact, &exponent);
                const long double unit = std::ldexp(1.0L, std::max(exponent - mantissa, -24));
                long double expected = std::nearbyint(exact / unit) * unit;
                if (to == DType::kF16 && std::abs(expected) > 65504) {
                  expected = std::copysign(static_cast<long double>(INFINITY), exact);
                }
                ASSERT_EQ(w, static_cast<double>(expected)) << what << " of " << v;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bessemer
