#include "plan/lifetimes.h"

#include <algorithm>
#include <numeric>

namespace bessemer {
namespace {

constexpr uint32_t kNone = 0xffffffff;

struct Merge {
  uint32_t out;
  uint32_t in;
  uint32_t step;
};

// A merge makes its thunk write what other readers of `in` read. In the same group that is a
// hazard.
bool shares_group(const ValueTable& values, const Merge& m, const std::vector<uint32_t>& position,
                  const std::vector<uint32_t>& groups) {
  for (uint32_t user : values.users(m.in)) {
    const uint32_t step = position[user];
    if (step != m.step && groups[step] == groups[m.step]) return true;
  }
  return false;
}

}  // namespace

Lifetimes find_lifetimes(const ValueTable& values, const std::vector<uint32_t>& order,
                         const std::vector<uint32_t>& groups, const LifetimeOptions& options) {
  Lifetimes result;
  const auto steps = static_cast<uint32_t>(order.size());
  std::vector<uint32_t> position(steps);
  for (uint32_t i = 0; i < steps; ++i) position[order[i]] = i;

  std::vector<uint32_t> value_of(values.size.size(), kNone);
  for (uint32_t v = 0; v < values.size.size(); ++v) {
    if (values.size[v] == 0 || values.users(v).empty()) continue;
    ValueLifetime life{v, steps, 0, 0, kNone};
    for (uint32_t user : values.users(v)) {
      life.first = std::min(life.first, position[user]);
      life.last = std::max(life.last, position[user]);
    }
    result.values.push_back(life);
  }
  std::sort(result.values.begin(), result.values.end(),
            [](const ValueLifetime& a, const ValueLifetime& b) {
              return a.first != b.first ? a.first < b.first : a.buffer < b.buffer;
            });
  for (uint32_t i = 0; i < result.values.size(); ++i) value_of[result.values[i].buffer] = i;

  if (!options.reuse) {
    for (ValueLifetime& v : result.values) {
      v.storage = static_cast<uint32_t>(result.storages.size());
      result.storages.push_back({values.size[v.buffer], 0, steps});
      result.bound += values.size[v.buffer];
    }
    return result;
  }

  std::vector<Merge> merges;
  std::vector<uint8_t> given(values.size.size(), 0);
  for (uint32_t step = 0; step < steps; ++step) {
    for (const MergeCandidate& m : values.candidates(order[step])) {
      if (value_of[m.out] == kNone || value_of[m.in] == kNone || given[m.in] != 0) continue;
      ValueLifetime& out = result.values[value_of[m.out]];
      if (out.first != step || out.takes_over != kNone ||
          result.values[value_of[m.in]].last != step) {
        continue;
      }
      out.takes_over = m.in;
      given[m.in] = 1;
      merges.push_back({m.out, m.in, step});
    }
  }

  std::vector<int64_t> kept(steps + 1, 0);  // bytes at each step
  for (const ValueLifetime& v : result.values) {
    kept[v.first] += values.size[v.buffer];
    kept[v.last + 1] -= values.size[v.buffer];
  }
  std::partial_sum(kept.begin(), kept.end(), kept.begin());
  for (const Merge& m : merges) kept[m.step] -= values.size[m.out];
  const int64_t allowed =
      std::max(options.allowed_bytes, *std::max_element(kept.begin(), kept.end()));

  for (const Merge& m : merges) {
    if (kept[m.step] + values.size[m.out] > allowed || !shares_group(values, m, position, groups)) {
      ++result.merges;
      continue;
    }
    kept[m.step] += values.size[m.out];
    result.values[value_of[m.out]].takes_over = kNone;
  }

  // A value comes after the one that it takes over: that one's storage is known.
  for (ValueLifetime& v : result.values) {
    if (v.takes_over == kNone) {
      v.storage = static_cast<uint32_t>(result.storages.size());
      result.storages.push_back({values.size[v.buffer], v.first, v.last + 1});
    } else {
      v.storage = result.values[value_of[v.takes_over]].storage;
      result.storages[v.storage].upper = v.last + 1;
    }
  }

  if (options.keep_to_group_end) {
    std::vector<uint32_t> group_end(steps, steps);  // one after the last step of the step's group
    for (uint32_t i = steps; i-- > 0;) {
      group_end[i] = i + 1 < steps && groups[i + 1] == groups[i] ? group_end[i + 1] : i + 1;
    }
    for (ArenaStorage& s : result.storages) {
      const uint32_t end = group_end[s.upper - 1];
      if (end == s.upper) continue;
      const auto from = kept.begin() + s.upper;
      const auto to = kept.begin() + end;
      if (*std::max_element(from, to) + s.size > allowed) continue;
      for (auto it = from; it != to; ++it) *it += s.size;
      s.upper = end;
      result.kept_longer = true;
    }
  }
  result.bound = *std::max_element(kept.begin(), kept.end());
  return result;
}

}  // namespace bessemer
