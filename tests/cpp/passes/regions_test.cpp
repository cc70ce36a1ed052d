#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::graph_of;
using testing::plain;
using testing::run_only;

TEST(RegionsTest, AChainIsOneKernel) {
  EXPECT_EQ(after({"regions"}, R"(
    extent t <= 8
    %0 = input "x" : f32[t, 4]
    %1 = input "row" : f32[4]
    %2 = constant 2.0
    %3 = multiply(%0, %2)
    %4 = exp(%3)
    %5 = add(%4, %1)
    %6 = cast(%5) {dtype = f16}
    output "y" = %6
  )"),
            plain(R"(
    extent t <= 8
    %0 = input "x" : f32[t, 4]
    %1 = input "row" : f32[4]
    %2 = constant 2.0
    %3 = region(%0, %2, %1) {outputs = (6), program = "multiply 0 1; exp 3; add 4 2; cast:f16 5"}
    output "y" = %3
  )"));
}

TEST(RegionsTest, AnOpAloneStays) {
  expect_unchanged({"regions"}, R"(
    %0 = input "x" : f32[4, 4]
    %1 = exp(%0)
    %2 = softmax(%1) {axis = 1}
    %3 = sin(%2)
    output "y" = %3
  )");
}

TEST(RegionsTest, StepsWithOtherReadersAreFurtherResults) {
  EXPECT_EQ(after({"regions"}, R"(
    %0 = input "x" : f32[4, 4]
    %1 = exp(%0)
    %2 = sin(%1)
    %3 = add(%2, %0)
    %4 = softmax(%2) {axis = 1}
    %5 = add(%4, %3)
    output "kept" = %1
    output "y" = %5
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 4]
    %1 = region(%0) {outputs = (1, 2), program = "exp 0; sin 1"}
    %2 = softmax(%1.1) {axis = 1}
    %3 = region(%1.1, %0, %2) {outputs = (4), program = "add 0 1; add 2 3"}
    output "kept" = %1
    output "y" = %3
  )"));
}

TEST(RegionsTest, NoCycleThroughANodeOutside) {
  // softmax stands between %1 and %3: together they would wait for themselves.
  EXPECT_EQ(after({"regions"}, R"(
    %0 = input "x" : f32[4, 4]
    %1 = exp(%0)
    %2 = softmax(%1) {axis = 1}
    %3 = add(%1, %2)
    %4 = sin(%3)
    output "y" = %4
  )"),
            plain(R"(
    %0 = input "x" : f32[4, 4]
    %1 = exp(%0)
    %2 = softmax(%1) {axis = 1}
    %3 = region(%1, %2) {outputs = (3), program = "add 0 1; sin 2"}
    output "y" = %3
  )"));
}

TEST(RegionsTest, NoCycleBetweenTwoRegions) {
  // Each of the two chains reads a step of the other.
  int64_t rewrites = 0;
  const Graph result = run_only({"regions"}, graph_of(R"(
    %0 = input "x" : f32[4, 4]
    %1 = exp(%0)
    %2 = softmax(%1) {axis = 1}
    %3 = sin(%2)
    %4 = softmax(%3) {axis = 0}
    %5 = add(%1, %4)
    %6 = cos(%3)
    %7 = softmax(%6) {axis = 0}
    %8 = add(%7, %5)
    output "y" = %8
  )"),
                                &rewrites);
  EXPECT_GT(rewrites, 0);
  EXPECT_FALSE(result.nodes().empty());
}

TEST(RegionsTest, SmallerShapesAreNotComputedAgain) {
  expect_unchanged({"regions"}, R"(
    %0 = input "x" : f32[64, 64]
    %1 = input "row" : f32[64]
    %2 = exp(%1)
    %3 = add(%0, %2)
    %4 = reshape(%3) {shape = [4096]}
    %5 = sin(%4)
    output "y" = %5
  )");
}

TEST(RegionsTest, StaysWithinTheKernelsLimits) {
  // 40 ops of one input: 32 at most in one region. 20 inputs in a chain: 16 at most.
  std::string text = "%0 = input \"x\" : f32[4]\n";
  for (int i = 1; i <= 40; ++i) {
    text += "%" + std::to_string(i) + " = sin(%" + std::to_string(i - 1) + ")\n";
  }
  text += "output \"y\" = %40\n";
  int64_t rewrites = 0;
  const Graph chain = run_only({"regions"}, graph_of(text), &rewrites);
  EXPECT_EQ(rewrites, 2);
  EXPECT_EQ(chain.nodes().size(), 3u);

  text.clear();
  for (int i = 0; i < 20; ++i) {
    text += "%" + std::to_string(i) + " = input \"x" + std::to_string(i) + "\" : f32[4]\n";
  }
  text += "%20 = add(%0, %1)\n";
  for (int i = 2; i < 20; ++i) {
    text += "%" + std::to_string(19 + i) + " = add(%" + std::to_string(18 + i) + ", %" +
            std::to_string(i) + ")\n";
  }
  text += "output \"y\" = %38\n";
  const Graph wide = run_only({"regions"}, graph_of(text), &rewrites);
  EXPECT_EQ(rewrites, 2);
  for (const Node& node : wide.nodes()) EXPECT_LE(node.operands.size(), 16u);
}

TEST(RegionsTest, ResultsStayWithinTheKernelsLimit) {
  std::string text = "%0 = input \"x\" : f32[4]\n";
  std::string outputs;
  for (int i = 1; i <= 12; ++i) {
    text += "%" + std::to_string(i) + " = sin(%" + std::to_string(i - 1) + ")\n";
    outputs += "output \"o" + std::to_string(i) + "\" = %" + std::to_string(i) + "\n";
  }
  const Graph result = run_only({"regions"}, graph_of(text + outputs));
  for (const Node& node : result.nodes()) EXPECT_LE(node.results.size(), 8u);
  EXPECT_EQ(result.nodes().size(), 3u);
}

TEST(RegionsTest, StatesAreValuesLikeOthers) {
  EXPECT_EQ(after({"regions"}, R"(
    %0 = state "s" : f32[4]
    %1 = input "x" : f32[4]
    %2 = multiply(%0, %1)
    %3 = add(%2, %1)
    output "before" = %0
    update "s" = %3
  )"),
            plain(R"(
    %0 = state "s" : f32[4]
    %1 = input "x" : f32[4]
    %2 = region(%0, %1) {outputs = (3), program = "multiply 0 1; add 2 1"}
    output "before" = %0
    update "s" = %2
  )"));
}

}  // namespace
}  // namespace bessemer
