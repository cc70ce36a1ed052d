// The rows of op_table.def as functions of an op's number, which is a function constant wherever
// they are called: one expression of the table is left of each switch.
#pragma once

#include "kernel_abi/elementwise_params.h"
#include "scalar_math.h"

namespace bessemer {

#define BSM_NO_ROW(name, expr)
#define BSM_CASE(name, expr)     \
  case abi::kElementwise_##name: \
    return expr;

inline float float_of_floats(uint op, float x, float y, float z) {
  switch (op) {
#define BSM_ROW_kFloat BSM_CASE
#define BSM_ROW_kNumeric BSM_CASE
#define BSM_ROW_kSelect BSM_CASE
#define BSM_ROW_kBits BSM_NO_ROW
#define BSM_ROW_kLogical BSM_NO_ROW
#define BSM_ROW_kTest BSM_NO_ROW
#define BSM_ROW_kCompare BSM_NO_ROW
#define BSM_UNARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, float_expr)
#define BSM_BINARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, float_expr)
#define BSM_TERNARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, float_expr)
#include "op_table.def"
#undef BSM_ROW_kFloat
#undef BSM_ROW_kNumeric
#undef BSM_ROW_kSelect
#undef BSM_ROW_kTest
#undef BSM_ROW_kCompare
    default:
      return 0.0f;
  }
}

inline bool test_of_floats(uint op, float x, float y) {
  switch (op) {
#define BSM_ROW_kFloat BSM_NO_ROW
#define BSM_ROW_kNumeric BSM_NO_ROW
#define BSM_ROW_kSelect BSM_NO_ROW
#define BSM_ROW_kTest BSM_CASE
#define BSM_ROW_kCompare BSM_CASE
#define BSM_UNARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, float_expr)
#define BSM_BINARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, float_expr)
#include "op_table.def"
#undef BSM_ROW_kNumeric
#undef BSM_ROW_kSelect
#undef BSM_ROW_kBits
#undef BSM_ROW_kLogical
#undef BSM_ROW_kTest
#undef BSM_ROW_kCompare
    default:
      return false;
  }
}

// Of integers and bools; a comparison gives 0 or 1.
inline long whole_of_wholes(uint op, long x, long y, long z) {
  switch (op) {
#define BSM_ROW_kNumeric BSM_CASE
#define BSM_ROW_kSelect BSM_CASE
#define BSM_ROW_kBits BSM_CASE
#define BSM_ROW_kLogical BSM_CASE
#define BSM_ROW_kTest BSM_NO_ROW
#define BSM_ROW_kCompare BSM_CASE
#define BSM_UNARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, int_expr)
#define BSM_BINARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, int_expr)
#define BSM_TERNARY(name, rule, float_expr, int_expr, ...) BSM_ROW_##rule(name, int_expr)
#include "op_table.def"
#undef BSM_ROW_kFloat
#undef BSM_ROW_kNumeric
#undef BSM_ROW_kSelect
#undef BSM_ROW_kBits
#undef BSM_ROW_kLogical
#undef BSM_ROW_kTest
#undef BSM_ROW_kCompare
    default:
      return 0;
  }
}

#undef BSM_NO_ROW
#undef BSM_CASE

}  // namespace bessemer
