// gather and embedding: kernel_abi/gather_params.h has the meaning.
#include "block_elements.h"
#include "constants.h"
#include "elements.h"
#include "fault.h"
#include "kernel_abi/gather_params.h"

namespace bessemer {

// The row that an index names, or -1. A negative one counts from the end.
inline long row_of(const device uchar* indices, uint i, long size) {
  const long index = load_whole(indices, kIndexDtype, i);
  const long row = index < 0 ? index + size : index;
  return row >= 0 && row < size ? row : -1;
}

// T is the widest unit that divides a row and the offsets.
template <class T>
[[kernel]] void gather(constant abi::GatherParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
                       const device uchar* indices [[buffer(2)]], device T* out [[buffer(3)]],
                       device atomic_uint* fault [[buffer(30)]],
                       uint2 position [[thread_position_in_grid]]) {
  const uint width = uint(ulong(p.row_bytes) / sizeof(T));
  const uint count = uint(p.indices);
  if (position.x >= width || position.y >= uint(p.outer) * count) return;
  const long row = row_of(indices, position.y % count, p.size);
  const ulong to = ulong(position.y) * width + position.x;
  if (row < 0) {
    out[to] = T(0);
    if (position.x == 0) report(fault, kFaultIndexOutOfRange);
    return;
  }
  out[to] = x[(ulong(position.y / count) * ulong(p.size) + ulong(row)) * width + position.x];
}

// A thread dequantises four neighbours.
template <class Block>
[[kernel]] void embedding(constant abi::EmbeddingParams& p [[buffer(0)]],
                          const device Block* table [[buffer(1)]],
                          const device uchar* ids [[buffer(2)]], device uchar* out [[buffer(3)]],
                          device atomic_uint* fault [[buffer(30)]],
                          uint2 position [[thread_position_in_grid]]) {
  const uint width = uint(p.width);
  const uint at = position.x * 4;
  if (at >= width || position.y >= uint(p.ids)) return;
  const long row = row_of(ids, position.y, p.rows);
  const ulong to = ulong(position.y) * width + at;
  float4 v = float4(0.0f);
  if (row >= 0) {
    v = four_of(table + ulong(row) * (width / BlockElements<Block>::kCount), at);
  } else if (at == 0) {
    report(fault, kFaultIndexOutOfRange);
  }
  for (uint i = 0; i < 4; ++i) store_float(out, kOutDtype, to + i, v[i]);
}

// Of a table that is not quantised, of any width.
[[kernel]] void embedding_dense(constant abi::EmbeddingParams& p [[buffer(0)]],
                                const device uchar* table [[buffer(1)]],
                                const device uchar* ids [[buffer(2)]],
                                device uchar* out [[buffer(3)]],
                                device atomic_uint* fault [[buffer(30)]],
                                uint2 position [[thread_position_in_grid]]) {
  const uint width = uint(p.width);
  const uint at = position.x * 4;
  if (at >= width || position.y >= uint(p.ids)) return;
  const long row = row_of(ids, position.y, p.rows);
  const uint count = min(width - at, 4u);
  const ulong to = ulong(position.y) * width + at;
  const ulong from = ulong(row < 0 ? 0 : row) * width + at;
  for (uint i = 0; i < count; ++i) {
    store_float(out, kOutDtype, to + i, row < 0 ? 0.0f : load_float(table, kInDtype, from + i));
  }
  if (row < 0 && at == 0) report(fault, kFaultIndexOutOfRange);
}

}  // namespace bessemer
