// cumulative: kernel_abi/reduce_params.h has the meaning.
//
// Positions count from the end of the axis if kReverse. A pass over a row takes tiles of kScanLanes
// elements a thread: each thread scans its own, a scan over the threads gives what stands before
// them, and the tile's total is carried to the next.
#include "kernel_abi/reduce_params.h"
#include "lanes.h"

namespace bessemer {

constant constexpr uint kScanLanes = 4;

// Of the values of lanes below this one, in order.
template <class Op>
inline typename Op::Acc scan_simdgroup(typename Op::Acc v, uint lane) {
  for (ushort step = 1; step < 32; step <<= 1) {
    const typename Op::Acc before = from_lane_below(v, step);
    if (lane >= step) v = Op::combine(before, v);
  }
  typename Op::Acc exclusive = from_lane_below(v, 1);
  if (lane == 0) exclusive = Op::start();
  return exclusive;
}

template <class Op>
struct ScanShare {
  typename Op::Acc before;  // of all threads below this one
  typename Op::Acc total;
};
// Over the kRowThreads threads of a row.
template <class Op>
inline ScanShare<Op> scan_threads(typename Op::Acc v, threadgroup RowScratch& scratch, uint lane,
                                  uint simdgroup) {
  ScanShare<Op> r;
  r.before = scan_simdgroup<Op>(v, lane);
  r.total = from_lane(Op::combine(r.before, v), 31);
  if (kRowThreads <= 32) return r;
  threadgroup typename Op::Acc* parts =
      reinterpret_cast<threadgroup typename Op::Acc*>(&scratch.words[0][0]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) parts[simdgroup] = r.total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  typename Op::Acc part = Op::start();
  if (lane < kRowThreads / 32) part = parts[lane];
  const typename Op::Acc below = scan_simdgroup<Op>(part, lane);
  r.total = from_lane(Op::combine(below, part), 31);
  r.before = Op::combine(from_lane(below, ushort(simdgroup)), r.before);
  return r;
}

template <class Op, class T>
inline void scan_row(constant abi::CumulativeParams& p, const device T* x, device T* out,
                     RowPlace place, threadgroup RowScratch& scratch, uint lane, uint simdgroup) {
  const uint n = uint(p.axis);
  const ulong first = ulong(place.row) * n;
  typename Op::Acc carried = Op::start();
  for (uint tile = 0; tile < n; tile += kRowThreads * kScanLanes) {
    const uint at = tile + place.thread_in_row * kScanLanes;
    typename Op::Acc own[kScanLanes];
    typename Op::Acc total = Op::start();
    for (uint i = 0; i < kScanLanes; ++i) {
      own[i] = Op::start();
      if (at + i < n) {
        own[i] = Op::of(Wide<T>(x[first + (kReverse ? n - 1 - (at + i) : at + i)]));
      }
      total = Op::combine(total, own[i]);
    }
    const ScanShare<Op> share = scan_threads<Op>(total, scratch, lane, simdgroup);
    typename Op::Acc acc = Op::combine(carried, share.before);
    for (uint i = 0; i < kScanLanes; ++i) {
      const typename Op::Acc before = acc;
      acc = Op::combine(acc, own[i]);
      if (at + i < n) {
        out[first + (kReverse ? n - 1 - (at + i) : at + i)] =
            T(Op::value(kExclusive ? before : acc));
      }
    }
    carried = Op::combine(carried, share.total);
  }
}

// inner is 1: a row for kRowThreads threads.
template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void cumulative_rows(
    constant abi::CumulativeParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    device T* out [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]],
    uint threads_in_group [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowScratch scratch;
  const RowPlace place = row_place(group, thread_in_group, threads_in_group);
  if (place.row >= uint(p.outer)) return;
  switch (kKind) {
    case abi::kReduceSum:
      scan_row<SumOf<T>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceProd:
      scan_row<ProductOf<T>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceMax:
      scan_row<Extreme<Wide<T>, true>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    default:
      scan_row<Extreme<Wide<T>, false>>(p, x, out, place, scratch, lane, simdgroup);
      return;
  }
}

// Columns of a group of 32 x kRowThreads threads: each row of threads scans a run of the axis, once
// for its total and once more with what stands before it.
template <class Op, class T>
inline void scan_column(constant abi::CumulativeParams& p, const device T* x, device T* out,
                        uint2 position, uint2 thread_in_group, threadgroup ColumnScratch& scratch) {
  const uint inner = uint(p.inner);
  const uint n = uint(p.axis);
  const uint run = (n + kRowThreads - 1) / kRowThreads;
  const uint begin = min(n, thread_in_group.y * run);
  const uint end = min(n, begin + run);
  const ulong first = ulong(position.y) * n * inner + position.x;
  typename Op::Acc acc = Op::start();
  if (kRowThreads > 1) {
    threadgroup typename Op::Acc* parts =
        reinterpret_cast<threadgroup typename Op::Acc*>(&scratch.words[0][0][0]);
    if (position.x < inner) {
      for (uint i = begin; i < end; ++i) {
        const ulong at = first + ulong(kReverse ? n - 1 - i : i) * inner;
        acc = Op::combine(acc, Op::of(Wide<T>(x[at])));
      }
    }
    parts[thread_in_group.y * 32 + thread_in_group.x] = acc;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    acc = Op::start();
    for (uint i = 0; i < thread_in_group.y; ++i) {
      acc = Op::combine(acc, parts[i * 32 + thread_in_group.x]);
    }
  }
  if (position.x >= inner) return;
  for (uint i = begin; i < end; ++i) {
    const ulong at = first + ulong(kReverse ? n - 1 - i : i) * inner;
    const typename Op::Acc before = acc;
    acc = Op::combine(acc, Op::of(Wide<T>(x[at])));
    out[at] = T(Op::value(kExclusive ? before : acc));
  }
}

template <class T>
[[kernel]] void cumulative_columns(constant abi::CumulativeParams& p [[buffer(0)]],
                                   const device T* x [[buffer(1)]], device T* out [[buffer(2)]],
                                   uint3 group [[threadgroup_position_in_grid]],
                                   uint3 thread_in_group3 [[thread_position_in_threadgroup]]) {
  threadgroup ColumnScratch scratch;
  const uint2 thread_in_group = thread_in_group3.xy;
  const uint2 position = uint2(group.x * 32 + thread_in_group.x, group.y);
  switch (kKind) {
    case abi::kReduceSum:
      scan_column<SumOf<T>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceProd:
      scan_column<ProductOf<T>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceMax:
      scan_column<Extreme<Wide<T>, true>>(p, x, out, position, thread_in_group, scratch);
      return;
    default:
      scan_column<Extreme<Wide<T>, false>>(p, x, out, position, thread_in_group, scratch);
      return;
  }
}

}  // namespace bessemer
