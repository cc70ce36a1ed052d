#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

TEST(RecogniseAttentionTest, OneSequence) {
  EXPECT_EQ(after({"recognise_attention"}, R"(
    extent t <= 16
    %0 = input "q" : f32[4, t, 8]
    %1 = input "k" : f32[4, t, 8]
    %2 = input "v" : f32[4, t, 6]
    %3 = constant 0.25
    %4 = matmul(%0, %1) {transpose_b = true}
    %5 = multiply(%4, %3)
    %6 = softmax(%5) {axis = -1}
    %7 = matmul(%6, %2)
    output "y" = %7
  )"),
            plain(R"(
    extent t <= 16
    %0 = input "q" : f32[4, t, 8]
    %1 = input "k" : f32[4, t, 8]
    %2 = input "v" : f32[4, t, 6]
    %3 = constant 0x00000000 : i32[]
    %4 = constant 0x00000000 : i32[]
    %5 = transpose(%0) {perm = (1, 0, 2)}
    %6 = transpose(%1) {perm = (1, 0, 2)}
    %7 = reshape(%6) {shape = [1, t, 4, 8]}
    %8 = transpose(%2) {perm = (1, 0, 2)}
    %9 = reshape(%8) {shape = [1, t, 4, 6]}
    %10 = expand(%3) {shape = [t]}
    %11 = expand(%4) {shape = [t]}
    %12 = attention(%5, %7, %9, %10, %11) {scale = 0.25}
    %13 = transpose(%12) {perm = (1, 0, 2)}
    output "y" = %13
  )"));
}

// As an encoder has it: heads apart by reshape and transpose, which cancel.
TEST(RecogniseAttentionTest, BatchWithTheGraphsOwnTransposes) {
  EXPECT_EQ(after({"canonicalise", "recognise_attention"}, R"(
    %0 = input "q" : f32[2, 5, 32]
    %1 = input "k" : f32[2, 7, 32]
    %2 = input "v" : f32[2, 7, 32]
    %3 = input "bias" : f32[4, 5, 7]
    %4 = constant 2.0
    %5 = reshape(%0) {shape = [2, 5, 4, 8]}
    %6 = transpose(%5) {perm = (0, 2, 1, 3)}
    %7 = reshape(%1) {shape = [2, 7, 4, 8]}
    %8 = transpose(%7) {perm = (0, 2, 3, 1)}
    %9 = reshape(%2) {shape = [2, 7, 4, 8]}
    %10 = transpose(%9) {perm = (0, 2, 1, 3)}
    %11 = matmul(%6, %8)
    %12 = divide(%11, %4)
    %13 = add(%12, %3)
    %14 = softmax(%13) {axis = 3}
    %15 = matmul(%14, %10)
    %16 = transpose(%15) {perm = (0, 2, 1, 3)}
    %17 = reshape(%16) {shape = [2, 5, 32]}
    output "y" = %17
  )"),
            plain(R"(
    %0 = input "q" : f32[2, 5, 32]
    %1 = input "k" : f32[2, 7, 32]
    %2 = input "v" : f32[2, 7, 32]
    %3 = input "bias" : f32[4, 5, 7]
    %4 = constant 0x00000000 : i32[]
    %5 = reshape(%0) {shape = [10, 4, 8]}
    %6 = reshape(%1) {shape = [2, 7, 4, 8]}
    %7 = reshape(%2) {shape = [2, 7, 4, 8]}
    %8 = iota() {axis = 0, dtype = i32, shape = [2, 5]}
    %9 = reshape(%8) {shape = [10]}
    %10 = expand(%4) {shape = [10]}
    %11 = reshape(%3) {shape = [1, 4, 5, 7]}
    %12 = expand(%11) {shape = [2, 4, 5, 7]}
    %13 = transpose(%12) {perm = (1, 0, 2, 3)}
    %14 = reshape(%13) {shape = [4, 10, 7]}
    %15 = attention(%5, %6, %7, %9, %10, %14) {has_bias = true, scale = 0.5}
    %16 = reshape(%15) {shape = [2, 5, 32]}
    output "y" = %16
  )"));
}

TEST(RecogniseAttentionTest, CausalByIotasAndGroupedHeads) {
  EXPECT_EQ(after({"canonicalise", "recognise_attention", "cse"}, R"(
    extent t <= 16
    %0 = input "q" : f32[2, 4, t, 8]
    %1 = input "k" : f32[2, 2, t, 8]
    %2 = input "v" : f32[2, 2, t, 8]
    %3 = reshape(%1) {shape = [2, 2, 1, t, 8]}
    %4 = expand(%3) {shape = [2, 2, 2, t, 8]}
    %5 = reshape(%4) {shape = [2, 4, t, 8]}
    %6 = reshape(%2) {shape = [2, 2, 1, t, 8]}
    %7 = expand(%6) {shape = [2, 2, 2, t, 8]}
    %8 = reshape(%7) {shape = [2, 4, t, 8]}
    %9 = iota() {axis = 0, dtype = i32, shape = [t]}
    %10 = reshape(%9) {shape = [t, 1]}
    %11 = greater_equal(%10, %9)
    %12 = constant -inf
    %13 = matmul(%0, %5) {transpose_b = true}
    %14 = where(%11, %13, %12)
    %15 = softmax(%14) {axis = 3}
    %16 = matmul(%15, %8)
    output "y" = %16
  )"),
            plain(R"(
    extent t <= 16
    %0 = input "q" : f32[2, 4, t, 8]
    %1 = input "k" : f32[2, 2, t, 8]
    %2 = input "v" : f32[2, 2, t, 8]
    %3 = transpose(%0) {perm = (0, 2, 1, 3)}
    %4 = reshape(%3) {shape = [2*t, 4, 8]}
    %5 = transpose(%1) {perm = (0, 2, 1, 3)}
    %6 = transpose(%2) {perm = (0, 2, 1, 3)}
    %7 = iota() {axis = 0, dtype = i32, shape = [2, t]}
    %8 = reshape(%7) {shape = [2*t]}
    %9 = iota() {axis = 1, dtype = i32, shape = [2, t]}
    %10 = reshape(%9) {shape = [2*t]}
    %11 = attention(%4, %5, %6, %8, %10) {causal = true, scale = 1.0}
    %12 = reshape(%11) {shape = [2, t, 4, 8]}
    %13 = transpose(%12) {perm = (0, 2, 1, 3)}
    output "y" = %13
  )"));
}

TEST(RecogniseAttentionTest, CausalByALiteralMaskAndSoftcap) {
  // tril(ones), folded; a finite minus infinity is one here, as every query sees itself.
  EXPECT_EQ(after({"constant_fold", "recognise_attention"}, R"(
    %0 = input "q" : f32[1, 3, 8]
    %1 = input "k" : f32[1, 3, 8]
    %2 = input "v" : f32[1, 3, 8]
    %3 = constant 0x01 : bool[]
    %4 = expand(%3) {shape = [3, 3]}
    %5 = tril(%4) {k = 0}
    %6 = constant 20.0
    %7 = constant 0.05
    %8 = constant -1e+30
    %9 = matmul(%0, %1) {transpose_b = true}
    %10 = multiply(%9, %7)
    %11 = tanh(%10)
    %12 = multiply(%11, %6)
    %13 = where(%5, %12, %8)
    %14 = softmax(%13) {axis = 2}
    %15 = matmul(%14, %2)
    output "y" = %15
  )"),
            plain(R"(
    %0 = input "q" : f32[1, 3, 8]
    %1 = input "k" : f32[1, 3, 8]
    %2 = input "v" : f32[1, 3, 8]
    %3 = constant 0x00000000 : i32[]
    %4 = transpose(%0) {perm = (1, 0, 2)}
    %5 = transpose(%1) {perm = (1, 0, 2)}
    %6 = reshape(%5) {shape = [1, 3, 1, 8]}
    %7 = transpose(%2) {perm = (1, 0, 2)}
    %8 = reshape(%7) {shape = [1, 3, 1, 8]}
    %9 = expand(%3) {shape = [3]}
    %10 = iota() {axis = 1, dtype = i32, shape = [1, 3]}
    %11 = reshape(%10) {shape = [3]}
    %12 = attention(%4, %6, %8, %9, %11) {causal = true, scale = 1.0000000149011612, softcap = 20.0}
    %13 = transpose(%12) {perm = (1, 0, 2)}
    output "y" = %13
  )"));
}

TEST(RecogniseAttentionTest, MasksOfKeysAndOfPairs) {
  EXPECT_EQ(after({"recognise_attention"}, R"(
    %0 = input "q" : f32[2, 4, 5, 8]
    %1 = input "k" : f32[2, 1, 7, 8]
    %2 = input "v" : f32[2, 1, 7, 8]
    %3 = input "padding" : bool[2, 1, 1, 7]
    %4 = input "hidden" : bool[5, 7]
    %5 = constant -inf
    %6 = constant 0.0
    %7 = where(%4, %5, %6)
    %8 = matmul(%0, %1) {transpose_b = true}
    %9 = where(%3, %8, %5)
    %10 = add(%9, %7)
    %11 = softmax(%10) {axis = 3}
    %12 = matmul(%11, %2)
    output "y" = %12
  )"),
            plain(R"(
    %0 = input "q" : f32[2, 4, 5, 8]
    %1 = input "k" : f32[2, 1, 7, 8]
    %2 = input "v" : f32[2, 1, 7, 8]
    %3 = input "padding" : bool[2, 1, 1, 7]
    %4 = input "hidden" : bool[5, 7]
    %5 = constant 0x00000000 : i32[]
    %6 = transpose(%0) {perm = (0, 2, 1, 3)}
    %7 = reshape(%6) {shape = [10, 4, 8]}
    %8 = transpose(%1) {perm = (0, 2, 1, 3)}
    %9 = transpose(%2) {perm = (0, 2, 1, 3)}
    %10 = iota() {axis = 0, dtype = i32, shape = [2, 5]}
    %11 = reshape(%10) {shape = [10]}
    %12 = expand(%5) {shape = [10]}
    %13 = logical_not(%4)
    %14 = logical_and(%3, %13)
    %15 = reshape(%14) {shape = [10, 7]}
    %16 = attention(%7, %8, %9, %11, %12, %15) {has_mask = true, scale = 1.0}
    %17 = reshape(%16) {shape = [2, 5, 4, 8]}
    %18 = transpose(%17) {perm = (0, 2, 1, 3)}
    output "y" = %18
  )"));
}

TEST(RecogniseAttentionTest, WhatIsNoAttention) {
  // A softmax over queries; a finite value where a query may see nothing; weights that are read
  // elsewhere; a mask that differs by head; a scale outside the bias.
  const std::string inputs = R"(
    %0 = input "q" : f32[2, 5, 8]
    %1 = input "k" : f32[2, 5, 8]
    %2 = input "v" : f32[2, 5, 8]
    %3 = input "mask" : bool[5, 5]
    %4 = input "by_head" : bool[2, 5, 5]
    %5 = input "bias" : f32[5, 5]
    %6 = constant -1e+09
    %7 = constant -inf
    %8 = constant 0.5
    %9 = matmul(%0, %1) {transpose_b = true}
)";
  expect_unchanged({"recognise_attention"}, inputs + R"(
    %10 = softmax(%9) {axis = 1}
    %11 = matmul(%10, %2)
    output "y" = %11
  )");
  expect_unchanged({"recognise_attention"}, inputs + R"(
    %10 = where(%3, %9, %6)
    %11 = softmax(%10) {axis = 2}
    %12 = matmul(%11, %2)
    output "y" = %12
  )");
  expect_unchanged({"recognise_attention"}, inputs + R"(
    %10 = softmax(%9) {axis = 2}
    %11 = matmul(%10, %2)
    output "y" = %11
    output "weights" = %10
  )");
  expect_unchanged({"recognise_attention"}, inputs + R"(
    %10 = where(%4, %9, %7)
    %11 = softmax(%10) {axis = 2}
    %12 = matmul(%11, %2)
    output "y" = %12
  )");
  expect_unchanged({"recognise_attention"}, inputs + R"(
    %10 = add(%9, %5)
    %11 = multiply(%10, %8)
    %12 = softmax(%11) {axis = 2}
    %13 = matmul(%12, %2)
    output "y" = %13
  )");
}

TEST(RecogniseAttentionTest, MaskThatIsCausalTheWrongWayRoundIsAMask) {
  EXPECT_EQ(after({"recognise_attention"}, R"(
    %0 = input "q" : f32[1, 5, 8]
    %1 = input "k" : f32[1, 5, 8]
    %2 = input "v" : f32[1, 5, 8]
    %3 = constant -inf
    %4 = iota() {axis = 0, dtype = i32, shape = [5, 5]}
    %5 = iota() {axis = 1, dtype = i32, shape = [5, 5]}
    %6 = less_equal(%4, %5)
    %7 = matmul(%0, %1) {transpose_b = true}
    %8 = where(%6, %7, %3)
    %9 = softmax(%8) {axis = 2}
    %10 = matmul(%9, %2)
    output "y" = %10
  )"),
            plain(R"(
    %0 = input "q" : f32[1, 5, 8]
    %1 = input "k" : f32[1, 5, 8]
    %2 = input "v" : f32[1, 5, 8]
    %3 = constant 0x00000000 : i32[]
    %4 = constant 0x00000000 : i32[]
    %5 = iota() {axis = 0, dtype = i32, shape = [5, 5]}
    %6 = iota() {axis = 1, dtype = i32, shape = [5, 5]}
    %7 = less_equal(%5, %6)
    %8 = transpose(%0) {perm = (1, 0, 2)}
    %9 = transpose(%1) {perm = (1, 0, 2)}
    %10 = reshape(%9) {shape = [1, 5, 1, 8]}
    %11 = transpose(%2) {perm = (1, 0, 2)}
    %12 = reshape(%11) {shape = [1, 5, 1, 8]}
    %13 = expand(%3) {shape = [5]}
    %14 = expand(%4) {shape = [5]}
    %15 = attention(%8, %10, %12, %13, %14, %7) {has_mask = true, scale = 1.0}
    %16 = transpose(%15) {perm = (1, 0, 2)}
    output "y" = %16
  )"));
}

}  // namespace
}  // namespace bessemer
