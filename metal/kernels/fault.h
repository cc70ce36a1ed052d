// What a kernel found wrong with its data, for the runtime to raise once the run has ended: a word
// shared by the run's kernels, whose bits are those of cpu::Fault.
#pragma once

#include <metal_stdlib>

namespace bessemer {

using namespace metal;

constant constexpr uint kFaultIndexOutOfRange = 1;

inline void report(device atomic_uint* fault, uint what) {
  atomic_fetch_or_explicit(fault, what, memory_order_relaxed);
}

}  // namespace bessemer
