// recognise_activation and recognise_norm: the spellings that they know and those that they must
// not.
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace bessemer {
namespace {

using testing::after;
using testing::expect_unchanged;
using testing::plain;

// A graph over f32 x [2, 8] with the constants that activations need; `body` starts at %20 and its
// last value, %`last`, is the output.
std::string activation(const std::string& body, int last) {
  return R"(
    %0 = input "x" : f32[2, 8]
    %1 = constant 0.5
    %2 = constant 1.0
    %3 = constant 0.70710678
    %4 = constant 1.4142135
    %5 = constant 0.7978845608
    %6 = constant 0.044715
    %7 = constant 3.0
    %8 = constant 0.0
    %9 = constant 1.702
    %10 = negative(%0)
    %11 = exp(%10)
    %12 = add(%11, %2)
    %13 = square(%0)
    %14 = multiply(%13, %0)
    %15 = multiply(%14, %6)
    %16 = add(%0, %15)
    %17 = multiply(%16, %5)
    %18 = tanh(%17)
    %19 = add(%18, %2)
)" + body +
         "\noutput \"y\" = %" + std::to_string(last) + "\n";
}

void expect_recognised(const std::string& op, const std::string& body, int last) {
  EXPECT_EQ(after({"dce", "recognise_activation"}, activation(body, last)), plain(R"(
    %0 = input "x" : f32[2, 8]
    %1 = )" + op + R"((%0)
    output "y" = %1
  )")) << body;
}

TEST(RecogniseActivationTest, GeluByErf) {
  expect_recognised("gelu", R"(
    %20 = multiply(%0, %3)
    %21 = erf(%20)
    %22 = add(%21, %2)
    %23 = multiply(%0, %1)
    %24 = multiply(%23, %22))",
                    24);
  expect_recognised("gelu", R"(
    %20 = divide(%0, %4)
    %21 = erf(%20)
    %22 = add(%2, %21)
    %23 = multiply(%0, %22)
    %24 = multiply(%23, %1))",
                    24);
  expect_recognised("gelu", R"(
    %20 = divide(%0, %4)
    %21 = erf(%20)
    %22 = add(%21, %2)
    %23 = multiply(%1, %22)
    %24 = multiply(%23, %0))",
                    24);
}

TEST(RecogniseActivationTest, GeluByTanh) {
  expect_recognised("gelu_tanh", R"(
    %20 = multiply(%0, %1)
    %21 = multiply(%20, %19))",
                    21);
  expect_recognised("gelu_tanh", R"(
    %20 = pow(%0, %7)
    %21 = multiply(%6, %20)
    %22 = add(%21, %0)
    %23 = multiply(%5, %22)
    %24 = tanh(%23)
    %25 = add(%2, %24)
    %26 = multiply(%0, %25)
    %27 = multiply(%26, %1))",
                    27);
  expect_recognised("gelu_tanh", R"(
    %20 = multiply(%13, %6)
    %21 = add(%20, %2)
    %22 = multiply(%0, %5)
    %23 = multiply(%22, %21)
    %24 = tanh(%23)
    %25 = add(%24, %2)
    %26 = multiply(%0, %25)
    %27 = multiply(%26, %1))",
                    27);
}

TEST(RecogniseActivationTest, SiluSigmoidRelu) {
  expect_recognised("silu", "%20 = sigmoid(%0)\n%21 = multiply(%20, %0)", 21);
  expect_recognised("silu", "%20 = divide(%0, %12)", 20);
  expect_recognised("silu", "%20 = reciprocal(%12)\n%21 = multiply(%0, %20)", 21);
  expect_recognised("sigmoid", "%20 = reciprocal(%12)", 20);
  expect_recognised("sigmoid", "%20 = divide(%2, %12)", 20);
  expect_recognised("relu", "%20 = maximum(%0, %8)", 20);
}

