// The kernel library, as one translation unit. Compile without fast-math: NaN and infinity are
// data, and sums keep what rounding loses.
#include <metal_stdlib>

#include "concat.metal"
#include "copy.metal"
#include "elementwise.metal"
#include "gather.metal"
#include "norm.metal"
#include "reduce.metal"
// After reduce, whose operations they use.
#include "cumulative.metal"
#include "rope.metal"
#include "scatter_rows.metal"
#include "softmax.metal"
#include "top_k.metal"

// The instances, by name.
using namespace bessemer;
// clang-format off
#define BSM_KERNEL(name, ...) \
  template [[host_name(#name)]] [[kernel]] decltype(bessemer::__VA_ARGS__) bessemer::__VA_ARGS__;
#include "kernel_instances.def"
// clang-format on
