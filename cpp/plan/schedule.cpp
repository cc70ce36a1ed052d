#include "plan/schedule.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_set>

namespace bessemer {
namespace {

bool equal(const Thunk& a, const Thunk& b) {
  return a.kernel == b.kernel && a.operands == b.operands && a.params == b.params &&
         a.patches == b.patches && a.in_place == b.in_place && a.launch == b.launch &&
         a.flops == b.flops && a.label == b.label && a.node == b.node;
}

}  // namespace

int64_t Schedule::arena_bytes() const {
  return std::accumulate(arena_blocks.begin(), arena_blocks.end(), int64_t{0});
}

int64_t Schedule::barriers() const {
  return std::count_if(barrier_before.begin(), barrier_before.end(),
                       [](uint8_t b) { return b != 0; });
}

int64_t Schedule::groups() const { return thunks.empty() ? 0 : barriers() + 1; }

ExtentValues Schedule::extent_maxima() const {
  ExtentValues maxima;
  for (const Extent& e : extents) maxima.push_back(e.max);
  return maxima;
}

std::vector<int64_t> Schedule::live_bytes() const {
  std::vector<int64_t> change(thunks.size() + 2, 0);
  for (const ArenaValue& v : values) {
    // Until the step that merges them ends, the bytes count for the value taken over.
    change[v.first + (v.takes_over == ArenaValue::kNothing ? 0 : 1)] += v.max_bytes;
    change[v.last + 1] -= v.max_bytes;
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.resize(thunks.size());
  return change;
}

bool Schedule::operator==(const Schedule& o) const {
  return extents == o.extents &&
         std::equal(thunks.begin(), thunks.end(), o.thunks.begin(), o.thunks.end(), equal) &&
         barrier_before == o.barrier_before && original == o.original && values == o.values &&
         arena_blocks == o.arena_blocks && arena_bound == o.arena_bound &&
         guard_bytes == o.guard_bytes && critical_path == o.critical_path &&
         in_place_merges == o.in_place_merges && views == o.views;
}

std::vector<FreedBytes> freed_bytes(const Schedule& schedule) {
  std::unordered_set<uint32_t> taken_over;
  for (const ArenaValue& v : schedule.values) taken_over.insert(v.takes_over);
  std::vector<FreedBytes> freed;
  for (const ArenaValue& v : schedule.values) {
    if (taken_over.count(v.buffer) == 0) freed.push_back({v.last, v.block, v.offset, v.max_bytes});
  }
  std::sort(freed.begin(), freed.end(), [](const FreedBytes& a, const FreedBytes& b) {
    return std::tie(a.step, a.block, a.offset) < std::tie(b.step, b.block, b.offset);
  });
  return freed;
}

PlanStats plan_stats(const Schedule& s) {
  PlanStats stats;
  stats.peak = s.arena_bytes();
  stats.bound = s.arena_bound;
  stats.ratio = s.arena_bound > 0
                    ? static_cast<double>(stats.peak) / static_cast<double>(s.arena_bound)
                    : 1.0;
  stats.thunks = static_cast<int64_t>(s.thunks.size());
  stats.barriers = s.barriers();
  stats.groups = s.groups();
  stats.critical_path = s.critical_path;
  stats.values = static_cast<int64_t>(s.values.size());
  stats.in_place_merges = s.in_place_merges;
  stats.views = s.views;
  stats.seconds = s.seconds;
  return stats;
}

std::vector<int64_t> shared_arena_blocks(std::span<const Schedule> schedules) {
  std::vector<int64_t> blocks;
  for (const Schedule& s : schedules) {
    if (s.arena_blocks.size() > blocks.size()) blocks.resize(s.arena_blocks.size(), 0);
    for (size_t i = 0; i < s.arena_blocks.size(); ++i) {
      blocks[i] = std::max(blocks[i], s.arena_blocks[i]);
    }
  }
  return blocks;
}

}  // namespace bessemer
