// A thunk is one kernel call as data. Printing, validating, hazard analysis, extent scaling and
// encoding are generic functions over this struct; nothing dispatches on what the kernel is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dim.h"

namespace bessemer {

// Where an operand lives. kValue exists only between lowering and planning: `block` is then the
// index of a virtual buffer, which the plan replaces by a place in the arena.
enum class Space : uint8_t { kValue, kArena, kWeights, kState, kInput, kOutput, kConstant };
[[nodiscard]] std::string_view to_string(Space space);

enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };
[[nodiscard]] std::string_view to_string(Access access);  // "r", "w", "rw"
[[nodiscard]] inline bool reads(Access a) { return (static_cast<uint8_t>(a) & 1) != 0; }
[[nodiscard]] inline bool writes(Access a) { return (static_cast<uint8_t>(a) & 2) != 0; }

struct Operand {
  Space space = Space::kValue;
  Access access = Access::kRead;
  uint32_t block = 0;  // index of the arena block, weight, state, input, output or constant
  Dim offset;          // bytes into the block
  Dim bytes;           // bytes that the kernel may touch
  bool operator==(const Operand&) const = default;
};

// Rewrites a params field when an extent changes: the field holds the value of `value`.
struct Patch {
  uint32_t byte_offset = 0;
  uint32_t width = 8;  // 4 or 8 bytes
  Dim value;
  bool operator==(const Patch&) const = default;
};

// The written operand `out` may share storage with the read operand `in`, byte for byte: the kernel
// reads each element before it writes it, and no other thread's element.
struct InPlace {
  uint32_t out = 0;
  uint32_t in = 0;
  bool operator==(const InPlace&) const = default;
};

struct Launch {
  Dim grid[3] = {1, 1, 1};  // threadgroups; the CPU device ignores it
  uint32_t group[3] = {1, 1, 1};
  bool operator==(const Launch&) const = default;
};

struct Thunk {
  std::string kernel;  // "linear__q4_1_f32": what it is before "__", the variant after
  std::vector<Operand> operands;
  std::vector<std::byte> params;  // a kernel_abi struct at the extents' maxima
  std::vector<Patch> patches;
  std::vector<InPlace> in_place;
  Launch launch;
  Dim flops;          // floating-point operations of one call
  std::string label;  // for people: "L3.qkv" or the op's name
  uint32_t node = 0;  // the graph node it came from
};

// The params struct with its patches applied at the given extents.
[[nodiscard]] std::vector<std::byte> params_at(const Thunk& thunk,
                                               std::span<const int64_t> extents);

// Bytes read and written by one call at the given extents, each counted once. Kernels that pick
// rows (embedding, gather, appends) count the rows they touch. What attention reads of its KV
// states depends on positions, which are data: it counts `context` rows of one sequence, whole
// operands if that is kWholeContext.
struct Traffic {
  int64_t read = 0;
  int64_t written = 0;
};
inline constexpr int64_t kWholeContext = -1;
[[nodiscard]] Traffic traffic(const Thunk& thunk, std::span<const int64_t> extents,
                              int64_t context = kWholeContext);
// Floating-point operations of one call, attention's likewise for `context` keys.
[[nodiscard]] int64_t flops_at(const Thunk& thunk, std::span<const int64_t> extents,
                               int64_t context = kWholeContext);

// One line: kernel, operands, params as hexadecimal words of 8 bytes, patches.
[[nodiscard]] std::string to_string(const Thunk& thunk, std::span<const Extent> extents);
[[nodiscard]] std::string to_string(const Operand& operand, std::span<const Extent> extents);

}  // namespace bessemer
