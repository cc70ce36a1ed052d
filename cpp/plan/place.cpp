#include "plan/place.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "plan/arena_search.h"

namespace bessemer {
namespace {

// Lists, for each of the storages, those that are kept at a common step.
std::vector<std::vector<uint32_t>> find_neighbours(const std::vector<ArenaStorage>& storages) {
  std::vector<uint32_t> by_lower(storages.size());
  std::iota(by_lower.begin(), by_lower.end(), 0);
  std::sort(by_lower.begin(), by_lower.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(storages[a].lower, a) < std::tie(storages[b].lower, b);
  });
  std::vector<std::vector<uint32_t>> neighbours(storages.size());
  std::vector<uint32_t> living;
  for (uint32_t i : by_lower) {
    std::erase_if(living, [&](uint32_t j) { return storages[j].upper <= storages[i].lower; });
    for (uint32_t j : living) {
      neighbours[i].push_back(j);
      neighbours[j].push_back(i);
    }
    living.push_back(i);
  }
  return neighbours;
}

// Each storage, in the given order, at the lowest place that is free.
Packed first_fit(const std::vector<ArenaStorage>& storages,
                 const std::vector<std::vector<uint32_t>>& neighbours,
                 const std::vector<uint32_t>& order) {
  Packed p;
  p.offsets.assign(storages.size(), -1);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (uint32_t i : order) {
    taken.clear();
    for (uint32_t j : neighbours[i]) {
      if (p.offsets[j] >= 0) taken.push_back({p.offsets[j], p.offsets[j] + storages[j].size});
    }
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [low, high] : taken) {
      if (low - at >= storages[i].size) break;
      at = std::max(at, high);
    }
    p.offsets[i] = at;
    p.peak = std::max(p.peak, at + storages[i].size);
  }
  return p;
}

}  // namespace

int64_t packing_bound(const std::vector<ArenaStorage>& storages) {
  std::vector<int64_t> kept;
  for (const ArenaStorage& s : storages) {
    if (kept.size() < s.upper + size_t{1}) kept.resize(s.upper + size_t{1}, 0);
  }
  for (const ArenaStorage& s : storages) {
    kept[s.lower] += s.size;
    kept[s.upper] -= s.size;
  }
  std::partial_sum(kept.begin(), kept.end(), kept.begin());
  return kept.empty() ? 0 : *std::max_element(kept.begin(), kept.end());
}

Packed pack_first_fit(const std::vector<ArenaStorage>& storages) {
  const int64_t bound = packing_bound(storages);
  const std::vector<std::vector<uint32_t>> neighbours = find_neighbours(storages);
  std::vector<uint32_t> order(storages.size());
  const auto steps = [&](uint32_t i) {
    return static_cast<double>(storages[i].upper - storages[i].lower);
  };
  const auto size = [&](uint32_t i) { return static_cast<double>(storages[i].size); };
  Packed best;
  for (int rule = 0; rule < 4; ++rule) {
    const auto key = [&](uint32_t i) {
      switch (rule) {
        case 0:
          return std::pair(size(i), steps(i));
        case 1:
          return std::pair(steps(i), size(i));
        case 2:
          return std::pair(size(i) * steps(i), size(i));
        default:
          return std::pair(-static_cast<double>(storages[i].lower), size(i));
      }
    };
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const auto x = key(a);
      const auto y = key(b);
      return x != y ? x > y : a < b;
    });
    Packed p = first_fit(storages, neighbours, order);
    if (rule == 0 || p.peak < best.peak) best = std::move(p);
    if (best.peak == bound) break;
  }
  return best;
}

namespace {

// Problems above this size are not searched: their nodes are too dear for a compile.
constexpr size_t kMostSearched = 1000;

// Where first fit misses the bound, a short search for a packing at the bound, or a little above.
void search_below(const std::vector<ArenaStorage>& storages, double budget_s, Packed* packed) {
  const int64_t bound = packing_bound(storages);
  if (packed->peak == bound || storages.size() > kMostSearched) return;
  ArenaSearchOptions options;
  options.budget_s = budget_s / 4;
  for (const int64_t capacity : {bound, bound + bound / 64, bound + bound / 24}) {
    if (capacity >= packed->peak) return;
    ArenaSearchResult found = search_packing(storages, capacity, options);
    if (found.end != ArenaSearchEnd::kFound) continue;
    packed->offsets = std::move(found.offsets);
    packed->peak = 0;
    for (size_t i = 0; i < storages.size(); ++i) {
      packed->peak = std::max(packed->peak, packed->offsets[i] + storages[i].size);
    }
    return;
  }
}

}  // namespace

Result<Placement> place_storages(const std::vector<ArenaStorage>& storages,
                                 const std::vector<std::string>& labels, const Target& target,
                                 double budget_s) {
  Placement placement;
  placement.block.assign(storages.size(), 0);
  placement.offset.assign(storages.size(), 0);
  std::vector<uint32_t> rest;
  for (uint32_t i = 0; i < storages.size(); ++i) {
    if (storages[i].size > target.max_block_bytes) {
      return Error{ErrorKind::kUnsupported,
                   "`" + labels[i] + "` takes " + std::to_string(storages[i].size) +
                       " bytes of the arena, aligned; a block of " + target.name +
                       " holds at most " + std::to_string(target.max_block_bytes),
                   {}};
    }
    rest.push_back(i);
  }
  while (!rest.empty()) {
    std::vector<ArenaStorage> left;
    for (uint32_t i : rest) left.push_back(storages[i]);
    Packed packed = pack_first_fit(left);
    search_below(left, budget_s, &packed);
    std::vector<uint32_t> too_far;
    int64_t bytes = 0;
    for (size_t i = 0; i < rest.size(); ++i) {
      const int64_t offset = packed.offsets[i];
      const int64_t end = offset + storages[rest[i]].size;
      // What starts a block may be as large as a block; anything else ends below the offset limit.
      if (end > target.max_block_bytes || (offset > 0 && end > target.max_offset)) {
        too_far.push_back(rest[i]);
        continue;
      }
      placement.block[rest[i]] = static_cast<uint32_t>(placement.block_bytes.size());
      placement.offset[rest[i]] = offset;
      bytes = std::max(bytes, end);
    }
    placement.block_bytes.push_back(bytes);
    placement.total += bytes;
    rest = std::move(too_far);
  }
  return placement;
}

}  // namespace bessemer
