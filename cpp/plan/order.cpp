#include "plan/order.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace bessemer {
namespace ordering {

std::vector<uint32_t> list_schedule(const DependenceGraph& graph, const ValueTable& values,
                                    Rule rule, bool backwards) {
  const auto n = static_cast<uint32_t>(graph.size());
  const auto before = [&](uint32_t t) {
    return backwards ? graph.successors(t) : graph.predecessors(t);
  };
  const auto after = [&](uint32_t t) {
    return backwards ? graph.predecessors(t) : graph.successors(t);
  };
  LiveMemory memory(values);
  std::vector<uint32_t> waiting_for(n);
  std::vector<uint8_t> ready(n, 0);
  std::vector<int64_t> key(n, 0);
  int64_t clock = 0;

  struct Entry {
    int64_t key;
    uint32_t tie;
    uint32_t thunk;
    bool operator>(const Entry& o) const { return std::tie(key, tie) > std::tie(o.key, o.tie); }
  };
  // Entries whose key is no longer the thunk's are stale and skipped.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](uint32_t t) {
    if (rule == Rule::kDepthFirst) {
      if (ready[t] != 0) return;
      key[t] = -clock;
    } else {
      const LiveMemory::Change c = memory.change(t);
      const int64_t growth = c.starts - c.stops;
      const int64_t now = rule == Rule::kFreeFirst ? std::min<int64_t>(growth, 0) : growth;
      if (ready[t] != 0 && key[t] == now) return;
      key[t] = now;
    }
    ready[t] = 1;
    queue.push({key[t], backwards ? n - 1 - t : t, t});
  };

  for (uint32_t t = 0; t < n; ++t) {
    waiting_for[t] = static_cast<uint32_t>(before(t).size());
    if (waiting_for[t] == 0) push(t);
  }
  std::vector<uint32_t> order;
  order.reserve(n);
  while (!queue.empty()) {
    const Entry e = queue.top();
    queue.pop();
    if (ready[e.thunk] != 1 || key[e.thunk] != e.key) continue;
    ready[e.thunk] = 2;
    order.push_back(e.thunk);
    ++clock;
    memory.run(e.thunk, [&](uint32_t v) {
      if (rule == Rule::kDepthFirst) return;
      for (uint32_t user : values.users(v)) {
        if (ready[user] == 1) push(user);
      }
    });
    for (uint32_t t : after(e.thunk)) {
      if (--waiting_for[t] == 0) push(t);
    }
  }
  if (backwards) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<uint32_t> widen_groups(const DependenceGraph& graph, const ValueTable& values,
                                   int64_t peak, const std::vector<uint32_t>& order) {
  constexpr size_t kWindow = 48;  // how far ahead a thunk is looked for
  const size_t n = order.size();
  constexpr uint32_t kNotRun = 0xffffffff;
  std::vector<uint32_t> group_of(n, kNotRun);
  // What is left of `order`, with the bytes that will be alive while each runs (an upper bound).
  std::vector<uint32_t> rest = order;
  std::vector<int64_t> during = live_profile(values, order);
  std::vector<uint32_t> widened;
  widened.reserve(n);
  LiveMemory memory(values);
  uint32_t group = 0;

  const auto runs_in_group = [&](uint32_t t) {
    return std::all_of(graph.predecessors(t).begin(), graph.predecessors(t).end(),
                       [&](uint32_t p) { return group_of[p] < group; });
  };
  size_t head = 0;
  while (head < n) {
    const size_t end = std::min(n, head + kWindow);
    size_t pick = end;
    int64_t raise = 0;
    int64_t highest = 0;  // of the steps that the picked thunk would overtake
    for (size_t i = head; i < end; ++i) {
      const uint32_t t = rest[i];
      if (runs_in_group(t)) {
        if (i == head) {
          pick = i;
          break;
        }
        const LiveMemory::Change c = memory.change(t);
        // What it frees was alive during all the steps that it overtakes.
        if (memory.live() + c.starts <= peak && highest + c.starts - c.stops <= peak) {
          raise = c.starts - c.stops;
          pick = i;
          break;
        }
      }
      highest = std::max(highest, during[i]);
    }
    if (pick == end) {
      ++group;
      continue;
    }
    const uint32_t t = rest[pick];
    for (size_t i = pick; i > head; --i) {
      rest[i] = rest[i - 1];
      during[i] = during[i - 1] + raise;
    }
    group_of[t] = group;
    memory.run(t);
    widened.push_back(t);
    ++head;
  }
  return widened;
}

}  // namespace ordering

std::vector<uint32_t> dependence_groups(const DependenceGraph& graph,
                                        const std::vector<uint32_t>& order) {
  std::vector<uint32_t> group_of_thunk(order.size(), 0);
  std::vector<uint32_t> groups;
  groups.reserve(order.size());
  uint32_t group = 0;
  for (uint32_t t : order) {
    for (uint32_t p : graph.predecessors(t)) {
      if (group_of_thunk[p] == group && !groups.empty()) {
        ++group;
        break;
      }
    }
    group_of_thunk[t] = group;
    groups.push_back(group);
  }
  return groups;
}

ThunkOrder choose_order(const DependenceGraph& graph, const ValueTable& values,
                        const OrderOptions& options) {
  ThunkOrder best;
  best.order.resize(graph.size());
  std::iota(best.order.begin(), best.order.end(), 0);
  best.program_peak = best.peak = best.allowed_peak = peak_bytes(values, best.order);
  if (!options.reorder || graph.size() < 2) return best;

  const auto consider = [&](std::vector<uint32_t> order) {
    const int64_t peak = peak_bytes(values, order);
    if (peak < best.peak) {
      best.order = std::move(order);
      best.peak = peak;
    }
  };
  // No order does with less than what one thunk touches.
  int64_t floor = 0;
  {
    for (uint32_t t = 0; t < graph.size(); ++t) {
      int64_t touched = 0;
      for (uint32_t v : values.values(t)) touched += values.size[v];
      for (const MergeCandidate& m : values.candidates(t)) touched -= values.size[m.out];
      floor = std::max(floor, touched);
    }
  }
  using ordering::Rule;
  for (const bool backwards : {false, true}) {
    for (const Rule rule : {Rule::kFreeFirst, Rule::kLeastGrowth, Rule::kDepthFirst}) {
      if (best.peak > floor) consider(ordering::list_schedule(graph, values, rule, backwards));
    }
  }
  if (best.peak > floor) {
    std::vector<uint32_t> order = best.order;
    ordering::search_stretches(
        graph, values, 2048 + options.search_states_per_thunk * static_cast<int64_t>(graph.size()),
        &order);
    consider(std::move(order));
  }

  best.allowed_peak =
      best.peak + static_cast<int64_t>(static_cast<double>(best.peak) * options.peak_slack);
  std::vector<uint32_t> wide = ordering::widen_groups(graph, values, best.allowed_peak, best.order);
  const int64_t wide_peak = peak_bytes(values, wide);
  const bool fewer_groups =
      dependence_groups(graph, wide).back() < dependence_groups(graph, best.order).back();
  if (wide_peak < best.peak || (wide_peak <= best.allowed_peak && fewer_groups)) {
    best.order = std::move(wide);
    best.peak = wide_peak;
  }
  return best;
}

}  // namespace bessemer
