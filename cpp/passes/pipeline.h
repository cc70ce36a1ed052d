// The passes over a graph, in order. Each makes a new graph; the result of each is verified.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace bessemer::passes {

struct PassOptions {
  int opt_level = 1;                  // 0: only what lowering needs
  std::string precision = "default";  // "default" or "f32"
  bool int8_activations = true;    // the target gains by int8 products with block-quantised weights
  std::set<std::string> disabled;  // names of passes to leave out
};

struct PassReport {
  std::string name;
  int64_t rewrites = 0;
  double seconds = 0;
};

// Names of all passes in the order in which they run.
[[nodiscard]] std::vector<std::string> pass_names();

// kName: an unknown name in `disabled`. kInternal: a pass broke the graph (which one, and how).
[[nodiscard]] Result<Graph> run_passes(const Graph& graph, const PassOptions& options,
                                       std::vector<PassReport>* reports);

}  // namespace bessemer::passes
