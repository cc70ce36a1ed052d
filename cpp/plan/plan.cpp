#include "plan/plan.h"

#include <algorithm>
#include <chrono>

#include "plan/accesses.h"
#include "plan/hazards.h"
#include "plan/lifetimes.h"
#include "plan/live_memory.h"
#include "plan/place.h"
#include "plan/validator.h"

namespace bessemer {
namespace {

struct Candidate {
  Lifetimes lifetimes;
  Placement placement;
};

// Lifetimes and their places for one choice of options.
Result<Candidate> place_lifetimes(const LoweredGraph& lowered, const ValueTable& values,
                                  const std::vector<uint32_t>& order,
                                  const std::vector<uint32_t>& groups, const Target& target,
                                  const LifetimeOptions& lifetime_options, double budget_s) {
  Candidate c;
  c.lifetimes = find_lifetimes(values, order, groups, lifetime_options);
  std::vector<std::string> labels(c.lifetimes.storages.size());
  for (const ValueLifetime& v : c.lifetimes.values) {
    if (labels[v.storage].empty()) labels[v.storage] = lowered.buffers[v.buffer].label;
  }
  BSM_ASSIGN(c.placement, place_storages(c.lifetimes.storages, labels, target, budget_s));
  return c;
}

// The thunks in their order, with operands in their places.
void resolve(const LoweredGraph& lowered, const Candidate& candidate, Schedule* schedule) {
  struct Place {
    uint32_t block = 0;
    int64_t offset = 0;
  };
  std::vector<Place> place_of(lowered.buffers.size());
  for (const ValueLifetime& v : candidate.lifetimes.values) {
    place_of[v.buffer] = {candidate.placement.block[v.storage],
                          candidate.placement.offset[v.storage]};
  }
  schedule->thunks.reserve(schedule->original.size());
  for (uint32_t id : schedule->original) {
    schedule->thunks.push_back(lowered.thunks[id]);
    for (Operand& o : schedule->thunks.back().operands) {
      const VirtualBuffer& buffer = lowered.buffers[o.block];
      if (buffer.space == Space::kValue) {
        if (!(o.offset == Dim(0)) || !(o.bytes == buffer.bytes)) ++schedule->views;
        const Place place = place_of[o.block];
        o.space = Space::kArena;
        o.block = place.block;
        o.offset += Dim(place.offset);
      } else {
        o.space = buffer.space;
        o.block = buffer.index;
      }
    }
  }
}

// Offsets inside a block must stay below the target's limit on every path.
Status check_offsets(const LoweredGraph& lowered, const AccessTable& accesses,
                     const Schedule& schedule, const Target& target,
                     std::span<const Extent> extents) {
  for (size_t step = 0; step < schedule.thunks.size(); ++step) {
    const Thunk& thunk = schedule.thunks[step];
    const Thunk& source = lowered.thunks[schedule.original[step]];
    for (size_t i = 0; i < thunk.operands.size(); ++i) {
      const DimBounds offset = bounds(thunk.operands[i].offset, accesses.maxima);
      if (offset.high < target.max_offset || offset.high == 0) continue;
      if (bounds(thunk.operands[i].bytes, accesses.maxima).high <= 0) continue;
      return Error{ErrorKind::kUnsupported,
                   "operand " + std::to_string(i) + " of `" + thunk.label + "` (" + thunk.kernel +
                       ") starts at byte " + source.operands[i].offset.to_string(extents) +
                       " of `" + lowered.buffers[source.operands[i].block].label + "`, byte " +
                       std::to_string(offset.high) + " of its block; " + target.name +
                       " takes offsets below " + std::to_string(target.max_offset),
                   {}};
    }
  }
  return {};
}

}  // namespace

Result<Schedule> plan_schedule(const LoweredGraph& lowered, const Target& target,
                               std::span<const Extent> extents, const PlanOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.peak_slack < 0 || !(options.peak_slack <= 1e6)) {
    return Error{ErrorKind::kInvalidArgument,
                 "peak_slack is a fraction from 0 on, got " + std::to_string(options.peak_slack),
                 {}};
  }
  if (target.alignment < 1 || target.max_block_bytes < 1 || target.max_offset < 1) {
    return Error{ErrorKind::kInvalidArgument,
                 "target `" + target.name + "` needs an alignment, block size and offset above 0",
                 {}};
  }
  Schedule schedule;
  schedule.extents.assign(extents.begin(), extents.end());
  schedule.guard_bytes = options.guard_bytes ? target.alignment : 0;

