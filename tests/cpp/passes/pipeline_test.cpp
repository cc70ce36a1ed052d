// The pipeline as a whole, the rewriter's own rules, and precision.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/op_impl.h"
#include "passes/graph_text.h"
#include "passes/rewriter.h"

namespace bessemer {
namespace {

using passes::PassOptions;
using passes::PassReport;
using passes::Rewriter;
using testing::after;
using testing::expect_unchanged;
using testing::graph_of;
using testing::plain;
using testing::run_only;
using testing::text_of;

constexpr const char* kMlp = R"(
    extent t <= 8
    %0 = input "x" : f32[t, 64] @ "mlp.py:1"
    %1 = param "w" : q4_0[64, 64]
    %2 = param "b" : f32[64]
    %3 = matmul(%0, %1) {transpose_b = true}
    %4 = add(%3, %2)
    %5 = relu(%4)
    output "y" = %5
)";

TEST(PipelineTest, NamesAreUniqueAndReported) {
  const std::vector<std::string> names = passes::pass_names();
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<PassReport> reports;
  const Result<Graph> result = passes::run_passes(graph_of(kMlp), {}, &reports);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(reports.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(reports[i].name, names[i]);
    EXPECT_GE(reports[i].seconds, 0);
    const bool fires = names[i] == "linear" || names[i] == "linear_bias" ||
                       names[i] == "linear_activation" || names[i] == "precision";
    EXPECT_EQ(reports[i].rewrites, fires ? 1 : 0) << names[i];
  }
}

TEST(PipelineTest, UnknownNameAndPrecisionAreErrors) {
  PassOptions options;
  options.disabled = {"lineer"};
  const Result<Graph> unknown = passes::run_passes(graph_of(kMlp), options, nullptr);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kName);
  EXPECT_NE(unknown.error().message.find("no pass named `lineer`; there are: dce, "),
            std::string::npos);
  options = {};
  options.precision = "f16";
  const Result<Graph> precision = passes::run_passes(graph_of(kMlp), options, nullptr);
  ASSERT_FALSE(precision.ok());
  EXPECT_EQ(precision.error().kind, ErrorKind::kInvalidArgument);
}

