// A Schedule is the result of planning: thunks in the order of execution, each operand in its final
// place, and the barriers between them. It is plain data: it owns everything that it names, prints
// as text, parses back to an equal schedule, and may be read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dim.h"
#include "base/error.h"
#include "thunk/thunk.h"

namespace bessemer {

// One value of the lowered graph in the arena. Values merged in place, or alive at different times,
// share bytes.
struct ArenaValue {
  uint32_t buffer = 0;  // index in LoweredGraph::buffers
  std::string label;    // for people
  uint32_t block = 0;   // arena block
  int64_t offset = 0;   // bytes into the block, aligned for the target
  int64_t max_bytes = 0;
  Dim bytes;           // at the actual extents, <= max_bytes
  uint32_t first = 0;  // step of the first access
  uint32_t last = 0;   // step of the last access
  // The buffer whose storage this value took over in place at `first`, or kNothing.
  uint32_t takes_over = kNothing;
  static constexpr uint32_t kNothing = 0xffffffff;
  bool operator==(const ArenaValue&) const = default;
};

struct Schedule {
  // The bucket: each extent's largest value that this schedule may run at.
  std::vector<Extent> extents;

  // In order of execution. Operands have space kArena (block: arena block) or one of kWeights,
  // kState, kInput, kOutput, kConstant (block: its index).
  std::vector<Thunk> thunks;
  // barrier_before[i]: thunk i starts only after all thunks before it have finished. Thunks between
  // two barriers (a group) have no hazard and may run in any order or at once.
  std::vector<uint8_t> barrier_before;
  // original[i]: thunk i's index in the program order of the LoweredGraph.
  std::vector<uint32_t> original;

  std::vector<ArenaValue> values;     // by `first`, then buffer; none for values of zero bytes
  std::vector<int64_t> arena_blocks;  // bytes of each arena block
  // The largest sum of bytes that are alive at once: no placement can do with less.
  int64_t arena_bound = 0;
  // Unused bytes kept after every value; 0 unless PlanOptions::guard_bytes.
  int64_t guard_bytes = 0;

  int64_t critical_path = 0;  // thunks on the longest chain of dependences: fewest possible groups
  int64_t in_place_merges = 0;  // values that took over the storage of another
  int64_t views = 0;            // operands that address a part of their value
  double seconds = 0;           // time that planning took; neither printed nor compared

  [[nodiscard]] int64_t arena_bytes() const;  // sum over blocks
  [[nodiscard]] int64_t barriers() const;
  [[nodiscard]] int64_t groups() const;  // barriers + 1; 0 without thunks
  [[nodiscard]] ExtentValues extent_maxima() const;
  // Bytes of arena values alive at each step, at the maxima; what is merged in place counts once.
  [[nodiscard]] std::vector<int64_t> live_bytes() const;

  bool operator==(const Schedule&) const;  // all but `seconds`
};

// Arena bytes that hold nothing any more once step `step` is done: the place of a value that dies
// there and is not taken over. Debug runs poison them, and check that the guard_bytes from
// offset + max_bytes of each living value are as they left them.
struct FreedBytes {
  uint32_t step = 0;
  uint32_t block = 0;
  int64_t offset = 0;
  int64_t bytes = 0;  // at the maxima
  bool operator==(const FreedBytes&) const = default;
};
[[nodiscard]] std::vector<FreedBytes> freed_bytes(const Schedule& schedule);  // by step

struct PlanStats {
  int64_t peak = 0;   // bytes of the arena
  int64_t bound = 0;  // bytes that any placement needs
  double ratio = 1;   // peak / bound; 1 when both are 0
  int64_t thunks = 0;
  int64_t barriers = 0;
  int64_t groups = 0;
  int64_t critical_path = 0;
  int64_t values = 0;
  int64_t in_place_merges = 0;
  int64_t views = 0;
  double seconds = 0;
};
[[nodiscard]] PlanStats plan_stats(const Schedule& schedule);

// The text form: one line a value, a few a thunk, `barrier` lines between groups.
[[nodiscard]] std::string to_string(const Schedule& schedule);
// Parses what to_string prints. kParse with the line number for anything else.
[[nodiscard]] Result<Schedule> parse_schedule(std::string_view text);

// Block sizes of one arena that can hold any of the schedules (one at a time): the larger of each.
[[nodiscard]] std::vector<int64_t> shared_arena_blocks(std::span<const Schedule> schedules);

}  // namespace bessemer
