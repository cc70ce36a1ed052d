// Random and encoded tensors for tests of kernels.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "run_graph.h"

namespace bessemer::testing {

inline Bytes encode(DType dtype, const std::vector<double>& values) {
  Bytes bytes(values.size() * static_cast<size_t>(info(dtype).block_bytes));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto f = static_cast<float>(values[i]);
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + 4 * i, &f, 4);
    } else {
      const uint16_t h = dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
      std::memcpy(bytes.data() + 2 * i, &h, 2);
    }
  }
  return bytes;
}

inline std::vector<double> decode(DType dtype, const Bytes& bytes) {
  std::vector<double> values(bytes.size() / static_cast<size_t>(info(dtype).block_bytes));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF32) {
      float f;
      std::memcpy(&f, bytes.data() + 4 * i, 4);
      values[i] = static_cast<double>(f);
    } else {
      uint16_t h;
      std::memcpy(&h, bytes.data() + 2 * i, 2);
      values[i] = static_cast<double>(dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h));
    }
  }
  return values;
}

// Of a value in `dtype`, relative: half a unit in its last place.
inline double half_ulp(DType dtype) {
  return dtype == DType::kF32 ? 0x1p-24 : dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

inline std::vector<double> normal_values(size_t n, uint32_t seed, double scale = 1.0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, scale);
  std::vector<double> values(n);
  for (double& v : values) v = normal(random);
  return values;
}

inline std::vector<cpu::Isa> isas() {
  std::vector<cpu::Isa> all;
  for (cpu::Isa isa : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512,
                       cpu::Isa::kAvx512Vnni, cpu::Isa::kNeon}) {
    if (cpu::isa_available(isa)) all.push_back(isa);
  }
  return all;
}

}  // namespace bessemer::testing
