#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::graph_of;
using testing::plain;
using testing::run_only;

// What the pass makes of `expression` over f32 %0, %1, i32 %2, %3, bool %4, f16 %5 and the
// constants %6 = 0, %7 = 1, %8 = 2, %9 = -1, %10 = 4 (f32) and i32 %11 = 0, %12 = 1: the text of
// the output's node, or "%n" if it is an older value.
std::string simplified(const std::string& expression) {
  std::string text = R"(
    %0 = input "x" : f32[3, 4]
    %1 = input "y" : f32[3, 4]
    %2 = input "i" : i32[3]
    %3 = input "j" : i32[3]
    %4 = input "b" : bool[3, 4]
    %5 = input "h" : f16[3]
    %6 = constant 0.0
    %7 = constant 1.0
    %8 = constant 2.0
    %9 = constant -1.0
    %10 = constant 4.0
    %11 = constant 0x00000000 : i32[]
    %12 = constant 0x01000000 : i32[]
)";
  int next = 13;
  size_t at = 0;
  while (at < expression.size()) {
    const size_t end = std::min(expression.find("; ", at), expression.size());
    text += "%" + std::to_string(next++) + " = " + expression.substr(at, end - at) + "\n";
    at = end + 2;
  }
  text += "output \"o\" = %" + std::to_string(next - 1) + "\n";
  const Graph result = run_only({"algebraic"}, graph_of(text));
  const std::string all = testing::text_of(result);
  const Value out = result.outputs()[0].value;
  if (is_leaf(result.node(out).op)) return result.node(out).name;
  // Constants that the result does not read are gone: name operands by what they are.
  std::string call(to_string(result.node(out).op));
  call += "(";
  for (size_t i = 0; i < result.node(out).operands.size(); ++i) {
    const Node& operand = result.node(result.node(out).operands[i]);
    call += i > 0 ? ", " : "";
    call += operand.name.empty() ? std::string(to_string(operand.op)) : operand.name;
  }
  return call + ")";
}

TEST(AlgebraicTest, NeutralElements) {
  EXPECT_EQ(simplified("add(%0, %6)"), "x");
  EXPECT_EQ(simplified("add(%6, %0)"), "x");
  EXPECT_EQ(simplified("subtract(%0, %6)"), "x");
  EXPECT_EQ(simplified("subtract(%6, %0)"), "negative(x)");
  EXPECT_EQ(simplified("multiply(%0, %7)"), "x");
  EXPECT_EQ(simplified("multiply(%0, %9)"), "negative(x)");
  EXPECT_EQ(simplified("divide(%0, %7)"), "x");
  EXPECT_EQ(simplified("divide(%7, %0)"), "reciprocal(x)");
  EXPECT_EQ(simplified("pow(%0, %7)"), "x");
  EXPECT_EQ(simplified("pow(%0, %8)"), "square(x)");
  EXPECT_EQ(simplified("add(%2, %11)"), "i");
  EXPECT_EQ(simplified("floor_divide(%2, %12)"), "i");
  EXPECT_EQ(simplified("left_shift(%2, %11)"), "i");
}

TEST(AlgebraicTest, NothingIsLostOfFloats) {
  EXPECT_EQ(simplified("multiply(%0, %6)"), "multiply(x, constant)");
  EXPECT_EQ(simplified("subtract(%0, %0)"), "subtract(x, x)");
  EXPECT_EQ(simplified("pow(%0, %6)"), "pow(x, constant)");
  EXPECT_EQ(simplified("divide(%0, %0)"), "divide(x, x)");
}

TEST(AlgebraicTest, ZerosOfIntegers) {
  EXPECT_EQ(simplified("multiply(%2, %11)"), "expand(constant)");
  EXPECT_EQ(simplified("subtract(%2, %2)"), "expand(constant)");
  EXPECT_EQ(simplified("remainder(%2, %12)"), "expand(constant)");
}

