// The elementwise kernel (kernel_abi/elementwise_params.h) by instruction set.
#pragma once

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

void elementwise_generic(const KernelCall& call);
// Defined on x86-64 only; call after a check of the processor.
void elementwise_avx2(const KernelCall& call);
void elementwise_avx512(const KernelCall& call);

}  // namespace bessemer::cpu
