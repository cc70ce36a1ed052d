#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "one_op.h"

namespace bessemer::testing {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

struct RopeCase {
  int64_t heads = 3;
  int64_t head_dim = 16;
  int64_t n_rot = 0;
  double base = 10000.0;
  double scale = 1.0;
  bool interleaved = false;
  DType dtype = DType::kF32;
  std::vector<int64_t> positions = {0, 1, 2, 3, 100, 4097};
  std::vector<double> factors = {};

  [[nodiscard]] int64_t rotated() const { return n_rot == 0 ? head_dim : n_rot; }
  [[nodiscard]] Attrs attrs() const {
    return {{"base", base}, {"scale", scale}, {"n_rot", n_rot}, {"interleaved", interleaved}};
  }
  [[nodiscard]] std::vector<double> x() const {
    const auto n = static_cast<size_t>(heads * head_dim) * positions.size();
    return rounded(dtype, normal_values(n, 5));
  }

  [[nodiscard]] std::vector<double> expected() const {
    std::vector<double> out = x();
    for (size_t t = 0; t < positions.size(); ++t) {
      for (int64_t h = 0; h < heads; ++h) {
        double* row = out.data() + (static_cast<int64_t>(t) * heads + h) * head_dim;
        for (int64_t i = 0; i < rotated() / 2; ++i) {
          long double angle =
              static_cast<long double>(positions[t]) * static_cast<long double>(scale) *
              std::pow(static_cast<long double>(base),
                       -2.0L * static_cast<long double>(i) / static_cast<long double>(rotated()));
          if (!factors.empty()) angle /= static_cast<long double>(factors[static_cast<size_t>(i)]);
          const auto c = static_cast<double>(std::cos(angle));
          const auto s = static_cast<double>(std::sin(angle));
          double& a = row[interleaved ? 2 * i : i];
          double& b = row[interleaved ? 2 * i + 1 : i + rotated() / 2];
          const double a0 = a;
          a = a0 * c - b * s;
          b = a0 * s + b * c;
        }
      }
    }
    return out;
  }

  [[nodiscard]] Bytes run(cpu::Isa isa, int threads) const {
    Build b;
    const auto tokens = static_cast<int64_t>(positions.size());
    std::vector<Value> operands = {
        b.input("x", dtype, {tokens, heads, head_dim}, encode(dtype, x())),
        b.input("pos", DType::kI64, {tokens}, to_bytes(positions))};
    if (!factors.empty()) {
      operands.push_back(
          b.input("factors", DType::kF32, {rotated() / 2}, encode(DType::kF32, factors)));
    }
    b.output("y", b.op(Op::k_rope, operands, attrs()));
    return b.run(isa, threads).outputs["y"];
  }

  void check(double slack = 5e-7) const {
    const std::vector<double> want = expected();
    for (cpu::Isa isa : isas()) {
      const Bytes one = run(isa, 1);
      EXPECT_EQ(one, run(isa, 3));
      const std::vector<double> got = decode(dtype, one);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], want[i], slack + 1.01 * half_ulp(dtype) * std::abs(want[i]))
            << to_string(isa) << " at " << i;
      }
    }
  }
};

TEST(Rope, BothPairings) {
  for (bool interleaved : {false, true}) {
    for (int64_t head_dim : {2, 6, 16, 34, 64, 130}) {
      RopeCase c;
      c.head_dim = head_dim;
      c.interleaved = interleaved;
      c.check();
    }
  }
}

TEST(Rope, PartOfAHeadScaleBaseAndFactors) {
  for (bool interleaved : {false, true}) {
    RopeCase c;
    c.head_dim = 80;
    c.n_rot = 32;
    c.base = 500000.0;
    c.scale = 0.125;
    c.interleaved = interleaved;
    for (int i = 0; i < 16; ++i) c.factors.push_back(1.0 + 0.5 * i);
    c.check();
  }
}

TEST(Rope, EveryDtype) {
  for (DType dtype : kFloats) {
    RopeCase c;
    c.dtype = dtype;
    c.head_dim = 64;
    c.check();
  }
}

