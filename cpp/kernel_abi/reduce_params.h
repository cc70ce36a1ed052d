// Kernels over one axis of a tensor seen as [outer, axis, inner].
//
// reduce: operands x, out. Floats accumulate in f64 (sum, prod) and round once; integers wrap in
// their dtype. arg_reduce: operands x, out i32. softmax: operands x, out (may be x); f32
// arithmetic. cumulative: operands x, out (may be x). top_k: operands x [rows, axis], values [rows,
// k], indices i32 [rows, k].
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

enum Reduction : uint32_t {
  kReduceSum = 0,
  kReduceProd = 1,
  kReduceMax = 2,
  kReduceMin = 3,
  kReduceAny = 4,
  kReduceAll = 5,
};

struct ReduceParams {
  int64_t outer;
  int64_t axis;
  int64_t inner;
  int64_t divisor;  // of the result (mean); 1 for none
  uint32_t kind;    // Reduction
  uint32_t x_dtype;
  uint32_t out_dtype;
  uint32_t reserved;
};
static_assert(sizeof(ReduceParams) == 48);

struct ArgReduceParams {
  int64_t outer;
  int64_t axis;
  int64_t inner;
  uint32_t dtype;
  uint32_t want_max;
};
static_assert(sizeof(ArgReduceParams) == 32);

struct SoftmaxParams {
  int64_t outer;
  int64_t axis;
  int64_t inner;
  uint32_t dtype;
  uint32_t log;
};
static_assert(sizeof(SoftmaxParams) == 32);

struct CumulativeParams {
  int64_t outer;
  int64_t axis;
  int64_t inner;
  uint32_t kind;  // Reduction: sum, prod, max, min
  uint32_t dtype;
  uint32_t exclusive;
  uint32_t reverse;
};
static_assert(sizeof(CumulativeParams) == 40);

struct TopKParams {
  int64_t rows;
  int64_t axis;
  int64_t k;
  uint32_t dtype;
  uint32_t reserved;
};
static_assert(sizeof(TopKParams) == 32);

}  // namespace abi
}  // namespace bessemer
