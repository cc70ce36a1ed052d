// Conventions of kernel parameter structs, shared by C++ and MSL. Fields have fixed width, structs
// have no implicit padding and an asserted size, enums are stored as uint32_t. A field whose value
// depends on an extent is always int64_t or int32_t, so that a thunk's patches can rewrite it.
#pragma once

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

// Numeric values of bessemer::DType, for device code that cannot include base/.
// (kernel params store static_cast<uint32_t>(DType)).

namespace bessemer::abi {

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

}  // namespace bessemer::abi
