#if defined(__x86_64__)
#include "devices/cpu/simd/bytes_avx512.h"

// After the vector layer:
#include "devices/cpu/matrix_bodies.inl"

namespace bessemer::cpu {

const MatrixIsa& matrix_avx512() {
  static constexpr MatrixIsa kTable = {
      kWidth / 4, norm_row, quantize_row<kWidth / 4>, f32_tile, int8_tile, dense_tile, finish_row};
  return kTable;
}

}  // namespace bessemer::cpu
#endif
