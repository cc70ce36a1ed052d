// reduce and arg_reduce: kernel_abi/reduce_params.h has the meaning.
#include "kernel_abi/reduce_params.h"
#include "lanes.h"

namespace bessemer {

// What integers are summed and multiplied in.
template <class T>
struct RingOf {
  using Type = uint;
};
template <>
struct RingOf<long> {
  using Type = ulong;
};

template <class T, bool kFloat>
struct ArithmeticOf {
  using Sum = SumOfWholes<typename RingOf<T>::Type>;
  using Product = ProductOfWholes<typename RingOf<T>::Type>;
};
template <class T>
struct ArithmeticOf<T, true> {
  using Sum = SumOfFloats;
  using Product = ProductOfFloats;
};
template <class T>
using SumOf = typename ArithmeticOf<T, WideOf<T>::kFloat>::Sum;
template <class T>
using ProductOf = typename ArithmeticOf<T, WideOf<T>::kFloat>::Product;

// Whether any (or all) are not 0.
template <bool kAny>
struct Truth {
  using Acc = uint;
  static Acc start() { return kAny ? 0 : 1; }
  template <class W>
  static Acc of(W v) {
    return v != W(0) ? 1 : 0;
  }
  static Acc combine(Acc a, Acc b) { return kAny ? a | b : a & b; }
  static Acc value(Acc a) { return a; }
};

// A result in its dtype. Floats may become f32 (partial results) or, from f32, 16 bits.
template <class T, bool kFloat>
struct ReduceStore {
  template <class V>
  static void put(device uchar* out, ulong at, V v, long) {
    reinterpret_cast<device T*>(out)[at] = T(v);
  }
};
template <class T>
struct ReduceStore<T, true> {
  template <class V>
  static void put(device uchar* out, ulong at, V v, long divisor) {
    const float f = float(v);
    store_float(out, kOutDtype, at, divisor == 1 ? f : f / float(divisor));
  }
};

// The elements of a column: `count` of them from `first` on, `step` apart.
struct Strand {
  ulong first;
  uint start;
  uint count;
  uint step;     // of the loop
  ulong stride;  // of an element
};
template <class Op, class T>
inline typename Op::Acc accumulate(const device T* x, Strand s) {
  typename Op::Acc acc = Op::start();
  for (uint i = s.start; i < s.count; i += s.step) {
    acc = Op::combine(acc, Op::of(Wide<T>(x[s.first + ulong(i) * s.stride])));
  }
  return acc;
}

template <class Op, class T>
inline void reduce_row_as(constant abi::ReduceParams& p, const device T* x, device uchar* out,
                          RowPlace place, threadgroup RowScratch& scratch, uint lane,
                          uint simdgroup) {
  Strand s;
  s.first = ulong(place.row) * ulong(p.axis);
  s.start = place.thread_in_row;
  s.count = uint(p.axis);
  s.step = kRowThreads;
  s.stride = 1;
  const typename Op::Acc acc = reduce_row<Op>(accumulate<Op>(x, s), scratch, lane, simdgroup);
  if (place.thread_in_row == 0) {
    ReduceStore<T, WideOf<T>::kFloat>::put(out, place.row, Op::value(acc), p.divisor);
  }
}

// inner is 1: a row for kRowThreads threads.
template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void reduce_rows(
    constant abi::ReduceParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    device uchar* out [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]],
    uint threads_in_group [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowScratch scratch;
  const RowPlace place = row_place(group, thread_in_group, threads_in_group);
  if (place.row >= uint(p.outer)) return;
  switch (kKind) {
    case abi::kReduceSum:
      reduce_row_as<SumOf<T>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceProd:
      reduce_row_as<ProductOf<T>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceMax:
      reduce_row_as<Extreme<Wide<T>, true>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceMin:
      reduce_row_as<Extreme<Wide<T>, false>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    case abi::kReduceAny:
      reduce_row_as<Truth<true>>(p, x, out, place, scratch, lane, simdgroup);
      return;
    default:
      reduce_row_as<Truth<false>>(p, x, out, place, scratch, lane, simdgroup);
      return;
  }
}

// Columns of a group of 32 x kRowThreads threads: each row of threads takes its share of the axis,
// and the first combines the shares.
constant constexpr uint kMostShares = 16;
struct ColumnScratch {
  ulong words[kMostShares][32][2];
};
// The result stands in the first row of threads.
template <class Op>
inline typename Op::Acc combine_shares(typename Op::Acc acc, threadgroup ColumnScratch& scratch,
                                       uint2 thread_in_group) {
  if (kRowThreads == 1) return acc;
  threadgroup typename Op::Acc* parts =
      reinterpret_cast<threadgroup typename Op::Acc*>(&scratch.words[0][0][0]);
  parts[thread_in_group.y * 32 + thread_in_group.x] = acc;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_in_group.y == 0) {
    for (uint i = 1; i < kRowThreads; ++i) {
      acc = Op::combine(acc, parts[i * 32 + thread_in_group.x]);
    }
  }
  return acc;
}

