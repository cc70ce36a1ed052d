// softmax: kernel_abi/reduce_params.h has the meaning. f32 arithmetic.
#include "kernel_abi/reduce_params.h"
#include "lanes.h"

namespace bessemer {

// The largest that is not NaN.
struct LargestNumber {
  using Acc = float;
  static Acc start() { return -INFINITY; }
  static Acc combine(Acc a, Acc b) { return b > a ? b : a; }
};
struct PlainSum {
  using Acc = float;
  static Acc start() { return 0.0f; }
  static Acc combine(Acc a, Acc b) { return a + b; }
};

inline float softmax_element(float v, float shift, float sum, float log_sum) {
  if (kLog) return v - shift - log_sum;
  return sum == 0.0f ? 0.0f : exp(v - shift) / sum;
}
// A row of -inf is left where it is: its exponentials are 0.
inline float softmax_shift(float most) { return most == -INFINITY ? 0.0f : most; }

// inner is 1: a row for kRowThreads threads.
template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void softmax_rows(
    constant abi::SoftmaxParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    device T* out [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]],
    uint threads_in_group [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowScratch scratch;
  const RowPlace place = row_place(group, thread_in_group, threads_in_group);
  if (place.row >= uint(p.outer)) return;
  const uint n = uint(p.axis);
  const device T* row = x + ulong(place.row) * n;
  device T* to = out + ulong(place.row) * n;
  float most = -INFINITY;
  for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
    most = LargestNumber::combine(most, float(row[i]));
  }
  most = reduce_row<LargestNumber>(most, scratch, lane, simdgroup);
  const float shift = softmax_shift(most);
  float sum = 0.0f;
  for (uint i = place.thread_in_row; i < n; i += kRowThreads) sum += exp(float(row[i]) - shift);
  sum = reduce_row<PlainSum>(sum, scratch, lane, simdgroup);
  const float log_sum = kLog ? log(sum) : 0.0f;
  for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
    to[i] = T(softmax_element(float(row[i]), shift, sum, log_sum));
  }
}

// A thread a column.
template <class T>
[[kernel]] void softmax_columns(constant abi::SoftmaxParams& p [[buffer(0)]],
                                const device T* x [[buffer(1)]], device T* out [[buffer(2)]],
                                uint2 position [[thread_position_in_grid]]) {
  const uint inner = uint(p.inner);
  if (position.x >= inner || position.y >= uint(p.outer)) return;
  const uint n = uint(p.axis);
  const ulong first = ulong(position.y) * n * inner + position.x;
  float most = -INFINITY;
  for (uint i = 0; i < n; ++i) {
    most = LargestNumber::combine(most, float(x[first + ulong(i) * inner]));
  }
  const float shift = softmax_shift(most);
  SumOfFloats::Acc total = SumOfFloats::start();
  for (uint i = 0; i < n; ++i) {
    total = SumOfFloats::combine(total,
                                 SumOfFloats::of(exp(float(x[first + ulong(i) * inner]) - shift)));
  }
  const float sum = SumOfFloats::value(total);
  const float log_sum = kLog ? log(sum) : 0.0f;
  for (uint i = 0; i < n; ++i) {
    const ulong at = first + ulong(i) * inner;
    out[at] = T(softmax_element(float(x[at]), shift, sum, log_sum));
  }
}

}  // namespace bessemer