TEST(RecogniseActivationTest, HalfFloatsCarryTheirOwnConstants) {
  // 0.5, 1 and 1 / sqrt(2) in f16.
  EXPECT_EQ(after({"recognise_activation"}, R"(
    %0 = input "x" : f16[8]
    %1 = constant 0x0038 : f16[]
    %2 = constant 0x003c : f16[]
    %3 = constant 0xa839 : f16[]
    %4 = multiply(%0, %3)
    %5 = erf(%4)
    %6 = add(%5, %2)
    %7 = multiply(%0, %6)
    %8 = multiply(%7, %1)
    output "y" = %8
  )"),
            plain(R"(
    %0 = input "x" : f16[8]
    %1 = gelu(%0)
    output "y" = %1
  )"));
}

TEST(RecogniseActivationTest, OtherConstantsAndOperands) {
  // x * sigmoid(1.702 x); erf without its 1 / sqrt(2); sigmoid of something else; a third factor.
  expect_unchanged({"recognise_activation"}, R"(
    %0 = input "x" : f32[8]
    %1 = input "z" : f32[8]
    %2 = constant 1.702
    %3 = constant 0.5
    %4 = constant 1.0
    %5 = multiply(%0, %2)
    %6 = sigmoid(%5)
    %7 = multiply(%0, %6)
    %8 = erf(%0)
    %9 = add(%8, %4)
    %10 = multiply(%0, %9)
    %11 = multiply(%10, %3)
    %12 = sigmoid(%1)
    %13 = multiply(%0, %12)
    %14 = sigmoid(%0)
    %15 = multiply(%14, %3)
    %16 = multiply(%15, %0)
    output "a" = %7
    output "b" = %11
    output "c" = %13
    output "d" = %16
  )");
}

TEST(RecogniseActivationTest, StepsThatAreReadElsewhere) {
  expect_unchanged({"recognise_activation"}, R"(
    %0 = input "x" : f32[8]
    %1 = constant 1.0
    %2 = sigmoid(%0)
    %3 = multiply(%0, %2)
    %4 = add(%2, %3)
    %5 = negative(%0)
    %6 = exp(%5)
    %7 = add(%6, %1)
    %8 = divide(%0, %7)
    output "a" = %4
    output "kept" = %6
    output "b" = %8
  )");
}

constexpr const char* kNorm = R"(
    extent t <= 4
    %0 = input "x" : f32[t, 8]
    %1 = param "g" : f32[8]
    %2 = param "b" : f32[8]
    %3 = constant 1e-05
    %4 = constant 2.0
    %5 = constant 8.0
    %6 = constant 0.125
    %7 = constant -0.5
    %8 = constant 1.0
)";

std::string norm(const std::string& body) { return kNorm + body; }

// The graph with one norm of x and what it reads.
std::string result(const std::string& line, bool weight, bool bias) {
  std::string text = "extent t <= 4\n%0 = input \"x\" : f32[t, 8]\n";
  text += "%1 = param \"g\" : f32[8]\n%2 = param \"b\" : f32[8]\n";
  text +=
      "%3 = " + line + "(%0" + (weight ? ", %1" : "") + (bias ? ", %2" : "") + ") {epsilon = 1e-05";
  text += std::string(bias ? ", has_bias = true" : "") + (weight ? ", has_weight = true" : "");
  return plain(text + "}\noutput \"y\" = %3\n");
}

TEST(RecogniseNormTest, RmsNorm) {
  const std::string with_weight = result("rms_norm", true, false);
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = square(%0)
    %10 = mean(%9) {axes = (-1), keepdims = true}
    %11 = add(%10, %3)
    %12 = rsqrt(%11)
    %13 = multiply(%0, %12)
    %14 = multiply(%13, %1)
    output "y" = %14
  )")),
            with_weight);
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = pow(%0, %4)
    %10 = sum(%9) {axes = (1), keepdims = true}
    %11 = divide(%10, %5)
    %12 = add(%3, %11)
    %13 = sqrt(%12)
    %14 = divide(%0, %13)
    %15 = multiply(%1, %14)
    output "y" = %15
  )")),
            with_weight);
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = multiply(%0, %0)
    %10 = sum(%9) {axes = (1), keepdims = false}
    %11 = multiply(%10, %6)
    %12 = reshape(%11) {shape = [t, 1]}
    %13 = add(%12, %3)
    %14 = pow(%13, %7)
    %15 = multiply(%14, %1)
    %16 = multiply(%15, %0)
    output "y" = %16
  )")),
            with_weight);
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = square(%0)
    %10 = mean(%9) {axes = (-1), keepdims = true}
    %11 = add(%10, %3)
    %12 = sqrt(%11)
    %13 = divide(%8, %12)
    %14 = multiply(%0, %13)
    output "y" = %14
  )")),
            result("rms_norm", false, false));
}

