#include "passes/readers.h"

namespace bessemer::passes {

Readers::Readers(const Graph& graph) {
  size_t values = 0;
  offset_.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    offset_.push_back(values);
    values += node.results.size();
  }
  kept_.assign(values, false);
  for (const NamedValue& o : graph.outputs()) kept_[index(o.value)] = true;
  for (const NamedValue& u : graph.updates()) kept_[index(u.value)] = true;
  begin_.assign(values + 1, 0);
  for (const Node& node : graph.nodes()) {
    for (const Value& v : node.operands) ++begin_[index(v) + 1];
  }
  for (size_t i = 0; i < values; ++i) begin_[i + 1] += begin_[i];
  readers_.resize(begin_[values]);
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    for (const Value& v : graph.nodes()[id].operands) readers_[next[index(v)]++] = id;
  }
}

}  // namespace bessemer::passes
