#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "one_op.h"

namespace bessemer::testing {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Normalises `size` values of which element i has weight and bias [i / spatial + first].
void normalise(double* x, int64_t size, bool layer, double epsilon, const std::vector<double>& w,
               const std::vector<double>& b, int64_t first, int64_t spatial) {
  double mean = 0;
  for (int64_t i = 0; i < size && layer; ++i) mean += x[i] / static_cast<double>(size);
  double square = 0;
  for (int64_t i = 0; i < size; ++i) {
    square += (x[i] - mean) * (x[i] - mean) / static_cast<double>(size);
  }
  for (int64_t i = 0; i < size; ++i) {
    const auto c = static_cast<size_t>(first + i / spatial);
    x[i] = (x[i] - mean) / std::sqrt(square + epsilon);
    if (!w.empty()) x[i] *= w[c];
    if (!b.empty()) x[i] += b[c];
  }
}

void expect_close(DType dtype, const std::vector<double>& got, const std::vector<double>& want,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " at " << i;
      continue;
    }
    EXPECT_NEAR(got[i], want[i], 2e-6 + (2e-6 + 1.01 * half_ulp(dtype)) * std::abs(want[i]))
        << what << " at " << i;
  }
}

TEST(Norm, RowsOfEverySizeAndDtype) {
  for (DType dtype : kFloats) {
    for (int64_t cols : {1, 3, 16, 17, 100, 576, 1031}) {
      for (int weights = 0; weights < 3; ++weights) {
        for (bool layer : {true, false}) {
          if (!layer && weights == 2) continue;
          const int64_t rows = 7;
          const auto x = rounded(dtype, normal_values(static_cast<size_t>(rows * cols), 1, 3.0));
          const auto w = weights > 0
                             ? rounded(DType::kF32, normal_values(static_cast<size_t>(cols), 2))
                             : std::vector<double>{};
          const auto bias = weights > 1
                                ? rounded(DType::kF32, normal_values(static_cast<size_t>(cols), 3))
                                : std::vector<double>{};
          Build b;
          std::vector<Value> operands = {b.input("x", dtype, {rows, cols}, encode(dtype, x))};
          Attrs attrs{{"epsilon", 1e-5}};
          if (weights > 0) {
            operands.push_back(b.input("w", DType::kF32, {cols}, encode(DType::kF32, w)));
            attrs.set("has_weight", true);
          }
          if (weights > 1) {
            operands.push_back(b.input("b", DType::kF32, {cols}, encode(DType::kF32, bias)));
            attrs.set("has_bias", true);
          }
          b.output("y", b.op(layer ? Op::k_layer_norm : Op::k_rms_norm, operands, attrs));
          std::vector<double> want = x;
          for (int64_t r = 0; r < rows; ++r) {
            normalise(want.data() + r * cols, cols, layer, 1e-5, w, bias, 0, 1);
          }
          for (cpu::Isa isa : isas()) {
            const Bytes one = b.run(isa, 1).outputs["y"];
            EXPECT_EQ(one, b.run(isa, 4).outputs["y"]);
            expect_close(dtype, decode(dtype, one), want,
                         std::string(to_string(isa)) + " " + std::to_string(cols));
          }
        }
      }
    }
  }
}

TEST(Norm, GroupsOfChannels) {
  struct Sizes {
    int64_t n, channels, groups;
    Shape spatial;
  };
  for (const Sizes& s : {Sizes{2, 6, 3, {5, 7}}, Sizes{1, 4, 1, {3}}, Sizes{3, 4, 4, {1}},
                         Sizes{3, 8, 2, {}}, Sizes{1, 32, 8, {40, 33}}}) {
    for (DType dtype : {DType::kF32, DType::kF16}) {
      for (int weights = 0; weights < 3; ++weights) {
        int64_t spatial = 1;
        Shape shape = {s.n, s.channels};
        for (const Dim& d : s.spatial) {
          shape.push_back(d);
          spatial *= d.constant();
        }
        const auto x =
            rounded(dtype, normal_values(static_cast<size_t>(s.n * s.channels * spatial), 4, 2.0));
        const auto size = static_cast<size_t>(s.channels);
        const auto w =
            weights > 0 ? rounded(DType::kF32, normal_values(size, 2)) : std::vector<double>{};
        const auto bias =
            weights > 1 ? rounded(DType::kF32, normal_values(size, 3)) : std::vector<double>{};
        Build b;
        std::vector<Value> operands = {b.input("x", dtype, shape, encode(dtype, x))};
        Attrs attrs{{"epsilon", 1e-5}, {"groups", s.groups}};
        if (weights > 0) {
          operands.push_back(b.input("w", DType::kF32, {s.channels}, encode(DType::kF32, w)));
          attrs.set("has_weight", true);
        }
        if (weights > 1) {
          operands.push_back(b.input("b", DType::kF32, {s.channels}, encode(DType::kF32, bias)));
          attrs.set("has_bias", true);
        }
        b.output("y", b.op(Op::k_group_norm, operands, attrs));
        std::vector<double> want = x;
        const int64_t channels = s.channels / s.groups;
        for (int64_t r = 0; r < s.n * s.groups; ++r) {
          normalise(want.data() + r * channels * spatial, channels * spatial, true, 1e-5, w, bias,
                    r % s.groups * channels, spatial);
        }
        for (cpu::Isa isa : isas()) {
          const Bytes one = b.run(isa, 1).outputs["y"];
          EXPECT_EQ(one, b.run(isa, 3).outputs["y"]);
          expect_close(dtype, decode(dtype, one), want, std::string(to_string(isa)));
        }
      }
    }
  }
}

