// A Target is plain data about a device. Lowering and planning see a Target, never a device, so
// that a machine without a GPU compiles for one.
#pragma once

#include <cstdint>
#include <string>

namespace bessemer {

enum class TargetKind : uint8_t { kCpu, kMetal };

struct Target {
  TargetKind kind = TargetKind::kCpu;
  std::string name = "cpu";     // "cpu-avx512vnni", "apple9"
  int64_t alignment = 64;       // bytes, of every arena value
  int64_t max_block_bytes = 0;  // largest single buffer
  int64_t max_offset = 0;       // offsets inside a block stay below this (4 GiB on GPUs)
  int threads = 1;              // workers that a kernel may use (CPU)
  bool int8_dot = true;         // int8 activations pay off
};

[[nodiscard]] Target cpu_target(int threads);

}  // namespace bessemer
