// The accesses of a lowered graph in flat tables: which thunk touches which bytes of which storage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "ops/lowering.h"
#include "plan/ranges.h"

namespace bessemer {

struct AccessRecord {
  uint32_t storage = 0;
  Access access = Access::kRead;
  ByteRange range;
};

// Storages are what hazards are about: each virtual buffer is one, except that buffers which name
// the same weight, state, input, output or constant are the same storage. Refers to the
// LoweredGraph, which must outlive it unchanged.
struct AccessTable {
  std::vector<AccessRecord> records;  // by thunk in program order, operands in order
  std::vector<uint32_t> begin;        // records of thunk t: [begin[t], begin[t + 1])
  std::vector<uint32_t> storage_of;   // by virtual buffer
  std::vector<int64_t> buffer_bytes;  // by virtual buffer: the most it holds at any extents
  uint32_t storages = 0;
  ExtentValues maxima;

  [[nodiscard]] std::span<const AccessRecord> of(size_t thunk) const {
    return {records.data() + begin[thunk], records.data() + begin[thunk + 1]};
  }
  [[nodiscard]] size_t thunks() const { return begin.size() - 1; }
};

// Checks on the way that every operand names a buffer and stays inside it, and that no value is
// read before a thunk has written it: kInternal naming thunk and operand otherwise.
[[nodiscard]] Result<AccessTable> collect_accesses(const LoweredGraph& lowered,
                                                   std::span<const Extent> extents);

// "thunk 12 `L3.qkv` (linear__q4_1_f32)", for messages.
[[nodiscard]] std::string describe(const Thunk& thunk, size_t index);

}  // namespace bessemer
