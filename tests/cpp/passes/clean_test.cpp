// dce, cse, constant_fold, sink_reshape.
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::graph_of;
using testing::plain;
using testing::run_only;

TEST(DceTest, KeepsTheInterface) {
  int64_t rewrites = 0;
  const Graph result = run_only({"dce"}, graph_of(R"(
    %0 = input "x" : f32[4]
    %1 = input "unused" : f32[4]
    %2 = param "w" : f32[4]
    %3 = state "s" : f32[4]
    %4 = constant 2.0
    %5 = exp(%1)
    %6 = multiply(%5, %4)
    %7 = add(%0, %0)
    output "y" = %7
  )"),
                                &rewrites);
  EXPECT_EQ(testing::text_of(result), plain(R"(
    %0 = input "x" : f32[4]
    %1 = input "unused" : f32[4]
    %2 = param "w" : f32[4]
    %3 = state "s" : f32[4]
    %4 = add(%0, %0)
    output "y" = %4
  )"));
  EXPECT_EQ(rewrites, 3);
}

TEST(DceTest, UpdatesNeedWhatTheyRead) {
  expect_unchanged({"dce"}, R"(
    %0 = state "s" : f32[4]
    %1 = constant 1.0
    %2 = add(%0, %1)
    output "before" = %0
    update "s" = %2
  )");
}

TEST(CseTest, EqualNodesAreOne) {
  EXPECT_EQ(after({"cse"}, R"(
    %0 = input "x" : f32[4]
    %1 = input "y" : f32[4]
    %2 = constant 2.0
    %3 = constant 2.0
    %4 = multiply(%0, %2)
    %5 = multiply(%3, %0)
    %6 = add(%4, %1)
    %7 = add(%1, %5)
    %8 = softmax(%6) {axis = 0}
    %9 = softmax(%7) {axis = 0}
    output "a" = %8
    output "b" = %9
  )"),
            plain(R"(
    %0 = input "x" : f32[4]
    %1 = input "y" : f32[4]
    %2 = constant 2.0
    %3 = multiply(%0, %2)
    %4 = add(%3, %1)
    %5 = softmax(%4) {axis = 0}
    output "a" = %5
    output "b" = %5
  )"));
}

TEST(CseTest, SeveralResults) {
  EXPECT_EQ(after({"cse"}, R"(
    %0 = input "x" : f32[8]
    %1 = top_k(%0) {k = 2}
    %2 = top_k(%0) {k = 2}
    output "values" = %1
    output "indices" = %2.1
  )"),
            plain(R"(
    %0 = input "x" : f32[8]
    %1 = top_k(%0) {k = 2}
    output "values" = %1
    output "indices" = %1.1
  )"));
}

TEST(CseTest, WhatDiffersStays) {
  // Attributes, order of operands, data, shape, dtype of a constant; leaves.
  expect_unchanged({"cse"}, R"(
    %0 = input "x" : f32[4, 4]
    %1 = input "y" : f32[4, 4]
    %2 = constant 0.0
    %3 = constant -0.0
    %4 = constant 0x00000000 : f32[1]
    %5 = constant 0x00000000 : i32[]
    %6 = softmax(%0) {axis = 0}
    %7 = softmax(%0) {axis = 1}
    %8 = subtract(%0, %1)
    %9 = subtract(%1, %0)
    %10 = maximum(%0, %1)
    %11 = maximum(%1, %0)
    %12 = pad(%0) {after = [1, 1], before = [0, 0], value = 0.0}
    %13 = pad(%0) {after = [1, 1], before = [0, 0], value = -0.0}
    output "a" = %6
    output "b" = %7
    output "c" = %8
    output "d" = %9
    output "e" = %10
    output "f" = %11
    output "g" = %12
    output "h" = %13
    output "i" = %2
    output "j" = %3
    output "k" = %4
    output "l" = %5
  )");
}

TEST(ConstantFoldTest, FoldsThroughSeveralOps) {
  EXPECT_EQ(after({"constant_fold"}, R"(
    %0 = input "x" : f32[2]
    %1 = constant 3.0
    %2 = constant 4.0
    %3 = multiply(%1, %2)
    %4 = sqrt(%3)
    %5 = square(%4)
    %6 = constant 0x0000803f00000040 : f32[2]
    %7 = add(%6, %5)
    %8 = reverse(%7) {axes = (0)}
    %9 = add(%0, %8)
    output "y" = %9
  )"),
            plain(R"(
    %0 = input "x" : f32[2]
    %1 = constant 0x0000604100005041 : f32[2]
    %2 = add(%0, %1)
    output "y" = %2
  )"));
}

TEST(ConstantFoldTest, LooksThroughExpandAndLeavesIt) {
  // A scalar says more than a million copies of it.
  EXPECT_EQ(after({"constant_fold"}, R"(
    %0 = constant 1.0
    %1 = expand(%0) {shape = [2, 2]}
    %2 = tril(%1) {k = 0}
    %3 = expand(%0) {shape = [1000, 1000]}
    %4 = input "x" : f32[1000, 1000]
    %5 = add(%4, %3)
    output "y" = %5
    output "z" = %2
  )"),
            plain(R"(
    %0 = constant 1.0
    %1 = input "x" : f32[1000, 1000]
    %2 = constant 0x0000803f000000000000803f0000803f : f32[2, 2]
    %3 = expand(%0) {shape = [1000, 1000]}
    %4 = add(%1, %3)
    output "y" = %4
    output "z" = %2
  )"));
}

TEST(ConstantFoldTest, LooksThroughIotaAndLeavesIt) {
  // The small comparison is folded; of the large one the iotas still tell attention that it is
  // causal.
  EXPECT_EQ(after({"constant_fold"}, R"(
    %0 = iota() {axis = 1, dtype = i32, shape = [1, 2]}
    %1 = iota() {axis = 0, dtype = i32, shape = [2, 1]}
    %2 = greater_equal(%1, %0)
    %3 = iota() {axis = 1, dtype = i32, shape = [1, 1000]}
    %4 = iota() {axis = 0, dtype = i32, shape = [1000, 1]}
    %5 = greater_equal(%4, %3)
    output "small" = %2
    output "large" = %5
  )"),
            plain(R"(
    %0 = constant 0x01000101 : bool[2, 2]
    %1 = iota() {axis = 1, dtype = i32, shape = [1, 1000]}
    %2 = iota() {axis = 0, dtype = i32, shape = [1000, 1]}
    %3 = greater_equal(%2, %1)
    output "small" = %0
    output "large" = %3
  )"));
}

TEST(ConstantFoldTest, LeavesWhatWouldGrowOrVary) {
  expect_unchanged({"constant_fold"}, R"(
    extent t <= 8
    %0 = param "w" : f32[2]
    %1 = constant 1.0
    %2 = expand(%1) {shape = [t]}
    %3 = exp(%2)
    %4 = exp(%0)
    %5 = iota() {axis = 0, dtype = i32, shape = [100000]}
    output "a" = %3
    output "b" = %4
    output "c" = %5
  )");
}

TEST(SinkReshapeTest, ElementwiseMeetsTheProduct) {
  EXPECT_EQ(after({"sink_reshape", "linear", "linear_activation"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 8]
    %1 = param "w" : f32[6, 8]
    %2 = matmul(%0, %1) {transpose_b = true}
    %3 = reshape(%2) {shape = [t, 2, 3]}
    %4 = silu(%3)
    output "y" = %4
  )"),
            plain(R"(
    extent t <= 8
    %0 = input "x" : f32[t, 8]
    %1 = param "w" : f32[6, 8]
    %2 = linear(%0, %1) {activation = "silu", n_weights = 1}
    %3 = reshape(%2) {shape = [t, 2, 3]}
    output "y" = %3
  )"));
}

TEST(SinkReshapeTest, TwoReshapesOfOneShape) {
  EXPECT_EQ(after({"sink_reshape"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 8]
    %1 = constant 2.0
    %2 = exp(%0)
    %3 = sin(%0)
    %4 = reshape(%2) {shape = [t, 2, 4]}
    %5 = reshape(%3) {shape = [t, 2, 4]}
    %6 = add(%4, %5)
    %7 = multiply(%6, %1)
    output "y" = %7
  )"),
            plain(R"(
    extent t <= 8
    %0 = input "x" : f32[t, 8]
    %1 = constant 2.0
    %2 = exp(%0)
    %3 = sin(%0)
    %4 = add(%2, %3)
    %5 = multiply(%4, %1)
    %6 = reshape(%5) {shape = [t, 2, 4]}
    output "y" = %6
  )"));
}

TEST(SinkReshapeTest, NotWhereNothingIsGained) {
  // A leaf; a second reader; another shape below; an operand that is no reshape.
  expect_unchanged({"sink_reshape"}, R"(
    %0 = input "x" : f32[2, 4]
    %1 = input "y" : f32[8]
    %2 = reshape(%0) {shape = [8]}
    %3 = exp(%2)
    %4 = reshape(%3) {shape = [4, 2]}
    %5 = exp(%4)
    %6 = add(%4, %5)
    %7 = reshape(%6) {shape = [8]}
    %8 = add(%7, %1)
    %9 = reshape(%8) {shape = [2, 4]}
    %10 = exp(%0)
    %11 = reshape(%10) {shape = [2, 4]}
    output "y" = %9
    output "z" = %11
  )");
}

}  // namespace
}  // namespace bessemer
