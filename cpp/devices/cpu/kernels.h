// Every kernel of the CPU device, one line each; the names are in kernel_table.cpp.
#pragma once

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

void linear(const KernelCall& call);  // kernel_abi/linear_params.h
void matmul(const KernelCall& call);  // kernel_abi/matmul_params.h

}  // namespace bessemer::cpu
