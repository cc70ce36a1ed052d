// Choosing the order of thunks: first for the least peak of live bytes, then, without raising the
// peak, for few barriers. Any order returned respects the dependences. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/dependence.h"
#include "plan/live_memory.h"

namespace bessemer {

struct OrderOptions {
  bool reorder = true;  // false: program order
  // How far the peak may rise above the least found, as a fraction of it, for fewer barriers.
  double peak_slack = 0;
  // How many states the exact search may visit, over all stretches of the graph, a thunk.
  int64_t search_states_per_thunk = 4;
};

struct ThunkOrder {
  std::vector<uint32_t> order;  // original indices
  int64_t peak = 0;             // bytes alive at once, merging in place wherever possible
  int64_t program_peak = 0;     // the same in program order; not less than `peak` without slack
  int64_t allowed_peak = 0;     // the least peak found and the slack
};

[[nodiscard]] ThunkOrder choose_order(const DependenceGraph& graph, const ValueTable& values,
                                      const OrderOptions& options = {});

// Barrier groups of an order by its dependences alone: group[i] is that of step i, from 0. The plan
// of the arena may need more barriers, since values share storage.
[[nodiscard]] std::vector<uint32_t> dependence_groups(const DependenceGraph& graph,
                                                      const std::vector<uint32_t>& order);

// The parts of choose_order, for tests and benchmarks.
namespace ordering {

// Which ready thunk runs next.
enum class Rule : uint8_t {
  kLeastGrowth,  // the one after which the fewest bytes are alive
  kFreeFirst,    // one that lowers the bytes alive, else in program order
  kDepthFirst,   // the one that became ready last
};
// List scheduling, from the first thunk on or (backwards) from the last.
[[nodiscard]] std::vector<uint32_t> list_schedule(const DependenceGraph& graph,
                                                  const ValueTable& values, Rule rule,
                                                  bool backwards);

// Improves the stretches of `order` between bottlenecks (thunks that come after all before them and
// before all after them) by exact search over the sets of thunks done, highest peak first, until
// the peak cannot fall or the states are used up. Never raises the peak.
void search_stretches(const DependenceGraph& graph, const ValueTable& values, int64_t max_states,
                      std::vector<uint32_t>* order);

// Moves thunks forward into earlier groups while live bytes stay within `peak`.
[[nodiscard]] std::vector<uint32_t> widen_groups(const DependenceGraph& graph,
                                                 const ValueTable& values, int64_t peak,
                                                 const std::vector<uint32_t>& order);

}  // namespace ordering
}  // namespace bessemer
