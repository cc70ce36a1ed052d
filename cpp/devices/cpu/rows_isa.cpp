#include "devices/cpu/rows_isa.h"

namespace bessemer::cpu {

const RowsIsa& rows_isa(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 || isa == Isa::kAvx512Vnni) return rows_avx512();
  if (isa == Isa::kAvx2) return rows_avx2();
#endif
  (void)isa;
  return rows_generic();
}

}  // namespace bessemer::cpu
