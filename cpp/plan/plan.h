// The plan stage: a lowered graph becomes a schedule. Order, lifetimes, in-place merges, the arena,
// barriers. Deterministic but for the time that a hard arena takes to search.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "ops/lowering.h"
#include "plan/order.h"
#include "plan/schedule.h"
#include "target/target.h"

namespace bessemer {

struct PlanOptions {
  bool reorder = true;       // false: keep program order
  bool reuse = true;         // false: every value has a place of its own (for debugging)
  bool merge_groups = true;  // keep storages to the end of their group, if that costs nothing
  // How far the arena may grow above the least peak found, as a fraction of it, to need fewer
  // barriers.
  double peak_slack = 0;
  bool guard_bytes = false;  // keep `target.alignment` unused bytes after every value
  // Time that the arena's search may take when the greedy placement misses the lower bound.
  double arena_budget_s = 0.02;
  // Replay the schedule with the validator (plan/validator.h). It takes about 1 ms per 1,000
  // thunks, less than planning, so that every build does it.
  bool validate = true;
};

// `extents` names the graph's extents, with the largest values that this schedule shall run at (a
// bucket's, which may be smaller than the graph's). Errors:
//  - kUnsupported, naming the tensor: a value is larger than target.max_block_bytes, or an operand
//    starts at or above target.max_offset inside a value;
//  - kInternal: the lowered graph is wrong (reads what nothing wrote, reaches out of a buffer).
// `lowered` is not kept.
[[nodiscard]] Result<Schedule> plan_schedule(const LoweredGraph& lowered, const Target& target,
                                             std::span<const Extent> extents,
                                             const PlanOptions& options = {});

// One bucket of a program with several: its lowered graph and extents.
struct PlanRequest {
  const LoweredGraph* lowered = nullptr;
  std::vector<Extent> extents;
};
// A schedule for each; they share one arena (shared_arena_blocks gives its size).
[[nodiscard]] Result<std::vector<Schedule>> plan_schedules(std::span<const PlanRequest> requests,
                                                           const Target& target,
                                                           const PlanOptions& options = {});

}  // namespace bessemer
