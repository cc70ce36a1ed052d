#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

constexpr const char* kInputs = R"(
    extent tokens <= 8
    %0 = input "q" : f32[tokens, 4, 16]
    %1 = input "k" : f32[tokens, 2, 16]
    %2 = input "v" : f32[tokens, 2, 8]
    %3 = input "seq" : i32[tokens]
    %4 = input "pos" : i32[tokens]
    %5 = state "ks" : f16[2, 32, 2, 16]
    %6 = state "vs" : f16[2, 32, 2, 8]
    %7 = param "gq" : f32[16]
    %8 = param "gk" : f32[16]
    %9 = param "factors" : f32[8]
    %10 = input "other" : i32[tokens]
)";

std::string with_inputs(std::string_view text) { return kInputs + std::string(text); }

TEST(RopeAppendTest, RotatesAndAppendsInOneNode) {
  EXPECT_EQ(after({"rope_append"}, with_inputs(R"(
    %11 = rope(%0, %4) {base = 5e+05}
    %12 = rope(%1, %4) {base = 5e+05, scale = 1.0}
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )")),
            plain(R"(
    extent tokens <= 8
    %0 = input "q" : f32[tokens, 4, 16]
    %1 = input "k" : f32[tokens, 2, 16]
    %2 = input "v" : f32[tokens, 2, 8]
    %3 = input "seq" : i32[tokens]
    %4 = input "pos" : i32[tokens]
    %5 = state "ks" : f16[2, 32, 2, 16]
    %6 = state "vs" : f16[2, 32, 2, 8]
    %7 = param "gq" : f32[16]
    %8 = param "gk" : f32[16]
    %9 = param "factors" : f32[8]
    %10 = input "other" : i32[tokens]
    %11 = rope_append(%0, %1, %2, %4, %3, %5, %6) {base = 5e+05, interleaved = false, n_rot = 0, scale = 1.0}
    %12 = attention(%11, %11.1, %11.2, %3, %4) {causal = true}
    output "y" = %12
    update "ks" = %11.1
    update "vs" = %11.2
  )"));
}

TEST(RopeAppendTest, TakesNormsAndFactors) {
  EXPECT_EQ(after({"rope_append"}, with_inputs(R"(
    %11 = rms_norm(%0, %7) {epsilon = 1e-06, has_weight = true}
    %12 = rms_norm(%1, %8) {epsilon = 1e-06, has_weight = true}
    %13 = rope(%11, %4, %9) {interleaved = true}
    %14 = rope(%12, %4, %9) {interleaved = true}
    %15 = scatter_rows(%5, %14, %3, %4)
    %16 = scatter_rows(%6, %2, %3, %4)
    %17 = attention(%13, %15, %16, %3, %4) {causal = true}
    output "y" = %17
    update "ks" = %15
    update "vs" = %16
  )")),
            plain(R"(
    extent tokens <= 8
    %0 = input "q" : f32[tokens, 4, 16]
    %1 = input "k" : f32[tokens, 2, 16]
    %2 = input "v" : f32[tokens, 2, 8]
    %3 = input "seq" : i32[tokens]
    %4 = input "pos" : i32[tokens]
    %5 = state "ks" : f16[2, 32, 2, 16]
    %6 = state "vs" : f16[2, 32, 2, 8]
    %7 = param "gq" : f32[16]
    %8 = param "gk" : f32[16]
    %9 = param "factors" : f32[8]
    %10 = input "other" : i32[tokens]
    %11 = rope_append(%0, %1, %2, %4, %3, %5, %6, %7, %8, %9) {base = 10000.0, epsilon = 1e-06, has_factors = true, has_qk_norm = true, interleaved = true, n_rot = 0, scale = 1.0}
    %12 = attention(%11, %11.1, %11.2, %3, %4) {causal = true}
    output "y" = %12
    update "ks" = %11.1
    update "vs" = %11.2
  )"));
}

TEST(RopeAppendTest, LeavesNormsThatDifferOutside) {
  // Other epsilons: the rotation and the append fuse all the same.
  EXPECT_EQ(after({"rope_append"}, with_inputs(R"(
    %11 = rms_norm(%0, %7) {epsilon = 1e-06, has_weight = true}
    %12 = rms_norm(%1, %8) {epsilon = 1e-05, has_weight = true}
    %13 = rope(%11, %4)
    %14 = rope(%12, %4)
    %15 = scatter_rows(%5, %14, %3, %4)
    %16 = scatter_rows(%6, %2, %3, %4)
    %17 = attention(%13, %15, %16, %3, %4) {causal = true}
    output "y" = %17
    update "ks" = %15
    update "vs" = %16
  )")),
            plain(R"(
    extent tokens <= 8
    %0 = input "q" : f32[tokens, 4, 16]
    %1 = input "k" : f32[tokens, 2, 16]
    %2 = input "v" : f32[tokens, 2, 8]
    %3 = input "seq" : i32[tokens]
    %4 = input "pos" : i32[tokens]
    %5 = state "ks" : f16[2, 32, 2, 16]
    %6 = state "vs" : f16[2, 32, 2, 8]
    %7 = param "gq" : f32[16]
    %8 = param "gk" : f32[16]
    %9 = param "factors" : f32[8]
    %10 = input "other" : i32[tokens]
    %11 = rms_norm(%0, %7) {epsilon = 1e-06, has_weight = true}
    %12 = rms_norm(%1, %8) {epsilon = 1e-05, has_weight = true}
    %13 = rope_append(%11, %12, %2, %4, %3, %5, %6) {base = 10000.0, interleaved = false, n_rot = 0, scale = 1.0}
    %14 = attention(%13, %13.1, %13.2, %3, %4) {causal = true}
    output "y" = %14
    update "ks" = %13.1
    update "vs" = %13.2
  )"));
}

TEST(RopeAppendTest, SecondAttentionOverTheSameKeysKeepsItsOwnRotation) {
  EXPECT_EQ(after({"rope_append"}, with_inputs(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    %16 = square(%0)
    %17 = rope(%16, %4)
    %18 = attention(%17, %13, %14, %3, %4) {causal = true}
    output "a" = %15
    output "b" = %18
    update "ks" = %13
    update "vs" = %14
  )")),
            plain(R"(
    extent tokens <= 8
    %0 = input "q" : f32[tokens, 4, 16]
    %1 = input "k" : f32[tokens, 2, 16]
    %2 = input "v" : f32[tokens, 2, 8]
    %3 = input "seq" : i32[tokens]
    %4 = input "pos" : i32[tokens]
    %5 = state "ks" : f16[2, 32, 2, 16]
    %6 = state "vs" : f16[2, 32, 2, 8]
    %7 = param "gq" : f32[16]
    %8 = param "gk" : f32[16]
    %9 = param "factors" : f32[8]
    %10 = input "other" : i32[tokens]
    %11 = rope_append(%0, %1, %2, %4, %3, %5, %6) {base = 10000.0, interleaved = false, n_rot = 0, scale = 1.0}
    %12 = attention(%11, %11.1, %11.2, %3, %4) {causal = true}
    %13 = square(%0)
    %14 = rope(%13, %4)
    %15 = attention(%14, %11.1, %11.2, %3, %4) {causal = true}
    output "a" = %12
    output "b" = %15
    update "ks" = %11.1
    update "vs" = %11.2
  )"));
}

// What each case changes; nothing may fuse.
void expect_apart(std::string_view text) { expect_unchanged({"rope_append"}, with_inputs(text)); }

TEST(RopeAppendTest, RotationsThatDiffer) {
  expect_apart(R"(
    %11 = rope(%0, %4) {base = 10000.0}
    %12 = rope(%1, %4) {base = 5e+05}
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )");
  expect_apart(R"(
    %11 = rope(%0, %4, %9)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )");
}

TEST(RopeAppendTest, PositionsThatDiffer) {
  // q is rotated by other positions; the rows are written elsewhere; v goes to other rows.
  expect_apart(R"(
    %11 = rope(%0, %10)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )");
  expect_apart(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %10)
    %14 = scatter_rows(%6, %2, %3, %10)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )");
  expect_apart(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %10, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    update "ks" = %13
    update "vs" = %14
  )");
}

TEST(RopeAppendTest, SecondReaderOfTheRotatedKeys) {
  expect_apart(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    output "y" = %15
    output "keys" = %12
    update "ks" = %13
    update "vs" = %14
  )");
}

TEST(RopeAppendTest, OldContentsOfAStateAreRead) {
  expect_apart(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = scatter_rows(%6, %2, %3, %4)
    %15 = attention(%11, %13, %14, %3, %4) {causal = true}
    %16 = cast(%6) {dtype = f32}
    output "y" = %15
    output "before" = %16
    update "ks" = %13
    update "vs" = %14
  )");
}

TEST(RopeAppendTest, ValuesThatDependOnTheRotatedQueries) {
  expect_apart(R"(
    %11 = rope(%0, %4)
    %12 = rope(%1, %4)
    %13 = scatter_rows(%5, %12, %3, %4)
    %14 = slice(%11) {start = [0, 0, 0], step = (1, 1, 1), stop = [tokens, 2, 8]}
    %15 = scatter_rows(%6, %14, %3, %4)
    %16 = attention(%11, %13, %15, %3, %4) {causal = true}
    output "y" = %16
    update "ks" = %13
    update "vs" = %15
  )");
}

TEST(RopeAppendTest, QueriesOfAnotherDtype) {
  expect_apart(R"(
    %11 = cast(%0) {dtype = f16}
    %12 = rope(%11, %4)
    %13 = rope(%1, %4)
    %14 = scatter_rows(%5, %13, %3, %4)
    %15 = scatter_rows(%6, %2, %3, %4)
    %16 = attention(%12, %14, %15, %3, %4) {causal = true}
    output "y" = %16
    update "ks" = %14
    update "vs" = %15
  )");
}

}  // namespace
}  // namespace bessemer
