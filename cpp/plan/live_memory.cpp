#include "plan/live_memory.h"

#include <algorithm>
#include <array>

namespace bessemer {
namespace {

constexpr size_t kMaxMergesOfThunk = 8;

bool is_whole(const Operand& o, const VirtualBuffer& b) {
  return b.space == Space::kValue && o.offset == Dim(0) && o.bytes == b.bytes;
}

// Whether the hint's operands are whole values of one size, and no operand without the same hint
// touches either of them.
bool may_merge(const LoweredGraph& lowered, const Thunk& thunk, const InPlace& hint) {
  const Operand& out = thunk.operands[hint.out];
  const Operand& in = thunk.operands[hint.in];
  if (out.access != Access::kWrite || in.access != Access::kRead || out.block == in.block) {
    return false;
  }
  if (!is_whole(out, lowered.buffers[out.block]) || !is_whole(in, lowered.buffers[in.block]) ||
      !(out.bytes == in.bytes)) {
    return false;
  }
  for (uint32_t i = 0; i < thunk.operands.size(); ++i) {
    if (i == hint.out || i == hint.in) continue;
    const uint32_t block = thunk.operands[i].block;
    if (block == out.block) return false;
    if (block == in.block && std::find(thunk.in_place.begin(), thunk.in_place.end(),
                                       InPlace{hint.out, i}) == thunk.in_place.end()) {
      return false;
    }
  }
  return true;
}

}  // namespace

ValueTable collect_values(const LoweredGraph& lowered, const AccessTable& accesses,
                          int64_t alignment, int64_t guard_bytes) {
  ValueTable table;
  const size_t buffers = lowered.buffers.size();
  table.size.assign(buffers, 0);
  for (size_t v = 0; v < buffers; ++v) {
    const int64_t bytes = accesses.buffer_bytes[v];
    if (lowered.buffers[v].space != Space::kValue || bytes == 0) continue;
    table.size[v] = (bytes + alignment - 1) / alignment * alignment + guard_bytes;
  }

  table.user_begin.assign(buffers + 1, 0);
  table.value_begin.push_back(0);
  table.merge_begin.push_back(0);
  std::vector<size_t> seen(buffers, lowered.thunks.size());
  for (size_t t = 0; t < lowered.thunks.size(); ++t) {
    const Thunk& thunk = lowered.thunks[t];
    for (const Operand& o : thunk.operands) {
      if (lowered.buffers[o.block].space != Space::kValue || seen[o.block] == t) continue;
      seen[o.block] = t;
      table.values_of.push_back(o.block);
      ++table.user_begin[o.block + 1];
    }
    table.value_begin.push_back(static_cast<uint32_t>(table.values_of.size()));
    for (const InPlace& hint : thunk.in_place) {
      const MergeCandidate c{thunk.operands[hint.out].block, thunk.operands[hint.in].block};
      const auto mine = table.merges.begin() + table.merge_begin.back();
      const bool known = std::any_of(mine, table.merges.end(), [&](const MergeCandidate& m) {
        return m.out == c.out && m.in == c.in;
      });
      if (!known && table.merges.size() - table.merge_begin.back() < kMaxMergesOfThunk &&
          may_merge(lowered, thunk, hint)) {
        table.merges.push_back(c);
      }
    }
    table.merge_begin.push_back(static_cast<uint32_t>(table.merges.size()));
  }
  for (size_t v = 0; v < buffers; ++v) table.user_begin[v + 1] += table.user_begin[v];
  table.users_of.resize(table.values_of.size());
  std::vector<uint32_t> fill(table.user_begin.begin(), table.user_begin.end() - 1);
  for (size_t t = 0; t < lowered.thunks.size(); ++t) {
    for (uint32_t v : table.values(t)) table.users_of[fill[v]++] = static_cast<uint32_t>(t);
  }
  return table;
}

LiveMemory::LiveMemory(const ValueTable& values)
    : values_(values), started_(values.size.size(), 0), left_(values.size.size()) {
  for (size_t v = 0; v < left_.size(); ++v) {
    left_[v] = values.user_begin[v + 1] - values.user_begin[v];
  }
}

LiveMemory::Change LiveMemory::change(uint32_t t) const {
  Change c;
  for (uint32_t v : values_.values(t)) {
    if (started_[v] == 0) c.starts += values_.size[v];
    if (left_[v] == 1) c.stops += values_.size[v];
  }
  std::array<MergeCandidate, kMaxMergesOfThunk> taken{};
  size_t count = 0;
  for (const MergeCandidate& m : values_.candidates(t)) {
    const bool forwards = started_[m.out] == 0 && left_[m.in] == 1;
    const bool backwards = started_[m.in] == 0 && left_[m.out] == 1;
    if (!forwards && !backwards) continue;
    const bool free = std::none_of(
        taken.begin(), taken.begin() + count,
        [&](const MergeCandidate& other) { return other.out == m.out || other.in == m.in; });
    if (!free) continue;
    taken[count++] = m;
    c.starts -= values_.size[m.out];
    c.stops -= values_.size[m.out];
  }
  return c;
}

std::vector<int64_t> live_profile(const ValueTable& values, std::span<const uint32_t> order) {
  LiveMemory memory(values);
  std::vector<int64_t> profile;
  profile.reserve(order.size());
  for (uint32_t t : order) profile.push_back(memory.run(t));
  return profile;
}

int64_t peak_bytes(const ValueTable& values, std::span<const uint32_t> order) {
  LiveMemory memory(values);
  int64_t peak = 0;
  for (uint32_t t : order) peak = std::max(peak, memory.run(t));
  return peak;
}

}  // namespace bessemer
