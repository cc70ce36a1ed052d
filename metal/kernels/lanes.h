// Reductions over the threads of a row: shuffles of any value, a butterfly over a simdgroup, and
// the step across simdgroups.
//
// An operation is a struct of static functions:
//   Acc                       what is accumulated
//   Acc start()               the neutral element
//   Acc combine(Acc, Acc)     in the order of positions; commutative for `reduce_row`
#pragma once

#include "constants.h"
#include "elements.h"

namespace bessemer {

// A sum as an unevaluated pair: the rounding errors of `high` are kept in `low`.
struct FloatSum {
  float high;
  float low;
};
// A product that can neither overflow nor underflow on the way: (high + low) * 2^exponent.
struct FloatProduct {
  float high;
  float low;
  int exponent;
};
// An element and where it stood.
template <class W>
struct Placed {
  W value;
  uint index;
};

// ---- Shuffles. MSL has them for 32-bit types. ----

#define BSM_SHUFFLES(name, simd_function)                                           \
  inline float name(float v, ushort n) { return simd_function(v, n); }              \
  inline int name(int v, ushort n) { return simd_function(v, n); }                  \
  inline uint name(uint v, ushort n) { return simd_function(v, n); }                \
  inline ulong name(ulong v, ushort n) {                                            \
    const uint low = simd_function(uint(v), n);                                     \
    const uint high = simd_function(uint(v >> 32), n);                              \
    return ulong(low) | (ulong(high) << 32);                                        \
  }                                                                                 \
  inline long name(long v, ushort n) { return long(name(ulong(v), n)); }            \
  inline char name(char v, ushort n) { return char(simd_function(int(v), n)); }     \
  inline uchar name(uchar v, ushort n) { return uchar(simd_function(uint(v), n)); } \
  inline short name(short v, ushort n) { return short(simd_function(int(v), n)); }  \
  inline FloatSum name(FloatSum v, ushort n) {                                      \
    FloatSum r;                                                                     \
    r.high = simd_function(v.high, n);                                              \
    r.low = simd_function(v.low, n);                                                \
    return r;                                                                       \
  }                                                                                 \
  inline FloatProduct name(FloatProduct v, ushort n) {                              \
    FloatProduct r;                                                                 \
    r.high = simd_function(v.high, n);                                              \
    r.low = simd_function(v.low, n);                                                \
    r.exponent = simd_function(v.exponent, n);                                      \
    return r;                                                                       \
  }                                                                                 \
  template <class W>                                                                \
  inline Placed<W> name(Placed<W> v, ushort n) {                                    \
    Placed<W> r;                                                                    \
    r.value = name(v.value, n);                                                     \
    r.index = simd_function(v.index, n);                                            \
    return r;                                                                       \
  }
BSM_SHUFFLES(from_lane_xor, simd_shuffle_xor)
BSM_SHUFFLES(from_lane_below, simd_shuffle_up)
BSM_SHUFFLES(from_lane, simd_shuffle)

// ---- Sums and products ----

inline FloatSum add_exactly(float a, float b) {
  FloatSum r;
  r.high = a + b;
  const float b_part = r.high - a;
  const float error = (a - (r.high - b_part)) + (b - b_part);
  r.low = fabs(r.high) < INFINITY ? error : 0.0f;
  return r;
}

struct SumOfFloats {
  using Acc = FloatSum;
  static Acc start() {
    Acc r;
    r.high = 0.0f;
    r.low = 0.0f;
    return r;
  }
  static Acc of(float v) {
    Acc r;
    r.high = v;
    r.low = 0.0f;
    return r;
  }
  static Acc combine(Acc a, Acc b) {
    Acc r = add_exactly(a.high, b.high);
    r.low += a.low + b.low;
    return r;
  }
  static float value(Acc a) { return a.high + a.low; }
};

struct ProductOfFloats {
  using Acc = FloatProduct;
  static Acc normal(Acc a) {
    const uint bits = as_type<uint>(a.high);
    const int biased = int((bits >> 23) & 255u);
    if (biased == 0 || biased == 255) return a;  // 0, infinity, NaN (and subnormal)
    a.high = as_type<float>((bits & 0x807fffffu) | 0x3f800000u);
    // Below it by 2^-24 at least; in two steps, for the power may be subnormal.
    const int half_way = (127 - biased) / 2;
    a.low = a.low * as_type<float>(uint(127 + half_way) << 23) *
            as_type<float>(uint(127 + (127 - biased) - half_way) << 23);
    a.exponent += biased - 127;
    return a;
  }
  static Acc start() { return of(1.0f); }
  static Acc of(float v) {
    Acc r;
    r.high = v;
    r.low = 0.0f;
    r.exponent = 0;
    if (fabs(v) < 0x1p-126f && v != 0.0f) {  // subnormal
      r.high = v * 0x1p64f;
      r.exponent = -64;
    }
    return normal(r);
  }
  static Acc combine(Acc a, Acc b) {
    Acc r;
    r.high = a.high * b.high;
    const float error = fma(a.high, b.high, -r.high) + (a.high * b.low + a.low * b.high);
    r.low = fabs(r.high) < INFINITY && r.high != 0.0f ? error : 0.0f;
    r.exponent = a.exponent + b.exponent;
    return normal(r);
  }
  static float value(Acc a) {
    const float v = a.high + a.low;
    if (v == 0.0f || !(fabs(v) < INFINITY)) return v;
    // In steps, of which only the last may round.
    const int e = clamp(a.exponent, -400, 400);
    return ldexp(v, e);
  }
};

// The 64-bit ring that every integer dtype wraps in; 32 bits are enough for those of 32 and less.
template <class A>
struct SumOfWholes {
  using Acc = A;
  static Acc start() { return 0; }
  template <class W>
  static Acc of(W v) {
    return A(v);
  }
  static Acc combine(Acc a, Acc b) { return a + b; }
  static Acc value(Acc a) { return a; }
};
template <class A>
struct ProductOfWholes {
  using Acc = A;
  static Acc start() { return 1; }
  template <class W>
  static Acc of(W v) {
    return A(v);
  }
  static Acc combine(Acc a, Acc b) { return a * b; }
  static Acc value(Acc a) { return a; }
};

template <class W>
inline bool is_nan(W v) {
  return v != v;
}
template <class W>
struct Ends {
  static W least() { return numeric_limits<W>::lowest(); }
  static W greatest() { return numeric_limits<W>::max(); }
};
template <>
struct Ends<float> {
  static float least() { return -INFINITY; }
  static float greatest() { return INFINITY; }
};

// The larger (or smaller); NaN wins.
template <class W, bool kMax>
struct Extreme {
  using Acc = W;
  static Acc start() { return kMax ? Ends<W>::least() : Ends<W>::greatest(); }
  static Acc of(W v) { return v; }
  static Acc combine(Acc a, Acc b) {
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    return kMax ? (b > a ? b : a) : (b < a ? b : a);
  }
  static W value(Acc a) { return a; }
};

// ---- Over the threads of a row ----

// Every lane gets the result. All 32 lanes must be there.
template <class Op>
inline typename Op::Acc reduce_simdgroup(typename Op::Acc v) {
  for (ushort step = 1; step < 32; step <<= 1) v = Op::combine(v, from_lane_xor(v, step));
  return v;
}

// What a threadgroup needs to combine simdgroups: one value of at most 16 bytes for each.
constant constexpr uint kMostSimdgroups = 32;
struct RowScratch {
  ulong words[kMostSimdgroups][2];
};

// Over kRowThreads threads, which are one simdgroup or the whole threadgroup; every one of them
// gets the result. `scratch` may be used again at once.
template <class Op>
inline typename Op::Acc reduce_row(typename Op::Acc v, threadgroup RowScratch& scratch, uint lane,
                                   uint simdgroup) {
  v = reduce_simdgroup<Op>(v);
  if (kRowThreads <= 32) return v;
  threadgroup typename Op::Acc* parts =
      reinterpret_cast<threadgroup typename Op::Acc*>(&scratch.words[0][0]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) parts[simdgroup] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  v = Op::start();
  if (lane < kRowThreads / 32) v = parts[lane];
  return reduce_simdgroup<Op>(v);
}

// The row that a thread works on, and its number among the row's threads.
struct RowPlace {
  uint row;
  uint thread_in_row;
};
inline RowPlace row_place(uint group, uint thread_in_group, uint threads_in_group) {
  RowPlace r;
  if (kRowThreads <= 32) {
    r.row = group * (threads_in_group / 32) + thread_in_group / 32;
    r.thread_in_row = thread_in_group % 32;
  } else {
    r.row = group;
    r.thread_in_row = thread_in_group;
  }
  return r;
}

}  // namespace bessemer
