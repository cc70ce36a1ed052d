// The function constants, declared by name; cpp/kernel_abi/function_constants.def lists them.
#pragma once

#include <metal_stdlib>

// clang-format off
#define BSM_FUNCTION_CONSTANT(index, type, name) constant type name [[function_constant(index)]];
#include "kernel_abi/function_constants.def"
// clang-format on

// A loop that function constants bound is unrolled where they are known when code is made. The
// emulation has them at run time, and would only make code of the same loop many times.
#if defined(__x86_64__)
#define BSM_UNROLL
#else
#define BSM_UNROLL _Pragma("clang loop unroll(full)")
#endif