  BSM_ASSIGN(const AccessTable accesses, collect_accesses(lowered, extents));
  for (size_t v = 0; v < lowered.buffers.size(); ++v) {
    const VirtualBuffer& b = lowered.buffers[v];
    if (accesses.buffer_bytes[v] > target.max_block_bytes) {
      return Error{ErrorKind::kUnsupported,
                   "`" + b.label + "` takes " + b.bytes.to_string(extents) + " = " +
                       std::to_string(accesses.buffer_bytes[v]) + " bytes; a block of " +
                       target.name + " holds at most " + std::to_string(target.max_block_bytes),
                   {}};
    }
  }
  const DependenceGraph graph = find_dependences(accesses);
  schedule.critical_path = graph.critical_path();
  const ValueTable values =
      collect_values(lowered, accesses, target.alignment, schedule.guard_bytes);
  OrderOptions order_options;
  order_options.reorder = options.reorder;
  order_options.peak_slack = options.peak_slack;
  ThunkOrder order = choose_order(graph, values, order_options);
  schedule.original = std::move(order.order);
  const std::vector<uint32_t> groups = dependence_groups(graph, schedule.original);

  LifetimeOptions lifetime_options;
  lifetime_options.reuse = options.reuse;
  lifetime_options.keep_to_group_end = options.merge_groups;
  lifetime_options.allowed_bytes = order.allowed_peak;
  BSM_ASSIGN(Candidate best, place_lifetimes(lowered, values, schedule.original, groups, target,
                                             lifetime_options, options.arena_budget_s));
  if (best.placement.total > std::max(best.lifetimes.bound, order.allowed_peak) &&
      best.lifetimes.kept_longer) {
    // Longer lifetimes do not raise the bound, but may make it harder to reach.
    lifetime_options.keep_to_group_end = false;
    BSM_ASSIGN(Candidate shorter,
               place_lifetimes(lowered, values, schedule.original, groups, target, lifetime_options,
                               options.arena_budget_s));
    if (shorter.placement.total < best.placement.total) best = std::move(shorter);
  }

  schedule.arena_blocks = best.placement.block_bytes;
  schedule.arena_bound = best.lifetimes.bound;
  schedule.in_place_merges = best.lifetimes.merges;
  for (const ValueLifetime& v : best.lifetimes.values) {
    ArenaValue value;
    value.buffer = v.buffer;
    value.label = lowered.buffers[v.buffer].label;
    value.block = best.placement.block[v.storage];
    value.offset = best.placement.offset[v.storage];
    value.max_bytes = accesses.buffer_bytes[v.buffer];
    value.bytes = lowered.buffers[v.buffer].bytes;
    value.first = v.first;
    value.last = v.last;
    value.takes_over = v.takes_over;
    schedule.values.push_back(std::move(value));
  }
  resolve(lowered, best, &schedule);
  BSM_TRY(check_offsets(lowered, accesses, schedule, target, extents));
  schedule.barrier_before = find_barriers(schedule.thunks, accesses.maxima);
  schedule.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.validate) BSM_TRY(validate_schedule(lowered, schedule, target));
  return schedule;
}

Result<std::vector<Schedule>> plan_schedules(std::span<const PlanRequest> requests,
                                             const Target& target, const PlanOptions& options) {
  std::vector<Schedule> schedules;
  for (const PlanRequest& r : requests) {
    BSM_ASSIGN(Schedule schedule, plan_schedule(*r.lowered, target, r.extents, options));
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

}  // namespace bessemer
