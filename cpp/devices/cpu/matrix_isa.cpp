#include "devices/cpu/matrix_isa.h"

namespace bessemer::cpu {

const MatrixIsa& matrix_isa(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return matrix_avx2();
    case Isa::kAvx512:
      return matrix_avx512();
    case Isa::kAvx512Vnni:
      return matrix_avx512vnni();
#endif
    default:
      return matrix_generic();
  }
}

}  // namespace bessemer::cpu
