#include "devices/cpu/elementwise.h"

#include "devices/cpu/kernels.h"

namespace bessemer::cpu {

void elementwise(const KernelCall& call) {
#if defined(__x86_64__)
  switch (call.isa) {
    case Isa::kAvx512:
    case Isa::kAvx512Vnni:
      return elementwise_avx512(call);
    case Isa::kAvx2:
      return elementwise_avx2(call);
    default:
      break;
  }
#endif
  elementwise_generic(call);
}

}  // namespace bessemer::cpu