TEST(PipelineTest, LevelZeroChangesNothing) {
  PassOptions options;
  options.opt_level = 0;
  const Graph graph = graph_of(kMlp);
  const Result<Graph> result = passes::run_passes(graph, options, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(identical(graph, *result));
}

TEST(PipelineTest, EachPassCanBeLeftOut) {
  for (const std::string& name : passes::pass_names()) {
    PassOptions options;
    options.disabled = {name};
    std::vector<PassReport> reports;
    const Result<Graph> result = passes::run_passes(graph_of(kMlp), options, &reports);
    ASSERT_TRUE(result.ok()) << name;
    EXPECT_TRUE(ops::verify(*result).ok()) << name;
    for (const PassReport& report : reports) EXPECT_NE(report.name, name);
  }
}

TEST(PipelineTest, ASecondRunFindsNothing) {
  const Result<Graph> once = passes::run_passes(graph_of(kMlp), {}, nullptr);
  ASSERT_TRUE(once.ok());
  std::vector<PassReport> reports;
  const Result<Graph> twice = passes::run_passes(*once, {}, &reports);
  ASSERT_TRUE(twice.ok());
  EXPECT_TRUE(identical(*once, *twice));
  for (const PassReport& report : reports) EXPECT_EQ(report.rewrites, 0) << report.name;
}

TEST(PipelineTest, FusedNodesNameTheLineOfTheirLastOp) {
  Graph graph = graph_of(R"(
    %0 = input "x" : f32[4]
    output "x" = %0
  )");
  const Value x = graph.outputs()[0].value;
  const Result<Value> e = ops::add_node(graph, Op::k_exp, {x}, {}, "a.py:1");
  ASSERT_TRUE(e.ok());
  const Result<Value> s = ops::add_node(graph, Op::k_sin, {*e}, {}, "a.py:2");
  ASSERT_TRUE(s.ok());
  ASSERT_TRUE(graph.add_output("y", *s).ok());
  const Graph result = run_only({"regions"}, graph);
  EXPECT_EQ(result.node(result.outputs()[1].value).where, "a.py:2");
}

TEST(PipelineTest, EmptyGraphAndBareOutputs) {
  EXPECT_TRUE(passes::run_passes(Graph("empty"), {}, nullptr).ok());
  expect_unchanged({"dce", "canonicalise", "regions"}, R"(
    %0 = input "x" : f32[4]
    %1 = constant 1.0
    output "a" = %0
    output "b" = %0
    output "c" = %1
  )");
}

TEST(PrecisionTest, Int8ForQuantisedWeightsOnly) {
  const char* text = R"(
    %0 = input "x" : f32[4, 64]
    %1 = param "q" : q4_0[64, 64]
    %2 = param "d" : f16[64, 64]
    %3 = linear(%0, %1) {n_weights = 1}
    %4 = linear(%3, %2) {n_weights = 1}
    %5 = linear(%4, %2, %1) {n_weights = 2}
    %6 = matmul(%5, %1) {transpose_b = true}
    output "y" = %6
    output "z" = %5.1
  )";
  EXPECT_EQ(after({"precision"}, text), plain(R"(
    %0 = input "x" : f32[4, 64]
    %1 = param "q" : q4_0[64, 64]
    %2 = param "d" : f16[64, 64]
    %3 = linear(%0, %1) {int8 = true, n_weights = 1}
    %4 = linear(%3, %2) {n_weights = 1}
    %5 = linear(%4, %2, %1) {int8 = true, n_weights = 2}
    %6 = matmul(%5, %1) {transpose_b = true}
    output "y" = %6
    output "z" = %5.1
  )"));
  PassOptions exact;
  exact.precision = "f32";
  expect_unchanged({"precision"}, text, exact);
  PassOptions slow;
  slow.int8_activations = false;
  expect_unchanged({"precision"}, text, slow);
}

TEST(PrecisionTest, ExactMeansExact) {
  PassOptions exact;
  exact.precision = "f32";
  EXPECT_EQ(after({"precision"}, R"(
    %0 = input "x" : f32[4, 64]
    %1 = param "q" : q4_0[64, 64]
    %2 = linear(%0, %1) {int8 = true, n_weights = 1}
    output "y" = %2
  )",
                  exact),
            plain(R"(
    %0 = input "x" : f32[4, 64]
    %1 = param "q" : q4_0[64, 64]
    %2 = linear(%0, %1) {int8 = false, n_weights = 1}
    output "y" = %2
  )"));
}

// ---- the rewriter ----

TEST(RewriterTest, RefusesAnotherType) {
  Rewriter r(graph_of(R"(
    %0 = input "x" : f32[4]
    %1 = input "y" : f32[5]
    %2 = exp(%0)
    output "y" = %2
  )"));
  r.replace({2, 0}, {1, 0});
  const Result<Graph> result = std::move(r).finish();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInternal);
}

TEST(RewriterTest, RefusesACycle) {
  Rewriter r(graph_of(R"(
    %0 = input "x" : f32[4]
    %1 = exp(%0)
    %2 = sin(%1)
    output "y" = %2
  )"));
  r.replace({1, 0}, {2, 0});
  const Result<Graph> result = std::move(r).finish();
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("depend on itself"), std::string::npos);
}

TEST(RewriterTest, ReplacementsFollowOneAnother) {
  Rewriter r(graph_of(R"(
    %0 = input "x" : f32[4]
    %1 = exp(%0)
    %2 = sin(%1)
    %3 = cos(%2)
    output "y" = %3
  )"));
  const Result<Value> a = r.add(1, Op::k_sqrt, {{0, 0}});
  ASSERT_TRUE(a.ok());
  r.replace({1, 0}, *a);
  // Reads what stands for %1 now.
  const Result<Value> b = r.add(2, Op::k_abs, {{1, 0}});
  ASSERT_TRUE(b.ok());
  r.replace({2, 0}, *b);
  EXPECT_EQ(r.now({2, 0}), *b);
  const Result<Graph> result = std::move(r).finish();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(text_of(*result), plain(R"(
    %0 = input "x" : f32[4]
    %1 = sqrt(%0)
    %2 = abs(%1)
    %3 = cos(%2)
    output "y" = %3
  )"));
}

TEST(RewriterTest, DependsLooksThroughReplacements) {
  Rewriter r(graph_of(R"(
    %0 = input "x" : f32[4]
    %1 = exp(%0)
    %2 = sin(%0)
    %3 = cos(%1)
    %4 = add(%2, %3)
    output "y" = %4
  )"));
  const Value sin{2, 0};
  const uint32_t cos = 3;
  EXPECT_FALSE(r.depends(std::span(&sin, 1), std::span(&cos, 1)));
  // What stood for sin(x) now reads cos(exp(x)), which is younger.
  const Result<Value> later = r.add(2, Op::k_tanh, {{3, 0}});
  ASSERT_TRUE(later.ok());
  r.replace(sin, *later);
  EXPECT_TRUE(r.depends(std::span(&sin, 1), std::span(&cos, 1)));
  const uint32_t exp = 1;
  EXPECT_TRUE(r.depends(std::span(&sin, 1), std::span(&exp, 1)));
}

TEST(RewriterTest, DeepChainsNeedNoStack) {
  Graph graph("deep");
  const Result<Value> x = ops::add_leaf(graph, Op::k_input, "x", {DType::kF32, {Dim(4)}});
  ASSERT_TRUE(x.ok());
  Value v = *x;
  for (int i = 0; i < 50000; ++i) {
    const Result<Value> next = ops::add_node(graph, i % 2 == 0 ? Op::k_sin : Op::k_softmax, {v});
    ASSERT_TRUE(next.ok());
    v = *next;
  }
  ASSERT_TRUE(graph.add_output("y", v).ok());
  const Result<Graph> result = passes::run_passes(graph, {}, nullptr);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
}

}  // namespace
}  // namespace bessemer
