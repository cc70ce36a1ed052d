// Conventions of kernel parameter structs, shared by C++ and MSL. Fields have fixed width, structs
// have no implicit padding and an asserted size, enums are stored as uint32_t. A field whose value
// depends on an extent is always int64_t or int32_t, so that a thunk's patches can rewrite it.
#pragma once

#ifdef __METAL_VERSION__
#include <metal_stdlib>
// Constants at namespace scope have an address space there.
#define BSM_ABI_CONSTANT constant constexpr
#else
#include <cstdint>
#define BSM_ABI_CONSTANT inline constexpr
#endif

namespace bessemer {
namespace abi {

// Numeric values of bessemer::DType, for device code that cannot include base/ (params store
// static_cast<uint32_t>(DType)). cpp/target/metal/families.cpp asserts that they agree.
enum DTypeCode : uint32_t {
  kCodeF32 = 0,
  kCodeF16 = 1,
  kCodeBF16 = 2,
  kCodeF64 = 3,
  kCodeI8 = 4,
  kCodeU8 = 5,
  kCodeI16 = 6,
  kCodeI32 = 7,
  kCodeI64 = 8,
  kCodeU32 = 9,
  kCodeBool = 10,
  kCodeQ4_0 = 11,
  kCodeQ4_1 = 12,
  kCodeQ5_0 = 13,
  kCodeQ5_1 = 14,
  kCodeQ8_0 = 15,
  kCodeQ4_K = 16,
  kCodeQ5_K = 17,
  kCodeQ6_K = 18,
};

enum Activation : uint32_t {
  kActNone = 0,
  kActSilu = 1,
  kActGeluErf = 2,
  kActGeluTanh = 3,
  kActRelu = 4,
  kActSigmoid = 5,
  kActTanh = 6,
};

enum Norm : uint32_t { kNormNone = 0, kNormRms = 1, kNormLayer = 2 };

}  // namespace abi
}  // namespace bessemer
