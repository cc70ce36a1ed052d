// An oracle for block-quantised weights: written from the description of the GGUF formats, one
// element at a time in double precision, sharing nothing with the kernels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/dtype.h"

namespace bessemer::test {

// The value of element `i` of a row that starts at `row`.
double weight_at(DType dtype, const uint8_t* row, int64_t i);

// A row of `k` elements in random blocks whose values stay around one in magnitude.
std::vector<uint8_t> random_row(DType dtype, int64_t k, std::mt19937& random);

double half_to_double(uint16_t h);

}  // namespace bessemer::test
