#include "ir/graph.h"

#include <gtest/gtest.h>

namespace bessemer {
namespace {

constexpr const char* kText = R"(graph "all forms" {
  extent tokens <= 512
  extent seqs <= 4
  %0 = input "x" : f32[tokens, 2*seqs + 1] @ "model.py:12"
  %1 = param "w" : q4_1[128, 64]
  %2 = state "k" : f16[4, 16]
  %3 = constant 0x0000803f : f32[]
  %4 = add(%0, %3) : f32[tokens, 2*seqs + 1]
  %5 = split(%4) {axis = -1, sizes = [seqs, seqs, 1]} : f32[tokens, seqs], f32[tokens, seqs], f32[tokens, 1]
  %6 = cast(%5.1) {dtype = bf16} : bf16[tokens, seqs]
  %7 = rope_append(%0, %0, %0, %0, %0, %0, %0) {base = 10000.0, flag = true, n_rot = 64, name = "a \"quoted\" \\ name", perm = (1, -2, 0), scale = -inf, tiny = 5e-324} : f32[]
  output "y" = %5.2
  update "k" = %2
}
)";

TEST(GraphText, PrintsWhatItParsed) {
  const auto graph = parse_graph(kText);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(to_string(*graph), kText);
  const auto again = parse_graph(to_string(*graph));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(identical(*graph, *again));
}

TEST(GraphText, NamesTheLineOfAFault) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "line 1: expected `graph`"},
      {"graph \"g\" {\n  %0 = nonsense() : f32[]\n}", "line 2: unknown op `nonsense`"},
      {"graph \"g\" {\n  %1 = input \"x\" : f32[]\n}", "line 2: expected %0, got %1"},
      {"graph \"g\" {\n  %0 = input \"x\" : f33[]\n}", "line 2: unknown dtype `f33`"},
      {"graph \"g\" {\n  %0 = input \"x\" : f32[n]\n}", "line 2: bad dim `n`: unknown extent `n`"},
      {"graph \"g\" {\n  %0 = input \"x\" : f32[]\n  %1 = input \"x\" : f32[]\n}",
       "line 3: second input named `x`"},
      {"graph \"g\" {\n  %0 = abs(%0) : f32[]\n}",
       "line 2: op `abs` refers to value %0.0, which this graph does not have"},
      {"graph \"g\" {\n  output \"y\" = %3\n}", "line 2: output `y` is not a value of this graph"},
      {"graph \"g\" {\n  extent 9a <= 3\n}", "line 2: extent name `9a` is not an identifier"},
      {"graph \"g\" {\n  extent a <= 0\n}",
       "line 2: extent `a` needs a bound of at least 1, got 0"},
      {"graph \"g\" {\n}\nmore", "line 3: text after the graph"},
      {"graph \"g", "line 1: unterminated string"},
  };
  for (const auto& c : cases) {
    const auto graph = parse_graph(c.text);
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_EQ(graph.error().kind, ErrorKind::kParse) << c.text;
    EXPECT_EQ(graph.error().message, c.message) << c.text;
  }
}

TEST(GraphText, StructureIsVerified) {
  // Constant data of the wrong size, a variable param, blocks outside a param, rows not of blocks.
  for (const char* node :
       {"%0 = constant 0x00 : f32[]", "%0 = param \"w\" : f32[n]", "%0 = input \"x\" : q4_0[2, 32]",
        "%0 = param \"w\" : q4_0[2, 33]", "%0 = input \"x\" : f32[n - 20]"}) {
    const std::string text = "graph \"g\" {\n  extent n <= 8\n  " + std::string(node) + "\n}";
    EXPECT_FALSE(parse_graph(text).ok()) << node;
  }
}

TEST(Graph, StatesAreUpdatedOnceAndInType) {
  Graph graph;
  Node state;
  state.op = Op::k_state;
  state.name = "k";
  state.results = {{DType::kF16, {2, 3}}};
  Node input;
  input.op = Op::k_input;
  input.name = "x";
  input.results = {{DType::kF32, {2, 3}}};
  const auto k = graph.append(state);
  const auto x = graph.append(input);
  ASSERT_TRUE(k.ok() && x.ok());
  EXPECT_EQ(graph.update_state("v", *k).error().kind, ErrorKind::kName);
  EXPECT_EQ(graph.update_state("k", *x).error().kind, ErrorKind::kDtype);
  EXPECT_TRUE(graph.update_state("k", *k).ok());
  EXPECT_EQ(graph.update_state("k", *k).error().kind, ErrorKind::kState);
}

TEST(Attributes, DoublesPrintInFormsThatParseToTheSameBits) {
  for (double value : {0.1, 1.0, -0.0, 1e300, 5e-324, 123456789.0}) {
    const std::string text = double_to_string(value);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bessemer
