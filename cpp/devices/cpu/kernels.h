// Every kernel of the CPU device, one line each; the names are in kernel_table.cpp.
#pragma once

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

void arg_reduce(const KernelCall& call);    // kernel_abi/reduce_params.h
void cumulative(const KernelCall& call);    // kernel_abi/reduce_params.h
void reduce(const KernelCall& call);        // kernel_abi/reduce_params.h
void softmax(const KernelCall& call);       // kernel_abi/reduce_params.h
void top_k(const KernelCall& call);         // kernel_abi/reduce_params.h
void attention(const KernelCall& call);     // kernel_abi/attention_params.h
void concat(const KernelCall& call);        // kernel_abi/copy_params.h
void copy(const KernelCall& call);          // kernel_abi/copy_params.h
void copy_bytes(const KernelCall& call);    // kernel_abi/copy_bytes_params.h
void elementwise(const KernelCall& call);   // kernel_abi/elementwise_params.h
void embedding(const KernelCall& call);     // kernel_abi/gather_params.h
void gather(const KernelCall& call);        // kernel_abi/gather_params.h
void iota(const KernelCall& call);          // kernel_abi/copy_params.h
void linear(const KernelCall& call);        // kernel_abi/linear_params.h
void matmul(const KernelCall& call);        // kernel_abi/matmul_params.h
void norm(const KernelCall& call);          // kernel_abi/norm_params.h
void pad(const KernelCall& call);           // kernel_abi/copy_params.h
void rope(const KernelCall& call);          // kernel_abi/rope_params.h
void rope_append(const KernelCall& call);   // kernel_abi/rope_params.h
void scatter_rows(const KernelCall& call);  // kernel_abi/rope_params.h
void tri(const KernelCall& call);           // kernel_abi/copy_params.h

}  // namespace bessemer::cpu