TEST(AlgebraicTest, DivisionByAPowerOfTwo) {
  EXPECT_EQ(after({"algebraic"}, R"(
    %0 = input "x" : f32[4]
    %1 = input "h" : f16[4]
    %2 = constant 8.0
    %3 = constant 0x0004 : f16[]
    %4 = divide(%0, %2)
    %5 = divide(%1, %3)
    output "a" = %4
    output "b" = %5
  )"),
            plain(R"(
    %0 = input "x" : f32[4]
    %1 = input "h" : f16[4]
    %2 = constant 0.125
    %3 = constant 0x0074 : f16[]
    %4 = multiply(%0, %2)
    %5 = multiply(%1, %3)
    output "a" = %4
    output "b" = %5
  )"));
}

TEST(AlgebraicTest, DivisionThatRounds) {
  // By 3; by 0; by 2^-24, whose reciprocal f16 does not have; by a value of a larger shape.
  expect_unchanged({"algebraic"}, R"(
    %0 = input "x" : f32[4]
    %1 = input "h" : f16[4]
    %2 = constant 3.0
    %3 = constant 0.0
    %4 = constant 0x0100 : f16[]
    %5 = constant 0x00000040 : f32[1, 1]
    %6 = divide(%0, %2)
    %7 = divide(%6, %3)
    %8 = divide(%1, %4)
    %9 = divide(%7, %5)
    output "a" = %8
    output "b" = %9
  )");
}

TEST(AlgebraicTest, PairsThatCancel) {
  EXPECT_EQ(simplified("negative(%0); negative(%13)"), "x");
  EXPECT_EQ(simplified("logical_not(%4); logical_not(%13)"), "b");
  EXPECT_EQ(simplified("bitwise_not(%2); bitwise_not(%13)"), "i");
  EXPECT_EQ(simplified("relu(%0); relu(%13)"), "relu(x)");
  EXPECT_EQ(simplified("floor(%0); floor(%13)"), "floor(x)");
  EXPECT_EQ(simplified("negative(%0); abs(%13)"), "abs(x)");
  EXPECT_EQ(simplified("abs(%0); square(%13)"), "square(x)");
  EXPECT_EQ(simplified("negative(%1); add(%0, %13)"), "subtract(x, y)");
  EXPECT_EQ(simplified("negative(%0); add(%13, %1)"), "subtract(y, x)");
  EXPECT_EQ(simplified("negative(%1); subtract(%0, %13)"), "add(x, y)");
  EXPECT_EQ(simplified("negative(%0); negative(%1); multiply(%13, %14)"), "multiply(x, y)");
  EXPECT_EQ(simplified("negative(%0); negative(%13); negative(%14); add(%15, %1)"),
            "subtract(y, x)");
}

TEST(AlgebraicTest, CheaperOps) {
  EXPECT_EQ(simplified("multiply(%0, %0)"), "square(x)");
  EXPECT_EQ(simplified("sqrt(%0); reciprocal(%13)"), "rsqrt(x)");
  EXPECT_EQ(simplified("sqrt(%0); divide(%7, %13)"), "reciprocal(sqrt)");
  // f16 rounds the root first.
  EXPECT_EQ(simplified("sqrt(%5); reciprocal(%13)"), "reciprocal(sqrt)");
}

TEST(AlgebraicTest, Selections) {
  EXPECT_EQ(simplified("where(%4, %0, %0)"), "x");
  EXPECT_EQ(simplified("maximum(%0, %0)"), "x");
  EXPECT_EQ(simplified("logical_not(%4); where(%13, %0, %1)"), "where(b, y, x)");
  EXPECT_EQ(after({"algebraic"}, R"(
    %0 = input "x" : f32[4]
    %1 = input "y" : f32[4]
    %2 = constant 0x01 : bool[]
    %3 = where(%2, %0, %1)
    %4 = exp(%3)
    output "y" = %4
  )"),
            plain(R"(
    %0 = input "x" : f32[4]
    %1 = input "y" : f32[4]
    %2 = exp(%0)
    output "y" = %2
  )"));
}

TEST(AlgebraicTest, WhatBroadcastsStays) {
  // The neutral element makes the shape.
  expect_unchanged({"algebraic"}, R"(
    %0 = input "x" : f32[4]
    %1 = constant 0x0000803f : f32[1, 1]
    %2 = constant 0x00000000 : f32[1, 1]
    %3 = multiply(%0, %1)
    %4 = add(%0, %2)
    output "a" = %3
    output "b" = %4
  )");
}

}  // namespace
}  // namespace bessemer
