#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

TEST(CanonicaliseTest, ConstantsStandOnTheRight) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "x" : f32[4]
    %1 = constant 2.0
    %2 = add(%1, %0)
    %3 = less(%1, %2)
    %4 = greater_equal(%1, %2)
    %5 = multiply(%1, %1)
    output "a" = %3
    output "b" = %4
    output "c" = %5
  )"),
            plain(R"(
    %0 = input "x" : f32[4]
    %1 = constant 2.0
    %2 = add(%0, %1)
    %3 = greater(%2, %1)
    %4 = less_equal(%2, %1)
    %5 = multiply(%1, %1)
    output "a" = %3
    output "b" = %4
    output "c" = %5
  )"));
}

TEST(CanonicaliseTest, OrderMattersElsewhere) {
  // max(+0, -0) is not max(-0, +0); a difference is no sum.
  expect_unchanged({"canonicalise"}, R"(
    %0 = input "x" : f32[4]
    %1 = constant 2.0
    %2 = subtract(%1, %0)
    %3 = maximum(%1, %2)
    %4 = pow(%1, %3)
    output "y" = %4
  )");
}

TEST(CanonicaliseTest, TransposesBecomeFlagsOfProducts) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "x" : f32[2, 8, 4]
    %1 = param "w" : f32[6, 8]
    %2 = transpose(%0) {perm = (0, 2, 1)}
    %3 = transpose(%1) {perm = (1, 0)}
    %4 = matmul(%2, %3)
    %5 = transpose(%4) {perm = (0, 2, 1)}
    %6 = matmul(%5, %0) {transpose_b = true}
    output "y" = %4
    output "z" = %6
  )"),
            plain(R"(
    %0 = input "x" : f32[2, 8, 4]
    %1 = param "w" : f32[6, 8]
    %2 = matmul(%0, %1) {transpose_a = true, transpose_b = true}
    %3 = matmul(%2, %0) {transpose_a = true, transpose_b = true}
    output "y" = %2
    output "z" = %3
  )"));
}

TEST(CanonicaliseTest, OtherTransposesStay) {
  expect_unchanged({"canonicalise"}, R"(
    %0 = input "x" : f32[2, 8, 4]
    %1 = input "z" : f32[2, 4, 3]
    %2 = transpose(%0) {perm = (1, 0, 2)}
    %3 = slice(%2) {start = [0, 0, 0], step = (1, 1, 1), stop = [2, 2, 4]}
    %4 = matmul(%3, %1)
    output "y" = %4
  )");
}

TEST(CanonicaliseTest, WhatDoesNothingGoes) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 4]
    %1 = reshape(%0) {shape = [t, 4]}
    %2 = cast(%1) {dtype = f32}
    %3 = transpose(%2) {perm = (0, 1)}
    %4 = expand(%3) {shape = [t, 4]}
    %5 = slice(%4) {start = [0, 0], step = (1, 1), stop = [t, 4]}
    %6 = pad(%5) {after = [0, 0], before = [0, 0], value = 1.0}
    %7 = tile(%6) {repeats = (1, 1)}
    %8 = concat(%7) {axis = 0}
    %9 = split(%8) {axis = 1, sizes = [4]}
    %10 = reverse(%9) {axes = ()}
    %11 = exp(%10)
    output "y" = %11
  )"),
            plain(R"(
    extent t <= 8
    %0 = input "x" : f32[t, 4]
    %1 = exp(%0)
    output "y" = %1
  )"));
}

TEST(CanonicaliseTest, WhatDoesSomethingStays) {
  expect_unchanged({"canonicalise"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 4]
    %1 = slice(%0) {start = [0, 3], step = (1, -1), stop = [t, -1]}
    %2 = reverse(%1) {axes = (1)}
    %3 = tile(%2) {repeats = (1, 1, 1)}
    %4 = pad(%3) {after = [0, 0, 1], before = [0, 0, 0], value = 1.0}
    %5 = cast(%4) {dtype = f16}
    %6 = expand(%5) {shape = [2, t, 5]}
    output "y" = %6
  )");
}

TEST(CanonicaliseTest, NestedViewsMerge) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "x" : f32[2, 3, 4]
    %1 = reshape(%0) {shape = [6, 4]}
    %2 = reshape(%1) {shape = [-1]}
    %3 = transpose(%0) {perm = (1, 2, 0)}
    %4 = transpose(%3) {perm = (1, 0, 2)}
    %5 = transpose(%0) {perm = (2, 0, 1)}
    %6 = transpose(%5) {perm = (1, 2, 0)}
    %7 = exp(%6)
    %8 = input "row" : f32[1, 4]
    %9 = expand(%8) {shape = [3, 4]}
    %10 = expand(%9) {shape = [2, 3, 4]}
    output "a" = %2
    output "b" = %4
    output "c" = %7
    output "d" = %10
  )"),
            plain(R"(
    %0 = input "x" : f32[2, 3, 4]
    %1 = input "row" : f32[1, 4]
    %2 = reshape(%0) {shape = [24]}
    %3 = transpose(%0) {perm = (2, 1, 0)}
    %4 = exp(%0)
    %5 = expand(%1) {shape = [2, 3, 4]}
    output "a" = %2
    output "b" = %3
    output "c" = %4
    output "d" = %5
  )"));
}

