// How a thunk becomes one compute dispatch of a Metal device: which function, specialised by which
// constants, with which buffers, launched over what. It is the one table that direct encoding,
// recorded segments, the emulation's tests and the modelled devices all follow; plain data, so it
// is made and tested without Metal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dim.h"
#include "base/error.h"
#include "target/target.h"
#include "thunk/thunk.h"

namespace bessemer::metal {

enum class ConstantType : uint8_t { kBool, kUint, kInt, kFloat };

// A function constant's value; `bits` holds the low bytes of the type.
struct FunctionConstant {
  uint16_t index = 0;
  ConstantType type = ConstantType::kUint;
  uint32_t bits = 0;
  bool operator==(const FunctionConstant&) const = default;
};

// The grid, of whole threadgroups: ceil(work[i] / per_group[i]) of them along axis i, each of
// group[i] threads. An axis whose work is 0 at the run's extents means that nothing is launched.
struct Grid {
  Dim work[3] = {1, 1, 1};
  uint32_t per_group[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
  bool operator==(const Grid&) const = default;
};

// A dispatch. The params struct of the thunk is always bound at kParamsSlot; operand i of the thunk
// at slots[i].
struct MetalKernel {
  static constexpr uint8_t kParamsSlot = 0;
  static constexpr uint8_t kUnbound = 0xff;  // an operand that the kernel does not use

  std::string function;                     // name in the library
  std::vector<FunctionConstant> constants;  // by rising index
  std::vector<uint8_t> slots;               // by operand
  uint32_t threadgroup_bytes = 0;  // dynamic threadgroup memory at index 0, a multiple of 16
  Grid grid;
};

// The dispatch of a lowered thunk (its params at the extents' maxima) on `target`, which must be a
// Metal target. kUnsupported names the kernel, and what of it no kernel covers.
[[nodiscard]] Result<MetalKernel> choose_kernel(const Thunk& thunk, const Target& target);

}  // namespace bessemer::metal