TEST(RecogniseNormTest, LayerNorm) {
  const std::string body = R"(
    %9 = mean(%0) {axes = (-1), keepdims = true}
    %10 = subtract(%0, %9)
    %11 = square(%10)
    %12 = mean(%11) {axes = (-1), keepdims = true}
    %13 = add(%12, %3)
    %14 = sqrt(%13)
    %15 = divide(%10, %14)
)";
  EXPECT_EQ(after({"recognise_norm"}, norm(body + R"(
    %16 = multiply(%15, %1)
    %17 = add(%16, %2)
    output "y" = %17
  )")),
            result("layer_norm", true, true));
  EXPECT_EQ(after({"recognise_norm"}, norm(body + "output \"y\" = %15\n")),
            result("layer_norm", false, false));
  EXPECT_EQ(after({"recognise_norm"}, norm(body + R"(
    %16 = add(%2, %15)
    output "y" = %16
  )")),
            result("layer_norm", false, true));
}

TEST(RecogniseNormTest, WeightAndBiasBehindANorm) {
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = layer_norm(%0) {epsilon = 1e-05}
    %10 = multiply(%9, %1)
    %11 = add(%10, %2)
    output "y" = %11
  )")),
            result("layer_norm", true, true));
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = rms_norm(%0) {epsilon = 1e-05}
    %10 = add(%1, %8)
    %11 = multiply(%9, %10)
    output "y" = %11
  )")),
            plain(R"(
    extent t <= 4
    %0 = input "x" : f32[t, 8]
    %1 = param "g" : f32[8]
    %2 = param "b" : f32[8]
    %3 = constant 1.0
    %4 = add(%1, %3)
    %5 = rms_norm(%0, %4) {epsilon = 1e-05, has_weight = true}
    output "y" = %5
  )"));
}

TEST(RecogniseNormTest, OtherFormulas) {
  // Another axis; two axes; the square of something else; no epsilon; rms with a bias only takes
  // the norm; a sum divided by another number.
  expect_unchanged({"recognise_norm"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = input "z" : f32[8, 8]
    %2 = constant 1e-05
    %3 = constant 7.0
    %4 = square(%0)
    %5 = mean(%4) {axes = (0), keepdims = true}
    %6 = add(%5, %2)
    %7 = rsqrt(%6)
    %8 = multiply(%0, %7)
    %9 = square(%8)
    %10 = mean(%9) {axes = (0, 1), keepdims = true}
    %11 = add(%10, %2)
    %12 = rsqrt(%11)
    %13 = multiply(%8, %12)
    %14 = square(%13)
    %15 = mean(%14) {axes = (1), keepdims = true}
    %16 = add(%15, %2)
    %17 = rsqrt(%16)
    %18 = multiply(%1, %17)
    %19 = square(%18)
    %20 = mean(%19) {axes = (1), keepdims = true}
    %21 = rsqrt(%20)
    %22 = multiply(%18, %21)
    %23 = square(%22)
    %24 = sum(%23) {axes = (1), keepdims = true}
    %25 = divide(%24, %3)
    %26 = add(%25, %2)
    %27 = rsqrt(%26)
    %28 = multiply(%22, %27)
    output "y" = %28
  )");
}

TEST(RecogniseNormTest, StepsThatAreReadElsewhere) {
  expect_unchanged({"recognise_norm"}, R"(
    %0 = input "x" : f32[8, 8]
    %1 = constant 1e-05
    %2 = square(%0)
    %3 = mean(%2) {axes = (1), keepdims = true}
    %4 = add(%3, %1)
    %5 = rsqrt(%4)
    %6 = multiply(%0, %5)
    output "scale" = %5
    output "y" = %6
  )");
}

TEST(RecogniseNormTest, CentredInputThatIsReadElsewhereIsAnRmsNormOfIt) {
  EXPECT_EQ(after({"recognise_norm"}, norm(R"(
    %9 = mean(%0) {axes = (-1), keepdims = true}
    %10 = subtract(%0, %9)
    %11 = square(%10)
    %12 = mean(%11) {axes = (-1), keepdims = true}
    %13 = add(%12, %3)
    %14 = rsqrt(%13)
    %15 = multiply(%10, %14)
    output "centred" = %10
    output "y" = %15
  )")),
            plain(R"(
    extent t <= 4
    %0 = input "x" : f32[t, 8]
    %1 = param "g" : f32[8]
    %2 = param "b" : f32[8]
    %3 = mean(%0) {axes = (-1), keepdims = true}
    %4 = subtract(%0, %3)
    %5 = rms_norm(%4) {epsilon = 1e-05}
    output "centred" = %4
    output "y" = %5
  )"));
}

TEST(RecogniseNormTest, HalfFloatWeightStaysOutside) {
  EXPECT_EQ(after({"recognise_norm"}, R"(
    %0 = input "x" : f16[4, 8]
    %1 = param "g" : f16[8]
    %2 = constant 0xa800 : f16[]
    %3 = square(%0)
    %4 = mean(%3) {axes = (1), keepdims = true}
    %5 = add(%4, %2)
    %6 = rsqrt(%5)
    %7 = multiply(%0, %6)
    %8 = multiply(%7, %1)
    output "y" = %8
  )"),
            plain(R"(
    %0 = input "x" : f16[4, 8]
    %1 = param "g" : f16[8]
    %2 = rms_norm(%0) {epsilon = 1.001358e-05}
    %3 = multiply(%2, %1)
    output "y" = %3
  )"));
}

}  // namespace
}  // namespace bessemer