TEST(Norm, FusedGivesTheBitsOfItsParts) {
  for (DType dtype : kFloats) {
    for (bool layer : {false, true}) {
      for (int64_t cols : {5, 640}) {
        const int64_t rows = 33;
        const auto size = static_cast<size_t>(rows * cols);
        Build b;
        const Value x = b.input("x", dtype, {rows, cols}, encode(dtype, normal_values(size, 1)));
        const Value residual =
            b.input("residual", dtype, {rows, cols}, encode(dtype, normal_values(size, 2)));
        const Value w = b.input("w", DType::kF32, {cols},
                                encode(DType::kF32, normal_values(static_cast<size_t>(cols), 3)));
        std::vector<Value> weights = {w};
        Attrs attrs{{"epsilon", 1e-6}};
        if (layer) {
          weights.push_back(w);
          attrs.set("has_bias", true);
        }
        Attrs plain = attrs;
        plain.set("has_weight", true);
        attrs.set("norm", std::string(layer ? "layer" : "rms"));
        const Op norm = layer ? Op::k_layer_norm : Op::k_rms_norm;
        const auto with = [&](std::vector<Value> first) {
          first.insert(first.end(), weights.begin(), weights.end());
          return first;
        };
        const Value sum = b.op(Op::k_add, {x, residual});
        b.output("add_norm.0", b.op(norm, with({sum}), plain));
        b.output("add_norm.1", sum);
        b.output("norm_add", b.op(Op::k_add, {residual, b.op(norm, with({x}), plain)}));
        const Value add_norm = b.op(Op::k_add_norm, with({x, residual}), attrs);
        b.output("fused add_norm.0", add_norm);
        b.output("fused add_norm.1", {add_norm.node, 1});
        b.output("fused norm_add", b.op(Op::k_norm_add, with({x, residual}), attrs));
        for (cpu::Isa isa : isas()) {
          const RunResult result = b.run(isa, 3);
          for (const char* name : {"add_norm.0", "add_norm.1", "norm_add"}) {
            EXPECT_EQ(result.outputs.at(name), result.outputs.at(std::string("fused ") + name))
                << name << " " << to_string(isa) << " " << to_string(dtype);
          }
        }
      }
    }
  }
}

TEST(Norm, ConstantNanInfiniteAndEmptyRows) {
  const std::vector<double> x = {
      7, 7, 7, 7, 1, kNan, 2, 3, 1, 2, 3, std::numeric_limits<double>::infinity(), 0, 0, 0, 0};
  for (bool layer : {true, false}) {
    Build b;
    const Value v = b.input("x", DType::kF32, {4, 4}, encode(DType::kF32, x));
    b.output("y", b.op(layer ? Op::k_layer_norm : Op::k_rms_norm, {v}, {{"epsilon", 1e-5}}));
    for (cpu::Isa isa : isas()) {
      const auto y = decode(DType::kF32, b.run(isa).outputs["y"]);
      EXPECT_NEAR(y[0], layer ? 0 : 1, 1e-6);
      for (size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(y[i]));
      EXPECT_TRUE(std::isnan(y[11]));
      for (size_t i = 12; i < 16; ++i) EXPECT_EQ(y[i], 0);
    }
  }
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}, Shape{2, 4, 0}}) {
    Build b;
    const Value v = b.input("x", DType::kF16, shape, {});
    b.output("y", b.op(Op::k_layer_norm, {v}));
    const Value w =
        b.input("w", DType::kF32, {shape[1]},
                encode(DType::kF32, std::vector<double>(static_cast<size_t>(shape[1].constant()))));
    if (shape[1] == Dim(4)) {
      b.output("z", b.op(Op::k_group_norm, {v, w}, {{"groups", int64_t{2}}, {"has_weight", true}}));
    }
    EXPECT_TRUE(b.run().outputs["y"].empty());
  }
}

TEST(Norm, RefusesWhatDoesNotFit) {
  Build b;
  const Value x = b.input("x", DType::kF32, {2, 6, 4}, {});
  const Value w4 = b.input("w4", DType::kF32, {4}, {});
  const Value w6 = b.input("w6", DType::kF32, {6}, {});
  const Value h4 = b.input("h4", DType::kF16, {4}, {});
  const Value ints = b.input("ints", DType::kI32, {2, 4}, {});
  const Attrs weight{{"has_weight", true}};
  EXPECT_EQ(refusal(b, Op::k_rms_norm, {x, w4}, weight), "");
  EXPECT_NE(refusal(b, Op::k_rms_norm, {x, w6}, weight), "");
  EXPECT_NE(refusal(b, Op::k_rms_norm, {x, h4}, weight), "");
  EXPECT_NE(refusal(b, Op::k_rms_norm, {x}, weight), "");
  EXPECT_NE(refusal(b, Op::k_rms_norm, {x, w4}), "");
  EXPECT_NE(refusal(b, Op::k_layer_norm, {ints}), "");
  EXPECT_NE(refusal(b, Op::k_layer_norm, {x}, {{"epsilon", -1.0}}), "");
  EXPECT_NE(refusal(b, Op::k_layer_norm, {x}, {{"epsilon", kNan}}), "");
  Attrs groups{{"groups", int64_t{4}}};
  EXPECT_NE(refusal(b, Op::k_group_norm, {x}, groups), "");
  EXPECT_NE(refusal(b, Op::k_group_norm, {x}, {{"groups", int64_t{0}}}), "");
  EXPECT_EQ(refusal(b, Op::k_group_norm, {x, w6}, {{"groups", int64_t{3}}, {"has_weight", true}}),
            "");
}

}  // namespace
}  // namespace bessemer::testing
