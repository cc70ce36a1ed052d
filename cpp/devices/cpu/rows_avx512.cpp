#include "devices/cpu/rows_isa.h"
#if defined(__x86_64__)
#include "devices/cpu/simd/vec_avx512.h"

// After the vector layer, in this order:
#include "devices/cpu/float_rows.inl"

#include "devices/cpu/rows_bodies.inl"

namespace bessemer::cpu {

const RowsIsa& rows_avx512() {
  static constexpr RowsIsa kTable = {widen_row, narrow_row, add_row, angles, rotate};
  return kTable;
}

}  // namespace bessemer::cpu
#endif
