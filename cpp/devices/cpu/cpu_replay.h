// Runs a schedule on the CPU: thunk after thunk, each over the pool.
#pragma once

#include <memory>

#include "devices/cpu/kernel.h"
#include "runtime/device.h"

namespace bessemer::cpu {

// Kernels resolved by name. The pool outlives every replay that is bound from the result.
[[nodiscard]] Result<std::unique_ptr<CompiledSchedule>> compile_schedule(
    std::shared_ptr<const Schedule> schedule, std::shared_ptr<ThreadPool> pool, Isa isa);

}  // namespace bessemer::cpu
