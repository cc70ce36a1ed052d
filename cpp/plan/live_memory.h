// How many bytes of values are alive while thunks run in some order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/lowering.h"
#include "plan/accesses.h"

namespace bessemer {

// A thunk's output that may take over the storage of one of its inputs, if the input is a value
// that nothing accesses afterwards and the output one that nothing accessed before.
struct MergeCandidate {
  uint32_t out = 0;  // virtual buffers
  uint32_t in = 0;
};

// The values (buffers of space kValue) of a lowered graph, who uses them, and their sizes rounded
// up to the target's alignment plus guard bytes. Values are numbered as their virtual buffers;
// other buffers have size 0 and no users.
struct ValueTable {
  std::vector<int64_t> size;                     // by buffer
  std::vector<uint32_t> value_begin, values_of;  // of thunk t: distinct values that it accesses
  std::vector<uint32_t> user_begin, users_of;    // of buffer v: thunks that access it, ascending
  std::vector<uint32_t> merge_begin;             // of thunk t: its candidates
  std::vector<MergeCandidate> merges;

  [[nodiscard]] std::span<const uint32_t> values(size_t t) const {
    return {values_of.data() + value_begin[t], values_of.data() + value_begin[t + 1]};
  }
  [[nodiscard]] std::span<const uint32_t> users(size_t v) const {
    return {users_of.data() + user_begin[v], users_of.data() + user_begin[v + 1]};
  }
  [[nodiscard]] std::span<const MergeCandidate> candidates(size_t t) const {
    return {merges.data() + merge_begin[t], merges.data() + merge_begin[t + 1]};
  }
  [[nodiscard]] size_t thunks() const { return value_begin.size() - 1; }
};

[[nodiscard]] ValueTable collect_values(const LoweredGraph& lowered, const AccessTable& accesses,
                                        int64_t alignment, int64_t guard_bytes);

// The state of a walk over thunks in some order, forwards, or from the last to the first. Merges
// are symmetric under reversal: what starts to live and what stops swap their roles.
class LiveMemory {
 public:
  explicit LiveMemory(const ValueTable& values);

  // Bytes that start to be alive if thunk t runs next, and bytes that then stop.
  struct Change {
    int64_t starts = 0;
    int64_t stops = 0;
  };
  [[nodiscard]] Change change(uint32_t t) const;
  // Runs thunk t; returns the bytes alive while it runs. Calls touched(v) for every value that
  // began to live or that has a single user left: the changes of its users differ from now on.
  template <class Touched>
  int64_t run(uint32_t t, Touched touched);
  int64_t run(uint32_t t) {
    return run(t, [](uint32_t) {});
  }

  [[nodiscard]] int64_t live() const { return live_; }
  [[nodiscard]] bool started(uint32_t v) const { return started_[v] != 0; }
  [[nodiscard]] uint32_t users_left(uint32_t v) const { return left_[v]; }

 private:
  const ValueTable& values_;
  std::vector<uint8_t> started_;
  std::vector<uint32_t> left_;
  int64_t live_ = 0;
};

template <class Touched>
int64_t LiveMemory::run(uint32_t t, Touched touched) {
  const Change c = change(t);
  const int64_t during = live_ + c.starts;
  live_ = during - c.stops;
  for (uint32_t v : values_.values(t)) {
    const bool begins = started_[v] == 0;
    started_[v] = 1;
    --left_[v];
    if (begins || left_[v] == 1) touched(v);
  }
  return during;
}

// Bytes alive during each step of `order`, merging wherever a candidate allows it.
[[nodiscard]] std::vector<int64_t> live_profile(const ValueTable& values,
                                                std::span<const uint32_t> order);
[[nodiscard]] int64_t peak_bytes(const ValueTable& values, std::span<const uint32_t> order);

}  // namespace bessemer
