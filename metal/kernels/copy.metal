// copy, copy_bytes, pad, tri, iota: kernel_abi/copy_params.h and copy_bytes_params.h have the
// meaning. T is any type of the element's size.
#include "constants.h"
#include "kernel_abi/copy_bytes_params.h"
#include "kernel_abi/copy_params.h"
#include "wide_float.h"

namespace bessemer {

// Sixteen bytes a thread; the last thread takes what is left.
[[kernel]] void copy_bytes_wide(constant abi::CopyBytesParams& p [[buffer(0)]],
                                const device uchar* from [[buffer(1)]],
                                device uchar* to [[buffer(2)]],
                                uint i [[thread_position_in_grid]]) {
  const ulong at = ulong(i) * 16;
  const ulong end = ulong(p.bytes);
  if (at >= end) return;
  if (at + 16 <= end) {
    reinterpret_cast<device uint4*>(to)[i] = reinterpret_cast<const device uint4*>(from)[i];
    return;
  }
  for (ulong b = at; b < end; ++b) to[b] = from[b];
}
[[kernel]] void copy_bytes_any(constant abi::CopyBytesParams& p [[buffer(0)]],
                               const device uchar* from [[buffer(1)]],
                               device uchar* to [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  const ulong at = ulong(i) * 16;
  const ulong end = min(at + 16, ulong(p.bytes));
  for (ulong b = at; b < end; ++b) to[b] = from[b];
}

// Elements that a thread copies along the innermost axis.
constant constexpr uint kCopyLanes = 4;

// Offsets are formed modulo 2^32: strides may be negative, offsets never are.
struct CopyOffsets {
  uint src;
  uint dst;
};
inline CopyOffsets copy_offsets(constant abi::CopyParams& p, uint axes, uint number) {
  CopyOffsets r;
  r.src = uint(p.src_offset);
  r.dst = uint(p.dst_offset);
  for (uint axis = axes; axis-- > 0;) {
    const uint size = uint(p.dims[axis]);
    const uint at = axis == 0 ? number : number % size;
    number /= size;
    r.src += at * uint(p.src_strides[axis]);
    r.dst += at * uint(p.dst_strides[axis]);
  }
  return r;
}

template <class T>
[[kernel]] void copy_strided(constant abi::CopyParams& p [[buffer(0)]],
                             const device T* src [[buffer(1)]], device T* dst [[buffer(2)]],
                             uint2 position [[thread_position_in_grid]]) {
  const uint width = kRank > 0 ? uint(p.dims[kRank - 1]) : 1;
  uint height = 1;
  for (uint axis = 0; axis + 1 < kRank; ++axis) height *= uint(p.dims[axis]);
  const uint at = position.x * kCopyLanes;
  if (at >= width || position.y >= height) return;
  CopyOffsets o = copy_offsets(p, kRank > 0 ? kRank - 1 : 0, position.y);
  const uint src_step = kRank > 0 ? uint(p.src_strides[kRank - 1]) : 0;
  const uint dst_step = kRank > 0 ? uint(p.dst_strides[kRank - 1]) : 0;
  o.src += at * src_step;
  o.dst += at * dst_step;
  if (at + kCopyLanes <= width) {
    T values[kCopyLanes];
    for (uint i = 0; i < kCopyLanes; ++i) values[i] = src[o.src + i * src_step];
    for (uint i = 0; i < kCopyLanes; ++i) dst[o.dst + i * dst_step] = values[i];
    return;
  }
  for (uint i = 0; i < width - at; ++i) dst[o.dst + i * dst_step] = src[o.src + i * src_step];
}

// The last two axes change places: rows of the source run along the last axis but one. Tiles go
// through threadgroup memory, so that both sides are read and written by rows. Groups of 32 x 8.
constant constexpr uint kTransposeTile = 32;
constant constexpr uint kTransposeRows = 8;
template <class T>
[[kernel]] void copy_transposed(constant abi::CopyParams& p [[buffer(0)]],
                                const device T* src [[buffer(1)]], device T* dst [[buffer(2)]],
                                uint3 group [[threadgroup_position_in_grid]],
                                uint2 thread_in_group [[thread_position_in_threadgroup]]) {
  threadgroup T tile[kTransposeTile][kTransposeTile + 1];
  const uint rows = uint(p.dims[kRank - 2]);
  const uint columns = uint(p.dims[kRank - 1]);
  const CopyOffsets o = copy_offsets(p, kRank - 2, group.z);
  const uint src_step = uint(p.src_strides[kRank - 1]);
  const uint dst_step = uint(p.dst_strides[kRank - 2]);
  const uint first_row = group.y * kTransposeTile;
  const uint first_column = group.x * kTransposeTile;
  for (uint i = thread_in_group.y; i < kTransposeTile; i += kTransposeRows) {
    const uint row = first_row + thread_in_group.x;
    const uint column = first_column + i;
    if (row < rows && column < columns) {
      tile[i][thread_in_group.x] = src[o.src + column * src_step + row];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_in_group.y; i < kTransposeTile; i += kTransposeRows) {
    const uint row = first_row + i;
    const uint column = first_column + thread_in_group.x;
    if (row < rows && column < columns) {
      dst[o.dst + row * dst_step + column] = tile[thread_in_group.x][i];
    }
  }
}

template <class T>
[[kernel]] void pad(constant abi::PadParams& p [[buffer(0)]], const device T* in [[buffer(1)]],
                    device T* out [[buffer(2)]], uint2 position [[thread_position_in_grid]]) {
  const uint width = kRank > 0 ? uint(p.out_dims[kRank - 1]) : 1;
  uint height = 1;
  for (uint axis = 0; axis + 1 < kRank; ++axis) height *= uint(p.out_dims[axis]);
  if (position.x >= width || position.y >= height) return;
  // Where the element stands in x; a coordinate before its first or past its last is outside.
  bool inside = true;
  uint from = 0;
  uint stride = 1;
  uint rest = position.y;
  for (uint axis = kRank; axis-- > 0;) {
    const bool innermost = axis == kRank - 1;
    const uint out_size = uint(p.out_dims[axis]);
    const uint at = innermost ? position.x : (axis == 0 ? rest : rest % out_size);
    if (!innermost) rest /= out_size;
    const uint in_size = uint(p.in_dims[axis]);
    const uint in_at = at - uint(p.before[axis]);  // huge if negative
    inside = inside && in_at < in_size;
    from += in_at * stride;
    stride *= in_size;
  }
  out[position.y * width + position.x] = inside ? in[from] : T(ulong(p.value));
}

template <class T>
[[kernel]] void tri(constant abi::TriParams& p [[buffer(0)]], const device T* in [[buffer(1)]],
                    device T* out [[buffer(2)]], uint2 position [[thread_position_in_grid]]) {
  const uint columns = uint(p.cols);
  const uint rows = uint(p.rows);
  if (position.x >= columns || position.y >= rows * uint(p.batch)) return;
  const long edge = long(position.y % rows) + p.k;
  const bool keep = kUpper ? long(position.x) >= edge : long(position.x) <= edge;
  const uint at = position.y * columns + position.x;
  out[at] = keep ? in[at] : T(0);
}

[[kernel]] void iota(constant abi::IotaParams& p [[buffer(0)]], device uchar* out [[buffer(1)]],
                     uint2 position [[thread_position_in_grid]]) {
  const uint inner = uint(p.inner);
  const uint count = uint(p.count);
  if (position.x >= inner || position.y >= uint(p.outer) * count) return;
  const uint index = position.y % count;
  const uint at = position.y * inner + position.x;
  switch (kOutDtype) {
    case abi::kCodeF32:
    case abi::kCodeF16:
    case abi::kCodeBF16:
      store_float(out, kOutDtype, at, f32_from_whole(long(index), kOutDtype != abi::kCodeF32));
      return;
    case abi::kCodeF64:
      store_whole(out, kOutDtype, at, long(f64_from_whole(long(index))));
      return;
    default:
      store_whole(out, kOutDtype, at, long(index));
      return;
  }
}

}  // namespace bessemer
