// A device that compiles for one of Apple's chips and runs nothing: `modelled:m2-pro`. Its plans
// and schedules are those of the chip; plan/cost_model.h tells how long they would take.
#pragma once

#include "runtime/device.h"

namespace bessemer::modelled {

// options.variant names the chip; kName lists those that are known.
[[nodiscard]] Result<DevicePtr> open(const DeviceOptions& options);

}  // namespace bessemer::modelled
