// One call of the `linear` kernel with random data, and the double-precision answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/cpu/kernel.h"
#include "kernel_abi/linear_params.h"

namespace bessemer::test {

struct LinearCase {
  // What is asked; set before fill().
  int64_t m = 1;
  int64_t k = 64;
  std::vector<int64_t> n = {7};
  std::vector<DType> weights = {DType::kQ4_0};
  DType x_dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  abi::Norm norm = abi::kNormNone;
  bool norm_bias = false;
  bool bias = false;
  abi::Activation activation = abi::kActNone;
  bool gated = false;
  bool residual = false;
  bool int8 = false;
  uint32_t seed = 1;

  // The data, in the kernel's formats.
  std::vector<uint8_t> x;
  std::vector<float> norm_weight, norm_bias_values;
  std::vector<std::vector<uint8_t>> w;
  std::vector<std::vector<float>> bias_values;
  std::vector<uint8_t> residual_values;

  void fill();
  // Runs the kernel; each output as bytes. Checks that nothing outside the outputs and the scratch
  // was written.
  std::vector<std::vector<uint8_t>> run(cpu::Isa isa, ThreadPool& pool, int threads) const;

  struct Answer {
    double value;
    double slack;  // what rounding may move it by
  };
  // Row-major [m, n] for each output.
  std::vector<std::vector<Answer>> expected() const;

  std::string name() const;
  abi::LinearParams params() const;
  int outputs() const { return gated ? 1 : static_cast<int>(n.size()); }
};

double element(DType dtype, const std::vector<uint8_t>& data, int64_t i);
void put_element(DType dtype, std::vector<uint8_t>& data, int64_t i, double value);

// Compares and reports the first differences.
void expect_answers(const LinearCase& c, cpu::Isa isa,
                    const std::vector<std::vector<uint8_t>>& got);

// Every variant that this machine runs.
std::vector<cpu::Isa> available_isas();

}  // namespace bessemer::test
