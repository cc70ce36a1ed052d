// The CPU device: memory from the system, kernels from kernel_table.cpp, one thread pool. Devices
// with the same options share one instance, so that many models do not oversubscribe the machine.
#pragma once

#include "runtime/device.h"

namespace bessemer::cpu {

// kInvalidArgument: an unknown SIMD family, or negative threads. kUnsupported: a family that this
// machine or build does not have.
[[nodiscard]] Result<DevicePtr> open(const DeviceOptions& options);

}  // namespace bessemer::cpu
