// Graphs for tests of passes as short text: the text form of graphs without what add_node works out
// itself. Only leaves carry types; constants of one f32 are written as numbers.
//
//   extent tokens <= 8
//   %0 = input "x" : f32[tokens, 64]
//   %1 = constant 0.5
//   %2 = multiply(%0, %1)
//   output "y" = %2
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/pipeline.h"

namespace bessemer::testing {

// Fails the test, and gives an empty graph, if the text is malformed or an op refuses its operands.
[[nodiscard]] Graph graph_of(std::string_view text);

// The same form; every line ends with a line break.
[[nodiscard]] std::string text_of(const Graph& graph);

// The text of the graph after these passes alone, in the order of the pipeline.
[[nodiscard]] std::string after(std::initializer_list<const char*> names, std::string_view text,
                                passes::PassOptions options = {});
// The graph after them; `rewrites` counts them.
[[nodiscard]] Graph run_only(std::initializer_list<const char*> names, const Graph& graph,
                             int64_t* rewrites = nullptr, passes::PassOptions options = {});

// Fails the test if the passes change the graph or count a rewrite.
void expect_unchanged(std::initializer_list<const char*> names, std::string_view text,
                      const passes::PassOptions& options = {});

// `text` as text_of writes it: without indentation and empty lines.
[[nodiscard]] std::string plain(std::string_view text);

}  // namespace bessemer::testing
