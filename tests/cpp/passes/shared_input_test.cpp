#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

TEST(SharedInputTest, ThreeProductsBecomeOneWithoutTouchingTheWeights) {
  EXPECT_EQ(after({"shared_input"}, R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "q" : q4_1[64, 64]
    %2 = param "k" : q8_0[16, 64]
    %3 = param "v" : f16[16, 64]
    %4 = linear(%0, %1) {n_weights = 1}
    %5 = linear(%0, %2) {n_weights = 1}
    %6 = linear(%0, %3) {n_weights = 1}
    %7 = exp(%5)
    output "q" = %4
    output "k" = %7
    output "v" = %6
  )"),
            plain(R"(
    extent tokens <= 8
    %0 = input "x" : f32[tokens, 64]
    %1 = param "q" : q4_1[64, 64]
    %2 = param "k" : q8_0[16, 64]
    %3 = param "v" : f16[16, 64]
    %4 = linear(%0, %1, %2, %3) {n_weights = 3}
    %5 = exp(%4.1)
    output "q" = %4
    output "k" = %5
    output "v" = %4.2
  )"));
}

TEST(SharedInputTest, BiasesComeBehindTheWeights) {
  EXPECT_EQ(after({"shared_input"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = param "v" : f32[2, 8]
    %3 = param "wb" : f32[6]
    %4 = param "vb" : f32[2]
    %5 = linear(%0, %1, %3) {activation = "relu", has_bias = true, n_weights = 1}
    %6 = linear(%0, %2, %4) {activation = "relu", has_bias = true, n_weights = 1}
    output "a" = %5
    output "b" = %6
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = param "v" : f32[2, 8]
    %3 = param "wb" : f32[6]
    %4 = param "vb" : f32[2]
    %5 = linear(%0, %1, %2, %3, %4) {activation = "relu", has_bias = true, n_weights = 2}
    output "a" = %5
    output "b" = %5.1
  )"));
}

TEST(SharedInputTest, FourAtMost) {
  EXPECT_EQ(after({"shared_input"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = linear(%0, %1) {n_weights = 1}
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = linear(%0, %1) {n_weights = 1}
    %5 = linear(%0, %1) {n_weights = 1}
    %6 = linear(%0, %1) {n_weights = 1}
    %7 = linear(%0, %1) {n_weights = 1}
    output "a" = %2
    output "b" = %3
    output "c" = %4
    output "d" = %5
    output "e" = %6
    output "f" = %7
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 8]
    %1 = param "w" : f32[6, 8]
    %2 = linear(%0, %1, %1, %1, %1) {n_weights = 4}
    %3 = linear(%0, %1, %1) {n_weights = 2}
    output "a" = %2
    output "b" = %2.1
    output "c" = %2.2
    output "d" = %2.3
    output "e" = %3
    output "f" = %3.1
  )"));
}

TEST(SharedInputTest, WhatDiffersStaysApart) {
  // Another input, activation, bias; a gate; a residual.
  expect_unchanged({"shared_input"}, R"(
    %0 = input "x" : f32[4, 8]
    %1 = input "z" : f32[4, 8]
    %2 = param "w" : f32[8, 8]
    %3 = param "b" : f32[8]
    %4 = linear(%0, %2) {n_weights = 1}
    %5 = linear(%1, %2) {n_weights = 1}
    %6 = linear(%4, %2) {n_weights = 1}
    %7 = linear(%4, %2) {activation = "silu", n_weights = 1}
    %8 = linear(%4, %2, %3) {has_bias = true, n_weights = 1}
    %9 = linear(%4, %2, %2) {activation = "silu", gated = true, n_weights = 2}
    %10 = linear(%4, %2, %5) {has_residual = true, n_weights = 1}
    output "a" = %6
    output "b" = %7
    output "c" = %8
    output "d" = %9
    output "e" = %10
  )");
}

TEST(SharedInputTest, NoMemberDependsOnAnother) {
  // The second weight is made from the first product.
  expect_unchanged({"shared_input"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = param "w" : f32[8, 8]
    %2 = linear(%0, %1) {n_weights = 1}
    %3 = exp(%2)
    %4 = linear(%0, %3) {n_weights = 1}
    output "y" = %4
  )");
}

TEST(SharedInputTest, ProductsOfOtherInputsPart) {
  // Keys of two layers over one encoder result: made together, the second would wait in memory.
  expect_unchanged({"shared_input"}, R"(
    %0 = input "encoded" : f32[8, 8]
    %1 = input "x" : f32[8, 8]
    %2 = param "w" : f32[8, 8]
    %3 = linear(%0, %2) {n_weights = 1}
    %4 = multiply(%1, %3)
    %5 = linear(%4, %2) {n_weights = 1}
    %6 = linear(%0, %2) {n_weights = 1}
    %7 = multiply(%5, %6)
    output "y" = %7
  )");
}

}  // namespace
}  // namespace bessemer
