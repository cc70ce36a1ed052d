#include "plan/dependence.h"

#include <algorithm>

namespace bessemer {

int64_t DependenceGraph::critical_path() const {
  std::vector<int64_t> depth(size(), 1);
  int64_t longest = 0;
  for (size_t t = 0; t < size(); ++t) {
    for (uint32_t p : predecessors(t)) depth[t] = std::max(depth[t], depth[p] + 1);
    longest = std::max(longest, depth[t]);
  }
  return longest;
}

DependenceGraph find_dependences(const AccessTable& accesses) {
  struct History {
    RangeList reads;
    RangeList writes;
    bool ever_written = false;
  };
  const std::span<const int64_t> maxima = accesses.maxima;
  const auto n = static_cast<uint32_t>(accesses.thunks());
  std::vector<History> history(accesses.storages);
  for (const AccessRecord& r : accesses.records) {
    if (writes(r.access)) history[r.storage].ever_written = true;
  }

  DependenceGraph graph;
  std::vector<uint32_t> seen(n, n);  // seen[p] == t: the edge p -> t exists
  graph.pred_begin.push_back(0);
  for (uint32_t t = 0; t < n; ++t) {
    const auto depend = [&](const RangeList::Entry& e) {
      if (seen[e.owner] != t) {
        seen[e.owner] = t;
        graph.preds.push_back(e.owner);
      }
      return true;
    };
    for (const AccessRecord& r : accesses.of(t)) {
      History& h = history[r.storage];
      if (!h.ever_written) continue;
      h.writes.visit_overlaps(r.range, maxima, depend);
      if (writes(r.access)) h.reads.visit_overlaps(r.range, maxima, depend);
    }
    // What this thunk overwrites entirely, later thunks need not look at.
    for (const AccessRecord& r : accesses.of(t)) {
      if (!writes(r.access)) continue;
      history[r.storage].writes.remove_covered(r.range, maxima);
      history[r.storage].reads.remove_covered(r.range, maxima);
    }
    for (const AccessRecord& r : accesses.of(t)) {
      History& h = history[r.storage];
      if (h.ever_written) (writes(r.access) ? h.writes : h.reads).add(r.range, t);
    }
    const auto from = graph.preds.begin() + graph.pred_begin.back();
    std::sort(from, graph.preds.end());
    graph.pred_begin.push_back(static_cast<uint32_t>(graph.preds.size()));
  }

  graph.succ_begin.assign(n + 1, 0);
  for (uint32_t p : graph.preds) ++graph.succ_begin[p + 1];
  for (uint32_t t = 0; t < n; ++t) graph.succ_begin[t + 1] += graph.succ_begin[t];
  graph.succs.resize(graph.preds.size());
  std::vector<uint32_t> fill(graph.succ_begin.begin(), graph.succ_begin.end() - 1);
  for (uint32_t t = 0; t < n; ++t) {
    for (uint32_t p : graph.predecessors(t)) graph.succs[fill[p]++] = t;
  }
  return graph;
}

}  // namespace bessemer
