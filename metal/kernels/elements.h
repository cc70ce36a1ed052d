// Elements of every dtype: T as stored, and Wide<T> as computed with (float for the floats).
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {

using namespace metal;

template <class T>
struct WideOf {
  using Type = T;
  static constant constexpr bool kFloat = false;
};
template <>
struct WideOf<float> {
  using Type = float;
  static constant constexpr bool kFloat = true;
};
template <>
struct WideOf<half> {
  using Type = float;
  static constant constexpr bool kFloat = true;
};
template <>
struct WideOf<bfloat> {
  using Type = float;
  static constant constexpr bool kFloat = true;
};
template <class T>
using Wide = typename WideOf<T>::Type;

// A float element of dtype `code` (f32, f16, bf16) at `index`, as f32 and back.
inline float load_float(const device uchar* base, uint code, ulong index) {
  switch (code) {
    case abi::kCodeF16:
      return float(reinterpret_cast<const device half*>(base)[index]);
    case abi::kCodeBF16:
      return float(reinterpret_cast<const device bfloat*>(base)[index]);
    default:
      return reinterpret_cast<const device float*>(base)[index];
  }
}
inline void store_float(device uchar* base, uint code, ulong index, float v) {
  switch (code) {
    case abi::kCodeF16:
      reinterpret_cast<device half*>(base)[index] = half(v);
      return;
    case abi::kCodeBF16:
      reinterpret_cast<device bfloat*>(base)[index] = bfloat(v);
      return;
    default:
      reinterpret_cast<device float*>(base)[index] = v;
      return;
  }
}
// What is left of v once it has been stored as `code`.
inline float round_float(uint code, float v) {
  switch (code) {
    case abi::kCodeF16:
      return float(half(v));
    case abi::kCodeBF16:
      return float(bfloat(v));
    default:
      return v;
  }
}

// Integers and bools as int64; what is stored wraps. (u8 holds a bool's 0 or 1.)
inline long load_whole(const device uchar* base, uint code, ulong index) {
  switch (code) {
    case abi::kCodeI8:
      return long(reinterpret_cast<const device char*>(base)[index]);
    case abi::kCodeU8:
      return long(base[index]);
    case abi::kCodeBool:
      return base[index] != 0 ? 1 : 0;
    case abi::kCodeI16:
      return long(reinterpret_cast<const device short*>(base)[index]);
    case abi::kCodeI32:
      return long(reinterpret_cast<const device int*>(base)[index]);
    case abi::kCodeU32:
      return long(reinterpret_cast<const device uint*>(base)[index]);
    default:  // i64, and the bits of f64
      return reinterpret_cast<const device long*>(base)[index];
  }
}
inline void store_whole(device uchar* base, uint code, ulong index, long v) {
  switch (code) {
    case abi::kCodeI8:
    case abi::kCodeU8:
    case abi::kCodeBool:
      base[index] = uchar(v);
      return;
    case abi::kCodeI16:
      reinterpret_cast<device ushort*>(base)[index] = ushort(v);
      return;
    case abi::kCodeI32:
    case abi::kCodeU32:
      reinterpret_cast<device uint*>(base)[index] = uint(v);
      return;
    default:
      reinterpret_cast<device long*>(base)[index] = v;
      return;
  }
}
inline long wrap_whole(uint code, long v) {
  switch (code) {
    case abi::kCodeI8:
      return long(char(v));
    case abi::kCodeU8:
      return long(uchar(v));
    case abi::kCodeI16:
      return long(short(v));
    case abi::kCodeI32:
      return long(int(v));
    case abi::kCodeU32:
      return long(uint(v));
    default:
      return v;
  }
}

}  // namespace bessemer
