// The kernel library, as one translation unit. Compile without fast-math: NaN and infinity are
// data, and sums keep what rounding loses.
#include <metal_stdlib>

#include "constants.h"
#include "elements.h"

// The instances, by name.
// clang-format off
#define BSM_KERNEL(name, ...) \
  template [[host_name(#name)]] [[kernel]] decltype(bessemer::__VA_ARGS__) bessemer::__VA_ARGS__;
#include "kernel_instances.def"
// clang-format on
