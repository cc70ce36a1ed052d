#include "plan/place.h"

#include <algorithm>
#include <numeric>

namespace bessemer {
namespace {

struct Packed {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};

// Greedy by size, first fit.
Packed pack(const std::vector<ArenaStorage>& storages, const std::vector<uint32_t>& subset,
            int64_t /*alignment*/, double /*budget_s*/) {
  Packed p;
  p.offsets.assign(subset.size(), 0);
  std::vector<uint32_t> by_size(subset.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::sort(by_size.begin(), by_size.end(), [&](uint32_t a, uint32_t b) {
    return storages[subset[a]].size != storages[subset[b]].size
               ? storages[subset[a]].size > storages[subset[b]].size
               : a < b;
  });
  std::vector<uint32_t> done;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (uint32_t i : by_size) {
    const ArenaStorage& s = storages[subset[i]];
    taken.clear();
    for (uint32_t j : done) {
      const ArenaStorage& o = storages[subset[j]];
      if (o.lower < s.upper && s.lower < o.upper) {
        taken.push_back({p.offsets[j], p.offsets[j] + o.size});
      }
    }
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [low, high] : taken) {
      if (low - at >= s.size) break;
      at = std::max(at, high);
    }
    p.offsets[i] = at;
    p.peak = std::max(p.peak, at + s.size);
    done.push_back(i);
  }
  return p;
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
    const Packed packed = pack(storages, rest, target.alignment, budget_s);
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
