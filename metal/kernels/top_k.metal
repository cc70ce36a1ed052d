// top_k: kernel_abi/reduce_params.h has the meaning.
//
// A threadgroup a row. NaN, then larger values, then lower indices: elements are ordered by a key
// of the value's bits and the complement of the index, in which no two agree. A radix select finds
// the k-th, digit by digit from the top; what is not below it is collected in any order and sorted.
#include "kernel_abi/reduce_params.h"
#include "lanes.h"

namespace bessemer {

// Keys that order as unsigned integers; the larger comes first.
inline uint key_of(float v) {
  if (v != v) return 0xffffffffu;
  const uint bits = as_type<uint>(v == 0.0f ? 0.0f : v);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
inline uint key_of(int v) { return uint(v) ^ 0x80000000u; }
inline uint key_of(char v) { return key_of(int(v)); }
inline uint key_of(short v) { return key_of(int(v)); }
inline uint key_of(uchar v) { return uint(v); }
inline uint key_of(uint v) { return v; }
inline ulong key_of(long v) { return ulong(v) ^ 0x8000000000000000ul; }

template <class T>
struct KeyOf {
  using Type = uint;
};
template <>
struct KeyOf<long> {
  using Type = ulong;
};

// What the k-th element has in its leading digits: `index` is the complement of an index.
template <class Key>
struct Threshold {
  Key key;
  uint index;
  uint key_shift;    // digits below are not known, and need not be
  uint index_shift;  // 32: none is known
  bool admits(Key k, uint i) const thread {
    const Key high = k >> key_shift;
    if (high != key) return high > key;
    return index_shift >= 32 || (~i >> index_shift) >= index;
  }
};

constant constexpr uint kTopKInGroup = 1024;

// Where the k elements are sorted.
template <class Key>
struct ListInGroup {
  threadgroup Key* keys;
  threadgroup uint* indices;
  bool in_order(uint a, uint b) const thread {
    return keys[a] > keys[b] || (keys[a] == keys[b] && indices[a] < indices[b]);
  }
  void swap(uint a, uint b) const thread {
    const Key key = keys[a];
    keys[a] = keys[b];
    keys[b] = key;
    const uint index = indices[a];
    indices[a] = indices[b];
    indices[b] = index;
  }
};
template <class T>
struct ListInDevice {
  const device T* row;
  device int* indices;
  bool in_order(uint a, uint b) const thread {
    const auto key_a = key_of(Wide<T>(row[indices[a]]));
    const auto key_b = key_of(Wide<T>(row[indices[b]]));
    return key_a > key_b || (key_a == key_b && indices[a] < indices[b]);
  }
  void swap(uint a, uint b) const thread {
    const int index = indices[a];
    indices[a] = indices[b];
    indices[b] = index;
  }
};

// A bitonic network all of whose comparisons put the smaller place first, so that places from
// `count` on, which stand for what comes last, need not exist.
template <class List>
inline void sort_list(thread const List& list, uint count, uint thread_in_group) {
  for (uint size = 2; size < 2 * count; size *= 2) {
    for (uint stride = size; stride > 1; stride /= 2) {
      threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
      for (uint i = thread_in_group; i < count; i += kRowThreads) {
        // The first step of a size mirrors its halves, the others go half a stride on.
        const uint other = stride == size ? i ^ (size - 1) : i ^ (stride / 2);
        if (other > i && other < count && !list.in_order(i, other)) list.swap(i, other);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
}

template <class T>
[[kernel, max_total_threads_per_threadgroup(1024)]] void top_k(
    constant abi::TopKParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
    device T* values [[buffer(2)]], device int* indices [[buffer(3)]],
    uint group [[threadgroup_position_in_grid]],
    uint thread_in_group [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Key = typename KeyOf<T>::Type;
  threadgroup atomic_uint histogram[256];
  threadgroup uint choice[3];  // digit, how many are above it, how many have it
  threadgroup atomic_uint collected;
  threadgroup Key list_keys[kTopKInGroup];
  threadgroup uint list_indices[kTopKInGroup];

  const uint n = uint(p.axis);
  const uint k = uint(p.k);
  if (k == 0) return;
  const device T* row = x + ulong(group) * n;
  device T* row_values = values + ulong(group) * k;
  device int* row_indices = indices + ulong(group) * k;

  Threshold<Key> threshold;
  threshold.key = 0;
  threshold.index = 0;
  threshold.key_shift = sizeof(Key) * 8;
  threshold.index_shift = 32;
  // Nothing is known before the first digit; a shift by all of a word's bits is not to be had.
  bool everything = true;
  uint wanted = k;
  for (uint digits = 0; k < n && digits < sizeof(Key) + 4; ++digits) {
    const bool by_key = digits < sizeof(Key);
    for (uint i = thread_in_group; i < 256; i += kRowThreads) {
      atomic_store_explicit(&histogram[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_in_group; i < n; i += kRowThreads) {
      const Key key = key_of(Wide<T>(row[i]));
      bool candidate = everything || (key >> threshold.key_shift) == threshold.key;
      if (!by_key && threshold.index_shift < 32) {
        candidate = candidate && (~i >> threshold.index_shift) == threshold.index;
      }
      if (candidate) {
        const uint digit = by_key ? uint(key >> (threshold.key_shift - 8)) & 255u
                                  : (~i >> (threshold.index_shift - 8)) & 255u;
        atomic_fetch_add_explicit(&histogram[digit], 1u, memory_order_relaxed);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
      // Eight digits a lane, from the top.
      uint counts[8];
      uint own = 0;
      for (uint i = 0; i < 8; ++i) {
        counts[i] = atomic_load_explicit(&histogram[255 - lane * 8 - i], memory_order_relaxed);
        own += counts[i];
      }
      uint above = scan_simdgroup<SumOfWholes<uint>>(own, lane);
      if (above < wanted && wanted <= above + own) {
        uint i = 0;
        while (above + counts[i] < wanted) above += counts[i++];
        choice[0] = 255 - lane * 8 - i;
        choice[1] = above;
        choice[2] = counts[i];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (by_key) {
      threshold.key = everything ? Key(choice[0]) : Key((threshold.key << 8) | choice[0]);
      threshold.key_shift -= 8;
    } else {
      threshold.index = (threshold.index << 8) | choice[0];
      threshold.index_shift -= 8;
    }
    everything = false;
    wanted -= choice[1];
    if (choice[2] == wanted) break;
  }

  if (thread_in_group == 0) atomic_store_explicit(&collected, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool in_group = k <= kTopKInGroup;
  for (uint i = thread_in_group; i < n; i += kRowThreads) {
    const Key key = key_of(Wide<T>(row[i]));
    if (!everything && !threshold.admits(key, i)) continue;
    const uint at = atomic_fetch_add_explicit(&collected, 1u, memory_order_relaxed);
    if (in_group) {
      list_keys[at] = key;
      list_indices[at] = i;
    } else {
      row_indices[at] = int(i);
    }
  }
  if (in_group) {
    ListInGroup<Key> list;
    list.keys = list_keys;
    list.indices = list_indices;
    sort_list(list, k, thread_in_group);
  } else {
    ListInDevice<T> list;
    list.row = row;
    list.indices = row_indices;
    sort_list(list, k, thread_in_group);
  }
  for (uint i = thread_in_group; i < k; i += kRowThreads) {
    if (in_group) row_indices[i] = int(list_indices[i]);
    row_values[i] = row[in_group ? list_indices[i] : uint(row_indices[i])];
  }
}

}  // namespace bessemer
