// norm_prologue, norm_add, add_norm.
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

TEST(NormPrologueTest, FoldsIntoItsOnlyReader) {
  EXPECT_EQ(after({"norm_prologue"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "g" : f32[64]
    %2 = param "b" : f32[64]
    %3 = param "w" : q4_0[32, 64]
    %4 = param "v" : f32[16, 32]
    %5 = param "h" : f32[32]
    %6 = layer_norm(%0, %1, %2) {epsilon = 1e-05, has_bias = true, has_weight = true}
    %7 = linear(%6, %3, %3) {n_weights = 2}
    %8 = rms_norm(%7.1, %5) {epsilon = 1e-06, has_weight = true}
    %9 = linear(%8, %4) {activation = "silu", n_weights = 1}
    output "a" = %7
    output "b" = %9
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "g" : f32[64]
    %2 = param "b" : f32[64]
    %3 = param "w" : q4_0[32, 64]
    %4 = param "v" : f32[16, 32]
    %5 = param "h" : f32[32]
    %6 = linear(%0, %1, %2, %3, %3) {epsilon = 1e-05, has_norm_bias = true, n_weights = 2, norm = "layer"}
    %7 = linear(%6.1, %5, %4) {activation = "silu", epsilon = 1e-06, n_weights = 1, norm = "rms"}
    output "a" = %6
    output "b" = %7
  )"));
}

TEST(NormPrologueTest, StaysOutside) {
  // A second reader; an output; a norm without weight; a linear with a norm of its own; a norm that
  // is a weight.
  expect_unchanged({"norm_prologue"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = param "g" : f32[8]
    %2 = param "w" : f32[8, 8]
    %3 = rms_norm(%0, %1) {epsilon = 1e-05, has_weight = true}
    %4 = linear(%3, %2) {n_weights = 1}
    %5 = add(%3, %4)
    %6 = rms_norm(%5, %1) {epsilon = 1e-05, has_weight = true}
    %7 = linear(%6, %2) {n_weights = 1}
    %8 = rms_norm(%7) {epsilon = 1e-05}
    %9 = linear(%8, %2) {n_weights = 1}
    %10 = rms_norm(%9, %1) {epsilon = 1e-05, has_weight = true}
    %11 = linear(%10, %1, %2) {epsilon = 1e-05, n_weights = 1, norm = "rms"}
    %12 = rms_norm(%11, %1) {epsilon = 1e-05, has_weight = true}
    %13 = linear(%0, %12) {n_weights = 1}
    output "kept" = %6
    output "y" = %13
  )");
}

TEST(NormAddTest, ResidualPlusNorm) {
  EXPECT_EQ(after({"norm_add"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 64]
    %2 = param "g" : f32[64]
    %3 = param "b" : f32[64]
    %4 = rms_norm(%0, %2) {epsilon = 1e-06, has_weight = true}
    %5 = add(%1, %4)
    %6 = layer_norm(%5, %2, %3) {epsilon = 1e-05, has_bias = true, has_weight = true}
    %7 = add(%6, %5)
    output "y" = %7
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 64]
    %2 = param "g" : f32[64]
    %3 = param "b" : f32[64]
    %4 = norm_add(%0, %1, %2) {epsilon = 1e-06, norm = "rms"}
    %5 = norm_add(%4, %4, %2, %3) {epsilon = 1e-05, has_bias = true, norm = "layer"}
    output "y" = %5
  )"));
}

TEST(NormAddTest, StaysApart) {
  // A second reader; an output; no weight; a residual that broadcasts.
  expect_unchanged({"norm_add"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = param "g" : f32[8]
    %2 = rms_norm(%0, %1) {epsilon = 1e-06, has_weight = true}
    %3 = add(%0, %2)
    %4 = multiply(%2, %3)
    %5 = rms_norm(%4, %1) {epsilon = 1e-06, has_weight = true}
    %6 = add(%4, %5)
    %7 = rms_norm(%6) {epsilon = 1e-06}
    %8 = add(%6, %7)
    %9 = rms_norm(%8, %1) {epsilon = 1e-06, has_weight = true}
    %10 = add(%1, %9)
    output "kept" = %5
    output "y" = %10
  )");
}

TEST(AddNormTest, SumAndNormOfItAreTwoResults) {
  EXPECT_EQ(after({"add_norm"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 64]
    %2 = param "g" : f32[64]
    %3 = add(%0, %1)
    %4 = exp(%3)
    %5 = rms_norm(%3, %2) {epsilon = 1e-06, has_weight = true}
    %6 = multiply(%4, %5)
    output "y" = %6
    output "sum" = %3
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = input "r" : f32[tokens, 64]
    %2 = param "g" : f32[64]
    %3 = add_norm(%0, %1, %2) {epsilon = 1e-06, norm = "rms"}
    %4 = exp(%3.1)
    %5 = multiply(%4, %3)
    output "y" = %5
    output "sum" = %3.1
  )"));
}

TEST(AddNormTest, OneNormTakesTheSum) {
  EXPECT_EQ(after({"add_norm"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = input "r" : f32[8, 8]
    %2 = param "g" : f32[8]
    %3 = param "h" : f32[8]
    %4 = add(%0, %1)
    %5 = rms_norm(%4, %2) {epsilon = 1e-06, has_weight = true}
    %6 = rms_norm(%4, %3) {epsilon = 1e-06, has_weight = true}
    output "a" = %5
    output "b" = %6
  )"),
            plain(R"(
    %0 = input "x" : f32[8, 8]
    %1 = input "r" : f32[8, 8]
    %2 = param "g" : f32[8]
    %3 = param "h" : f32[8]
    %4 = add_norm(%0, %1, %2) {epsilon = 1e-06, norm = "rms"}
    %5 = rms_norm(%4.1, %3) {epsilon = 1e-06, has_weight = true}
    output "a" = %4
    output "b" = %5
  )"));
}

TEST(AddNormTest, StaysApart) {
  // A sum that broadcasts; no weight; a weight that depends on the sum.
  expect_unchanged({"add_norm"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = param "g" : f32[8]
    %2 = add(%0, %1)
    %3 = rms_norm(%2, %1) {epsilon = 1e-06, has_weight = true}
    %4 = add(%2, %3)
    %5 = rms_norm(%4) {epsilon = 1e-06}
    %6 = add(%4, %5)
    %7 = slice(%6) {start = [0, 0], step = (1, 1), stop = [1, 8]}
    %8 = reshape(%7) {shape = [8]}
    %9 = rms_norm(%6, %8) {epsilon = 1e-06, has_weight = true}
    output "y" = %9
  )");
}

}  // namespace
}  // namespace bessemer
