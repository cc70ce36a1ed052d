#include "plan/hazards.h"

#include <unordered_map>

#include "plan/ranges.h"

namespace bessemer {

std::vector<uint8_t> find_barriers(std::span<const Thunk> thunks, std::span<const int64_t> maxima) {
  struct BlockHistory {
    RangeList reads;  // since the last barrier
    RangeList writes;
    uint32_t group = 0;
    bool ever_written = false;
  };
  std::vector<BlockHistory> blocks;
  std::unordered_map<uint64_t, uint32_t> block_index;
  std::vector<uint32_t> block_of;  // by operand, over all thunks
  for (const Thunk& thunk : thunks) {
    for (const Operand& o : thunk.operands) {
      const uint64_t name = (static_cast<uint64_t>(o.space) << 32) | o.block;
      const auto [it, fresh] = block_index.emplace(name, static_cast<uint32_t>(blocks.size()));
      if (fresh) blocks.emplace_back();
      block_of.push_back(it->second);
      if (writes(o.access)) blocks[it->second].ever_written = true;
    }
  }

  std::vector<uint8_t> barrier_before(thunks.size(), 0);
  std::vector<ByteRange> ranges;
  uint32_t group = 0;
  size_t first_operand = 0;
  for (size_t t = 0; t < thunks.size(); ++t) {
    const std::vector<Operand>& operands = thunks[t].operands;
    ranges.clear();
    bool hazard = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      ranges.push_back(byte_range(operands[i], maxima));
      BlockHistory& h = blocks[block_of[first_operand + i]];
      if (!h.ever_written || hazard) continue;
      if (h.group != group) {
        h.group = group;
        h.reads.clear();
        h.writes.clear();
      }
      const auto found = [&](const RangeList::Entry&) {
        hazard = true;
        return false;
      };
      h.writes.visit_overlaps(ranges[i], maxima, found);
      if (!hazard && writes(operands[i].access)) h.reads.visit_overlaps(ranges[i], maxima, found);
    }
    if (hazard) {
      barrier_before[t] = 1;
      ++group;
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      BlockHistory& h = blocks[block_of[first_operand + i]];
      if (!h.ever_written) continue;
      if (h.group != group) {
        h.group = group;
        h.reads.clear();
        h.writes.clear();
      }
      (writes(operands[i].access) ? h.writes : h.reads).add(ranges[i], static_cast<uint32_t>(t));
    }
    first_operand += operands.size();
  }
  return barrier_before;
}

}  // namespace bessemer