template <class Op, class T>
inline void reduce_column_as(constant abi::ReduceParams& p, const device T* x, device uchar* out,
                             uint2 position, uint2 thread_in_group,
                             threadgroup ColumnScratch& scratch) {
  const uint inner = uint(p.inner);
  typename Op::Acc acc = Op::start();
  if (position.x < inner) {
    Strand s;
    s.first = ulong(position.y) * ulong(p.axis) * inner + position.x;
    s.start = thread_in_group.y;
    s.count = uint(p.axis);
    s.step = kRowThreads;
    s.stride = inner;
    acc = accumulate<Op>(x, s);
  }
  acc = combine_shares<Op>(acc, scratch, thread_in_group);
  if (position.x < inner && thread_in_group.y == 0) {
    ReduceStore<T, WideOf<T>::kFloat>::put(out, ulong(position.y) * inner + position.x,
                                           Op::value(acc), p.divisor);
  }
}

template <class T>
[[kernel]] void reduce_columns(constant abi::ReduceParams& p [[buffer(0)]],
                               const device T* x [[buffer(1)]], device uchar* out [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 thread_in_group3 [[thread_position_in_threadgroup]]) {
  threadgroup ColumnScratch scratch;
  const uint2 thread_in_group = thread_in_group3.xy;
  const uint2 position = uint2(group.x * 32 + thread_in_group.x, group.y);
  switch (kKind) {
    case abi::kReduceSum:
      reduce_column_as<SumOf<T>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceProd:
      reduce_column_as<ProductOf<T>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceMax:
      reduce_column_as<Extreme<Wide<T>, true>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceMin:
      reduce_column_as<Extreme<Wide<T>, false>>(p, x, out, position, thread_in_group, scratch);
      return;
    case abi::kReduceAny:
      reduce_column_as<Truth<true>>(p, x, out, position, thread_in_group, scratch);
      return;
    default:
      reduce_column_as<Truth<false>>(p, x, out, position, thread_in_group, scratch);
      return;
  }
}

// ---- arg_reduce ----

// NaN before numbers, then the larger (or smaller), then the lower index: a strict total order.
template <class W>
struct FirstExtreme {
  using Acc = Placed<W>;
  static Acc start() {
    Acc r;
    r.value = W(0);
    r.index = 0xffffffffu;  // nothing yet
    return r;
  }
  static Acc combine(Acc a, Acc b) {
    if (a.index == 0xffffffffu) return b;
    if (b.index == 0xffffffffu) return a;
    const bool nan_a = is_nan(a.value);
    const bool nan_b = is_nan(b.value);
    if (nan_a != nan_b) return nan_a ? a : b;
    if (nan_a || a.value == b.value) return a.index < b.index ? a : b;
    return (kWantMax ? a.value > b.value : a.value < b.value) ? a : b;
  }
};
template <class T>
inline Placed<Wide<T>> first_extreme(const device T* x, Strand s) {
  using Op = FirstExtreme<Wide<T>>;
  typename Op::Acc acc = Op::start();
  for (uint i = s.start; i < s.count; i += s.step) {
    typename Op::Acc next;
    next.value = Wide<T>(x[s.first + ulong(i) * s.stride]);
    next.index = i;
    acc = Op::combine(acc, next);
  }
  return acc;
}

template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void arg_reduce_rows(
    constant abi::ArgReduceParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    device int* out [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]],
    uint threads_in_group [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowScratch scratch;
  const RowPlace place = row_place(group, thread_in_group, threads_in_group);
  if (place.row >= uint(p.outer)) return;
  Strand s;
  s.first = ulong(place.row) * ulong(p.axis);
  s.start = place.thread_in_row;
  s.count = uint(p.axis);
  s.step = kRowThreads;
  s.stride = 1;
  const Placed<Wide<T>> best =
      reduce_row<FirstExtreme<Wide<T>>>(first_extreme(x, s), scratch, lane, simdgroup);
  if (place.thread_in_row == 0) out[place.row] = int(best.index);
}

template <class T>
[[kernel]] void arg_reduce_columns(constant abi::ArgReduceParams& p [[buffer(0)]],
                                   const device T* x [[buffer(1)]], device int* out [[buffer(2)]],
                                   uint3 group [[threadgroup_position_in_grid]],
                                   uint3 thread_in_group3 [[thread_position_in_threadgroup]]) {
  threadgroup ColumnScratch scratch;
  const uint2 thread_in_group = thread_in_group3.xy;
  const uint2 position = uint2(group.x * 32 + thread_in_group.x, group.y);
  const uint inner = uint(p.inner);
  Placed<Wide<T>> best = FirstExtreme<Wide<T>>::start();
  if (position.x < inner) {
    Strand s;
    s.first = ulong(position.y) * ulong(p.axis) * inner + position.x;
    s.start = thread_in_group.y;
    s.count = uint(p.axis);
    s.step = kRowThreads;
    s.stride = inner;
    best = first_extreme(x, s);
  }
  best = combine_shares<FirstExtreme<Wide<T>>>(best, scratch, thread_in_group);
  if (position.x < inner && thread_in_group.y == 0) {
    out[ulong(position.y) * inner + position.x] = int(best.index);
  }
}

}  // namespace bessemer
