// linear, linear_bias, linear_activation, linear_gate, linear_residual: where they fire, where not.
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

TEST(LinearTest, TakesAProductWithAWeightByRows) {
  EXPECT_EQ(after({"linear"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "w" : q4_1[32, 64]
    %2 = matmul(%0, %1) {transpose_b = true}
    output "y" = %2
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "w" : q4_1[32, 64]
    %2 = linear(%0, %1) {n_weights = 1}
    output "y" = %2
  )"));
}

TEST(LinearTest, TakesHalfFloatWeightsAndComputedOnes) {
  EXPECT_EQ(after({"linear"}, R"(
    %0 = input "x" : f32[2, 3, 8]
    %1 = param "w" : f16[4, 8]
    %2 = matmul(%0, %1) {transpose_b = true}
    %3 = param "v" : f32[4, 8]
    %4 = square(%3)
    %5 = matmul(%0, %4) {transpose_b = true}
    output "y" = %2
    output "z" = %5
  )"),
            plain(R"(
    %0 = input "x" : f32[2, 3, 8]
    %1 = param "w" : f16[4, 8]
    %2 = param "v" : f32[4, 8]
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = square(%2)
    %5 = linear(%0, %4) {n_weights = 1}
    output "y" = %3
    output "z" = %5
  )"));
}

TEST(LinearTest, LeavesOtherProductsAlone) {
  // A weight by columns, a transposed input, batched weights, and a result that promotes beyond x.
  expect_unchanged({"linear"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = input "h" : f16[4, 8]
    %2 = param "w" : f32[8, 6]
    %3 = param "batched" : f32[2, 6, 8]
    %4 = param "rows" : f32[6, 8]
    %5 = param "tall" : f32[6, 4]
    %6 = matmul(%0, %2)
    %7 = matmul(%0, %3) {transpose_b = true}
    %8 = matmul(%1, %4) {transpose_b = true}
    %9 = matmul(%0, %5) {transpose_a = true, transpose_b = true}
    output "a" = %6
    output "b" = %7
    output "c" = %8
    output "d" = %9
  )");
}

TEST(LinearTest, LeavesVariableSizesAlone) {
  // Neither the inner size nor the number of rows of a weight may vary.
  expect_unchanged({"linear"}, R"(
    extent t <= 8
    %0 = input "q" : f32[t, 8]
    %1 = input "k" : f32[t, 8]
    %2 = matmul(%0, %1) {transpose_b = true}
    %3 = param "w" : f32[4, 8]
    %4 = transpose(%0) {perm = (1, 0)}
    %5 = matmul(%4, %4) {transpose_b = true}
    output "a" = %2
    output "b" = %5
  )");
}

TEST(LinearTest, EpiloguesFollowOneAnother) {
  EXPECT_EQ(after({"linear", "linear_bias", "linear_activation", "linear_residual"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 32]
    %2 = param "w" : f32[32, 64]
    %3 = param "b" : f32[32]
    %4 = matmul(%0, %2) {transpose_b = true}
    %5 = add(%4, %3)
    %6 = gelu(%5)
    %7 = add(%1, %6)
    output "y" = %7
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 32]
    %2 = param "w" : f32[32, 64]
    %3 = param "b" : f32[32]
    %4 = linear(%0, %2, %3, %1) {activation = "gelu", has_bias = true, has_residual = true, n_weights = 1}
    output "y" = %4
  )"));
}

TEST(LinearTest, BiasMayBeARow) {
  EXPECT_EQ(after({"linear", "linear_bias"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = param "b" : f32[1, 6]
    %3 = matmul(%0, %1) {transpose_b = true}
    %4 = add(%2, %3)
    output "y" = %4
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = param "b" : f32[1, 6]
    %3 = reshape(%2) {shape = [6]}
    %4 = linear(%0, %1, %3) {has_bias = true, n_weights = 1}
    output "y" = %4
  )"));
}

TEST(LinearTest, BiasStaysOutside) {
  // A second reader; an output; a column, not a row; half floats, whose bias linear does not take.
  const char* text = R"(
    %0 = input "x" : f32[6, 8]
    %1 = input "h" : f16[6, 8]
    %2 = param "w" : f32[6, 8]
    %3 = param "wh" : f16[6, 8]
    %4 = param "b" : f32[6]
    %5 = param "bh" : f16[6]
    %6 = param "column" : f32[6, 1]
    %7 = linear(%0, %2) {n_weights = 1}
    %8 = add(%7, %4)
    %9 = multiply(%7, %8)
    %10 = square(%0)
    %11 = linear(%10, %2) {n_weights = 1}
    %12 = add(%11, %4)
    %13 = exp(%0)
    %14 = linear(%13, %2) {n_weights = 1}
    %15 = add(%14, %6)
    %16 = linear(%1, %3) {n_weights = 1}
    %17 = add(%16, %5)
    output "a" = %9
    output "kept" = %11
    output "b" = %12
    output "c" = %15
    output "d" = %17
  )";
  expect_unchanged({"linear_bias"}, text);
}

TEST(LinearTest, ActivationsThatTheKernelKnows) {
  for (const std::string name : {"silu", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh"}) {
    EXPECT_EQ(after({"linear_activation"}, R"(
      %0 = input "x" : f32[4, 8]
      %1 = param "w" : f32[6, 8]
      %2 = linear(%0, %1) {n_weights = 1}
      %3 = )" + name + R"((%2)
      output "y" = %3
    )"),
              plain(R"(
      %0 = input "x" : f32[4, 8]
      %1 = param "w" : f32[6, 8]
      %2 = linear(%0, %1) {activation = ")" +
                    name + R"(", n_weights = 1}
      output "y" = %2
    )"));
  }
}

TEST(LinearTest, ActivationStaysOutside) {
  // Another op; a second activation; a second reader; an output; behind a residual.
  expect_unchanged({"linear_activation"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[8, 8]
    %2 = linear(%0, %1) {n_weights = 1}
    %3 = exp(%2)
    %4 = linear(%0, %1) {activation = "silu", n_weights = 1}
    %5 = relu(%4)
    %6 = linear(%3, %1) {n_weights = 1}
    %7 = silu(%6)
    %8 = multiply(%6, %7)
    %9 = linear(%5, %1) {n_weights = 1}
    %10 = silu(%9)
    %11 = linear(%0, %1, %8) {has_residual = true, n_weights = 1}
    %12 = tanh(%11)
    output "a" = %8
    output "b" = %9
    output "c" = %10
    output "d" = %12
  )");
}

TEST(LinearTest, GateAndUpMeetInOneNode) {
  EXPECT_EQ(after({"linear_activation", "linear_gate"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "gate" : q8_0[32, 64]
    %2 = param "up" : q4_0[32, 64]
    %3 = param "gate_bias" : f32[32]
    %4 = param "up_bias" : f32[32]
    %5 = linear(%0, %2, %4) {has_bias = true, n_weights = 1}
    %6 = linear(%0, %1, %3) {has_bias = true, n_weights = 1}
    %7 = silu(%6)
    %8 = multiply(%5, %7)
    output "y" = %8
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "gate" : q8_0[32, 64]
    %2 = param "up" : q4_0[32, 64]
    %3 = param "gate_bias" : f32[32]
    %4 = param "up_bias" : f32[32]
    %5 = linear(%0, %1, %2, %3, %4) {activation = "silu", gated = true, has_bias = true, n_weights = 2}
    output "y" = %5
  )"));
}

TEST(LinearTest, GateStaysOpen) {
  // Another input; the product of one value with itself; a bias on one side; a second reader; both
  // activated; another width that broadcasts.
  expect_unchanged({"linear_gate"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = input "z" : f32[4, 8]
    %2 = param "w" : f32[8, 8]
    %3 = param "v" : f32[8, 8]
    %4 = param "b" : f32[8]
    %5 = param "one" : f32[1, 8]
    %6 = linear(%0, %2) {activation = "silu", n_weights = 1}
    %7 = linear(%1, %3) {n_weights = 1}
    %8 = multiply(%6, %7)
    %9 = linear(%8, %2) {n_weights = 1}
    %10 = multiply(%9, %9)
    %11 = linear(%10, %2, %4) {activation = "silu", has_bias = true, n_weights = 1}
    %12 = linear(%10, %3) {n_weights = 1}
    %13 = multiply(%11, %12)
    %14 = linear(%13, %2) {activation = "silu", n_weights = 1}
    %15 = linear(%13, %3) {n_weights = 1}
    %16 = multiply(%14, %15)
    %17 = add(%15, %16)
    %18 = linear(%17, %2) {activation = "silu", n_weights = 1}
    %19 = linear(%17, %3) {activation = "silu", n_weights = 1}
    %20 = multiply(%18, %19)
    %21 = linear(%20, %2) {activation = "silu", n_weights = 1}
    %22 = linear(%20, %5) {n_weights = 1}
    %23 = multiply(%21, %22)
    output "y" = %23
  )");
}

TEST(LinearTest, ResidualGoesToTheYoungerProduct) {
  EXPECT_EQ(after({"linear_residual"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[8, 8]
    %2 = param "v" : f32[8, 8]
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = linear(%3, %2) {n_weights = 1}
    %5 = exp(%0)
    %6 = linear(%5, %1) {n_weights = 1}
    %7 = add(%6, %4)
    output "y" = %7
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[8, 8]
    %2 = param "v" : f32[8, 8]
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = linear(%3, %2) {n_weights = 1}
    %5 = exp(%0)
    %6 = linear(%5, %1, %4) {has_residual = true, n_weights = 1}
    output "y" = %6
  )"));
}

TEST(LinearTest, ResidualStaysOutside) {
  // A vector that broadcasts; a second reader; an output; a product with two results; one residual
  // is there already.
  expect_unchanged({"linear_residual"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[8, 8]
    %2 = param "b" : f32[8]
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = add(%3, %2)
    %5 = linear(%4, %1) {n_weights = 1}
    %6 = add(%5, %4)
    %7 = multiply(%5, %6)
    %8 = linear(%7, %1) {n_weights = 1}
    %9 = add(%8, %7)
    %10 = linear(%9, %1, %1) {n_weights = 2}
    %11 = add(%10, %9)
    %12 = add(%11, %10.1)
    %13 = linear(%12, %1, %0) {has_residual = true, n_weights = 1}
    %14 = add(%13, %12)
    output "kept" = %8
    output "y" = %14
  )");
}

}  // namespace
}  // namespace bessemer
