// norm: kernel_abi/norm_params.h has the meaning. f32 arithmetic; what a norm gives, and what it
// takes, has the input's dtype before it is added to.
#include "kernel_abi/norm_params.h"
#include "lanes.h"

namespace bessemer {

struct NormSum {
  using Acc = float;
  static Acc start() { return 0.0f; }
  static Acc combine(Acc a, Acc b) { return a + b; }
};

// A row for kRowThreads threads, each of which reads and writes elements of its own only: results
// may stand in an operand's place.
template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void norm(
    constant abi::NormParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    const device T* residual [[buffer(2), function_constant(kHasResidual)]],
    const device float* weight [[buffer(3), function_constant(kHasWeight)]],
    const device float* bias [[buffer(4), function_constant(kHasBias)]],
    device T* out [[buffer(5)]], device T* sum [[buffer(6), function_constant(kHasSum)]],
    uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]],
    uint threads_in_group [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup RowScratch scratch;
  const RowPlace place = row_place(group, thread_in_group, threads_in_group);
  if (place.row >= uint(p.rows)) return;
  const uint n = uint(p.cols);
  const ulong first = ulong(place.row) * n;
  const bool layer = kKind == abi::kNormLayer;
  if (kMode == abi::kNormAddFirst) {
    for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
      sum[first + i] = T(float(x[first + i]) + float(residual[first + i]));
    }
  }
  // What is normalised: the sum, as this thread has stored it, or x.
  float total = 0.0f;
  float squares = 0.0f;
  for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
    const float v = kMode == abi::kNormAddFirst ? float(sum[first + i]) : float(x[first + i]);
    if (layer) {
      total += v;
    } else {
      squares = fma(v, v, squares);
    }
  }
  float mean = 0.0f;
  if (layer) {
    mean = reduce_row<NormSum>(total, scratch, lane, simdgroup) / float(n);
    for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
      const float v = kMode == abi::kNormAddFirst ? float(sum[first + i]) : float(x[first + i]);
      squares = fma(v - mean, v - mean, squares);
    }
  }
  squares = reduce_row<NormSum>(squares, scratch, lane, simdgroup);
  const float scale = 1.0f / sqrt(squares / float(n) + p.epsilon);
  // A row's own part of weight and bias: by column, or by channel of its group.
  const uint spatial = kByChannel ? uint(p.spatial) : 1;
  const uint own = place.row % uint(p.groups) * (n / max(spatial, 1u));
  for (uint i = place.thread_in_row; i < n; i += kRowThreads) {
    const float v = kMode == abi::kNormAddFirst ? float(sum[first + i]) : float(x[first + i]);
    const uint at = own + (kByChannel ? i / spatial : i);
    float y = (v - mean) * scale;
    if (kHasWeight) y *= weight[at];
    if (kHasBias) y += bias[at];
    if (kMode == abi::kNormAddAfter) y = float(residual[first + i]) + float(T(y));
    out[first + i] = T(y);
  }
}

}  // namespace bessemer