TEST(Rope, AnglesOfFarPositionsAreExact) {
  RopeCase c;
  c.head_dim = 64;
  c.positions = {-1, -4097, 99999, 1000000, 1048576, 123456789, 1000000007};
  c.check();
  // Past 2^30 radians libm takes over, and the double angle itself is what limits it.
  c.positions = {int64_t{1} << 40, -(int64_t{1} << 36)};
  c.check(2e-2);
  c.positions = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const double y : decode(c.dtype, c.run(cpu::detect_isa(), 1))) EXPECT_LT(std::abs(y), 10);
}

TEST(Rope, NanAndInfinityStayInTheirPair) {
  RopeCase c;
  Build b;
  std::vector<double> x = c.x();
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[20] = std::numeric_limits<double>::infinity();
  const int64_t tokens = 6;
  const Value y = b.op(
      Op::k_rope, {b.input("x", DType::kF32, {tokens, 3, 16}, encode(DType::kF32, x)),
                   b.input("pos", DType::kI32, {tokens}, to_bytes(std::vector<int32_t>(6, 1)))});
  b.output("y", y);
  for (cpu::Isa isa : isas()) {
    const std::vector<double> got = decode(DType::kF32, b.run(isa).outputs["y"]);
    for (size_t i = 0; i < got.size(); ++i) {
      const bool touched = i == 3 || i == 11 || i == 20 || i == 28;
      EXPECT_EQ(std::isfinite(got[i]), !touched) << i;
    }
  }
}

TEST(Rope, NoTokens) {
  RopeCase c;
  c.positions = {};
  EXPECT_TRUE(c.run(cpu::detect_isa(), 2).empty());
}

TEST(Rope, RefusesWhatDoesNotFit) {
  Build b;
  const Value x = b.input("x", DType::kF32, {4, 2, 6}, {});
  const Value odd = b.input("odd", DType::kF32, {4, 2, 5}, {});
  const Value pos = b.input("pos", DType::kI32, {4}, {});
  const Value fewer = b.input("fewer", DType::kI32, {3}, {});
  const Value real = b.input("real", DType::kF32, {4}, {});
  EXPECT_NE(refusal(b, Op::k_rope, {x, fewer}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {x, real}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {odd, pos}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {x, pos}, {{"n_rot", int64_t{8}}}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {x, pos}, {{"n_rot", int64_t{3}}}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {x, pos}, {{"base", 0.0}}), "");
  EXPECT_NE(refusal(b, Op::k_rope, {x, pos, real}), "");
  EXPECT_EQ(refusal(b, Op::k_rope, {x, pos}, {{"n_rot", int64_t{4}}}), "");
}

struct AppendCase {
  DType x_dtype = DType::kF32;
  DType v_dtype = DType::kF32;
  DType k_state = DType::kF16;
  DType v_state = DType::kF16;
  bool norm = false;
  bool factors = false;
  bool interleaved = false;
  std::vector<int32_t> seq = {0, 0, 0, 1, 1, 2};
  std::vector<int32_t> pos = {3, 4, 5, 0, 1, 9};
  int64_t heads = 6;
  int64_t kv_heads = 2;
  int64_t head_dim = 24;
  int64_t v_head_dim = 20;

