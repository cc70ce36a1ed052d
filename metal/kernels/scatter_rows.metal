// scatter_rows: kernel_abi/rope_params.h has the meaning. Of rows with the same place the last
// wins: a row that a later one replaces is not written at all.
#include "fault.h"
#include "kernel_abi/rope_params.h"
#include "lanes.h"
#include "wide_float.h"

namespace bessemer {

// Elements as they are, or floats from one dtype to another.
template <class T>
struct SameElements {
  static void move(const device uchar* from, ulong at, device uchar* to, ulong to_at) {
    reinterpret_cast<device T*>(to)[to_at] = reinterpret_cast<const device T*>(from)[at];
  }
};
struct FloatElements {
  static void move(const device uchar* from, ulong at, device uchar* to, ulong to_at) {
    store_float(to, kStateDtype, to_at, load_float(from, kInDtype, at));
  }
};

// The place of row t in the state, or -1.
inline long place_of(constant abi::ScatterRowsParams& p, const device uchar* index0,
                     const device uchar* index1, uint t) {
  const long i = load_whole(index0, kIndexDtype, t);
  const long j = kHasSecondIndex ? load_whole(index1, kIndexDtype, t) : 0;
  if (i < 0 || i >= p.size0 || j < 0 || j >= p.size1) return -1;
  return i * p.size1 + j;
}

// Grid: elements of a row by kScatterLanes for each of the group's threads; rows.
constant constexpr uint kScatterLanes = 4;
template <class Elements>
[[kernel]] void scatter_rows(
    constant abi::ScatterRowsParams& p [[buffer(0)]], const device uchar* rows [[buffer(1)]],
    const device uchar* index0 [[buffer(2)]],
    const device uchar* index1 [[buffer(3), function_constant(kHasSecondIndex)]],
    device uchar* state [[buffer(4)]], device atomic_uint* fault [[buffer(30)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]], uint3 threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint width = uint(p.row);
  const uint count = uint(p.count);
  const uint t = group.y;
  const long place = place_of(p, index0, index1, t);
  if (place < 0) {
    if (thread_in_group == 0) report(fault, kFaultIndexOutOfRange);
    return;
  }
  uint later = 0;
  for (uint u = t + 1 + lane; u < count; u += 32) {
    if (place_of(p, index0, index1, u) == place) later = 1;
  }
  if (reduce_simdgroup<Truth<true>>(later) != 0) return;
  const uint first = group.x * threads.x * kScatterLanes + thread_in_group;
  for (uint lane_number = 0; lane_number < kScatterLanes; ++lane_number) {
    const uint at = first + lane_number * threads.x;
    if (at >= width) return;
    Elements::move(rows, ulong(t) * width + at, state, ulong(place) * width + at);
  }
}

// For many rows: a thread an element of the row, which goes through them in order.
template <class Elements>
[[kernel]] void scatter_rows_serial(constant abi::ScatterRowsParams& p [[buffer(0)]],
                                    const device uchar* rows [[buffer(1)]],
                                    const device uchar* index0 [[buffer(2)]],
                                    const device uchar* index1
                                    [[buffer(3), function_constant(kHasSecondIndex)]],
                                    device uchar* state [[buffer(4)]],
                                    device atomic_uint* fault [[buffer(30)]],
                                    uint at [[thread_position_in_grid]]) {
  const uint width = uint(p.row);
  if (at >= width) return;
  for (uint t = 0; t < uint(p.count); ++t) {
    const long place = place_of(p, index0, index1, t);
    if (place < 0) {
      if (at == 0) report(fault, kFaultIndexOutOfRange);
      continue;
    }
    Elements::move(rows, ulong(t) * width + at, state, ulong(place) * width + at);
  }
}

}  // namespace bessemer