TEST(CanonicaliseTest, TransposeOfSizeOneAxesIsAReshape) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 1, 4]
    %1 = transpose(%0) {perm = (1, 0, 2)}
    %2 = reshape(%1) {shape = [t, 4]}
    output "a" = %1
    output "b" = %2
  )"),
            plain(R"(
    extent t <= 8
    %0 = input "x" : f32[t, 1, 4]
    %1 = reshape(%0) {shape = [1, t, 4]}
    %2 = reshape(%0) {shape = [t, 4]}
    output "a" = %1
    output "b" = %2
  )"));
}

TEST(CanonicaliseTest, CastsMergeWhereTheFirstIsExact) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "h" : f16[4]
    %1 = input "i" : i8[4]
    %2 = input "b" : bool[4]
    %3 = cast(%0) {dtype = f32}
    %4 = cast(%3) {dtype = f16}
    %5 = cast(%3) {dtype = bf16}
    %6 = cast(%1) {dtype = i32}
    %7 = cast(%6) {dtype = f32}
    %8 = cast(%2) {dtype = i32}
    %9 = cast(%8) {dtype = f16}
    output "a" = %4
    output "b" = %5
    output "c" = %7
    output "d" = %9
  )"),
            plain(R"(
    %0 = input "h" : f16[4]
    %1 = input "i" : i8[4]
    %2 = input "b" : bool[4]
    %3 = cast(%0) {dtype = bf16}
    %4 = cast(%1) {dtype = f32}
    %5 = cast(%2) {dtype = f16}
    output "a" = %0
    output "b" = %3
    output "c" = %4
    output "d" = %5
  )"));
}

TEST(CanonicaliseTest, CastsThatLoseSomethingStay) {
  // f32 through f16; bf16 through f16; an i32 through f32; an i32 through u32; f32 through bool.
  expect_unchanged({"canonicalise"}, R"(
    %0 = input "x" : f32[4]
    %1 = input "b" : bf16[4]
    %2 = input "i" : i32[4]
    %3 = cast(%0) {dtype = f16}
    %4 = cast(%3) {dtype = f32}
    %5 = cast(%1) {dtype = f16}
    %6 = cast(%5) {dtype = f32}
    %7 = cast(%2) {dtype = f32}
    %8 = cast(%7) {dtype = f16}
    %9 = cast(%2) {dtype = u32}
    %10 = cast(%9) {dtype = i64}
    %11 = cast(%0) {dtype = bool}
    %12 = cast(%11) {dtype = f32}
    output "a" = %4
    output "b" = %6
    output "c" = %8
    output "d" = %10
    output "e" = %12
  )");
}

TEST(CanonicaliseTest, AxesCountFromTheFront) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "x" : f32[2, 3, 4]
    %1 = sum(%0) {axes = (-1, 0), keepdims = true}
    %2 = softmax(%0) {axis = -1}
    %3 = concat(%0, %2) {axis = -2}
    %4 = reverse(%0) {axes = (-1, 0)}
    output "a" = %1
    output "b" = %3
    output "c" = %4
  )"),
            plain(R"(
    %0 = input "x" : f32[2, 3, 4]
    %1 = sum(%0) {axes = (0, 2), keepdims = true}
    %2 = softmax(%0) {axis = 2}
    %3 = concat(%0, %2) {axis = 1}
    %4 = reverse(%0) {axes = (0, 2)}
    output "a" = %1
    output "b" = %3
    output "c" = %4
  )"));
}

TEST(CanonicaliseTest, ExpandGoesWhereTheOpBroadcasts) {
  EXPECT_EQ(after({"canonicalise"}, R"(
    %0 = input "x" : f32[2, 4]
    %1 = input "row" : f32[4]
    %2 = input "cell" : f32[1, 1]
    %3 = expand(%1) {shape = [2, 4]}
    %4 = add(%0, %3)
    %5 = expand(%2) {shape = [2, 4]}
    %6 = multiply(%5, %1)
    output "a" = %4
    output "b" = %6
  )"),
            plain(R"(
    %0 = input "x" : f32[2, 4]
    %1 = input "row" : f32[4]
    %2 = input "cell" : f32[1, 1]
    %3 = add(%0, %1)
    %4 = expand(%2) {shape = [2, 4]}
    %5 = multiply(%4, %1)
    output "a" = %3
    output "b" = %5
  )"));
}

}  // namespace
}  // namespace bessemer
