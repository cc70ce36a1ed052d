// Random lowered graphs, and an interpreter of thunks that knows nothing of planning: every byte is
// a number that depends on all that its thunk has read, so that two runs agree only if every read
// saw the same.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "ops/lowering.h"
#include "plan/schedule.h"
#include "target/target.h"

namespace bessemer::testing {

struct RandomGraph {
  LoweredGraph lowered;
  std::vector<Extent> extents;
};

struct RandomShape {
  int max_thunks = 14;
  bool constant_sizes = false;  // no extents in any size
};

RandomGraph random_graph(std::mt19937_64& random, const RandomShape& shape = {});
Target small_target(int64_t alignment);
// A thunk with constant ranges, for graphs by hand.
Operand at(uint32_t buffer, Access access, Dim offset, Dim bytes);
Thunk thunk(std::string label, std::vector<Operand> operands, std::vector<InPlace> in_place = {});

// What a run did: for each thunk (program order) a digest of all it read, and what outputs and
// states hold at the end.
struct Trace {
  std::vector<uint64_t> digests;
  std::map<std::pair<Space, uint32_t>, std::vector<uint64_t>> final;
  bool out_of_bounds = false;
  bool operator==(const Trace&) const = default;
};

// Runs the graph in program order with unlimited storage. `defined` receives, for each thunk and
// operand, which bytes had been written when it read them.
using Defined = std::vector<std::vector<std::vector<bool>>>;
Trace run_graph(const LoweredGraph& lowered, std::span<const int64_t> extents, Defined* defined);
// Runs the schedule in its own memory, thunks of a group in random order. Undefined bytes are not
// looked at. `seed` also poisons the arena.
Trace run_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                   std::span<const int64_t> extents, const Defined& defined, uint64_t seed);

}  // namespace bessemer::testing