  // As one op or as the ops that it stands for; the results must not differ in a bit.
  [[nodiscard]] RunResult run(bool fused, cpu::Isa isa, int threads) const {
    Build b;
    const auto n = static_cast<int64_t>(seq.size());
    const auto values = [](int64_t count, uint32_t seed) {
      return normal_values(static_cast<size_t>(count), seed);
    };
    const int64_t rows = 3 * 10 * kv_heads;
    const Value q = b.input("q", x_dtype, {n, heads, head_dim},
                            encode(x_dtype, values(n * heads * head_dim, 1)));
    const Value k = b.input("k", x_dtype, {n, kv_heads, head_dim},
                            encode(x_dtype, values(n * kv_heads * head_dim, 2)));
    const Value v = b.input("v", v_dtype, {n, kv_heads, v_head_dim},
                            encode(v_dtype, values(n * kv_heads * v_head_dim, 3)));
    const Value at_pos = b.input("pos", DType::kI32, {n}, to_bytes(pos));
    const Value at_seq = b.input("seq", DType::kI32, {n}, to_bytes(seq));
    const Value ks = b.state("ks", k_state, {3, 10, kv_heads, head_dim},
                             encode(k_state, values(rows * head_dim, 4)));
    const Value vs = b.state("vs", v_state, {3, 10, kv_heads, v_head_dim},
                             encode(v_state, values(rows * v_head_dim, 5)));
    std::vector<Value> norms;
    if (norm) {
      norms = {b.input("qn", DType::kF32, {head_dim}, encode(DType::kF32, values(head_dim, 6))),
               b.input("kn", DType::kF32, {head_dim}, encode(DType::kF32, values(head_dim, 7)))};
    }
    std::vector<Value> factor;
    if (factors) {
      factor = {b.input(
          "f", DType::kF32, {head_dim / 2},
          encode(DType::kF32, std::vector<double>(static_cast<size_t>(head_dim / 2), 1.75)))};
    }
    Attrs attrs{{"base", 1e6}, {"scale", 0.5}, {"n_rot", int64_t{0}}, {"interleaved", interleaved}};
    Value q_out;
    Value k_out;
    Value v_out;
    if (fused) {
      attrs.set("has_qk_norm", norm);
      attrs.set("has_factors", factors);
      attrs.set("epsilon", 1e-6);
      std::vector<Value> operands = {q, k, v, at_pos, at_seq, ks, vs};
      operands.insert(operands.end(), norms.begin(), norms.end());
      operands.insert(operands.end(), factor.begin(), factor.end());
      q_out = b.op(Op::k_rope_append, operands, attrs);
      k_out = {q_out.node, 1};
      v_out = {q_out.node, 2};
    } else {
      const auto turned = [&](Value x, size_t which) {
        if (norm) {
          x = b.op(Op::k_rms_norm, {x, norms[which]}, {{"epsilon", 1e-6}, {"has_weight", true}});
        }
        std::vector<Value> operands = {x, at_pos};
        operands.insert(operands.end(), factor.begin(), factor.end());
        return b.op(Op::k_rope, operands, attrs);
      };
      q_out = turned(q, 0);
      k_out = b.op(Op::k_scatter_rows, {ks, turned(k, 1), at_seq, at_pos});
      v_out = b.op(Op::k_scatter_rows, {vs, v, at_seq, at_pos});
    }
    b.output("q_out", q_out);
    b.update("ks", k_out);
    b.update("vs", v_out);
    return b.run(isa, threads);
  }

  void check() const {
    for (cpu::Isa isa : isas()) {
      const RunResult plain = run(false, isa, 1);
      for (int threads : {1, 3}) {
        const RunResult fused = run(true, isa, threads);
        EXPECT_EQ(fused.outputs, plain.outputs) << to_string(isa);
        EXPECT_EQ(fused.states, plain.states) << to_string(isa);
        EXPECT_EQ(fused.fault, plain.fault);
      }
    }
  }
};

TEST(RopeAppend, GivesTheBitsOfItsParts) {
  for (DType x : kFloats) {
    for (DType state : kFloats) {
      for (bool norm : {false, true}) {
        AppendCase c;
        c.x_dtype = x;
        c.v_dtype = x == DType::kF16 ? DType::kBF16 : x;
        c.k_state = state;
        c.v_state = state == DType::kBF16 ? DType::kF16 : state;
        c.norm = norm;
        c.factors = state == DType::kF32;
        c.interleaved = norm == (state == DType::kF16);
        c.check();
      }
    }
  }
}

TEST(RopeAppend, ManyTokensOnManyThreads) {
  AppendCase c;
  c.heads = 16;
  c.head_dim = 128;
  c.seq.clear();
  c.pos.clear();
  for (int32_t s = 0; s < 3; ++s) {
    for (int32_t p = 0; p < 10; ++p) {
      c.seq.push_back(s);
      c.pos.push_back(p);
    }
  }
  c.check();
}

TEST(RopeAppend, TheLastOfEqualPlacesWinsAndOutOfRangeIsAFault) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  AppendCase c;
  c.heads = 16;
  c.head_dim = 128;
  c.seq = {2, 0, 2, 0, -1, 3, 1, 1, 1, kMost, kLeast, 2, 0, 0, 1, 2, 2, 2};
  c.pos = {5, 1, 5, 1, 0, 0, 10, -1, kMost, 0, 0, 5, 1, 2, 0, 1, 2, kLeast};
  c.check();
  EXPECT_EQ(c.run(true, cpu::detect_isa(), 1).fault, cpu::kIndexOutOfRange);
}

}  // namespace
}  // namespace bessemer::testing
