// The bodies that every SIMD variant of the matrix products compiles over its own vector layer.
// Included once by each matrix_<isa>.cpp, after that layer. The order matters.

#include "base/dtype.h"
#include "devices/cpu/matrix_isa.h"
#include "kernel_abi/abi.h"

// clang-format off
#include "devices/cpu/simd/vec_math.h"
#include "devices/cpu/matrix_rows.inl"
#include "devices/cpu/matrix_dense.inl"
#include "devices/cpu/matrix_formats.inl"
#include "devices/cpu/matrix_f32.inl"
#include "devices/cpu/matrix_int8.inl"
// clang-format on
