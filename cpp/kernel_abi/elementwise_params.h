// elementwise: a straight-line program over broadcast inputs, one element at a time.
//
// Values are numbered: inputs 0..n_inputs-1, then the result of each instruction in order. An
// instruction computes in f32 (floats), in int64 (integers) or in 0/1 (bool) by the dtype of its
// data operands, and its result is rounded or wrapped to the instruction's dtype, so that a fused
// program gives the same bits as its ops one by one.
//
// Operands in order: inputs; outputs. Outputs are contiguous in the iteration space `dims`; output
// i holds value output_value[i]. Input strides are in elements, 0 along a broadcast axis.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

BSM_ABI_CONSTANT int kElementwiseMaxRank = 8;  // after adjacent axes are merged
BSM_ABI_CONSTANT int kElementwiseMaxInputs = 16;
BSM_ABI_CONSTANT int kElementwiseMaxOutputs = 8;
BSM_ABI_CONSTANT int kElementwiseMaxInstrs = 32;

// Stable only within one build: params never leave the process.
enum ElementwiseOp : uint16_t {
#define BSM_UNARY(name, ...) kElementwise_##name,
#define BSM_BINARY(name, ...) kElementwise_##name,
#define BSM_TERNARY(name, ...) kElementwise_##name,
#include "op_table.def"
  kElementwise_cast,
  kElementwiseOpCount,
};

struct ElementwiseInstr {
  uint16_t op;         // ElementwiseOp
  uint8_t dtype;       // bessemer::DType of the result
  uint8_t data_dtype;  // bessemer::DType of the data operands (of the source, for cast)
  uint8_t sources[3];  // values; unused ones repeat the first
  uint8_t reserved;
};
static_assert(sizeof(ElementwiseInstr) == 8);

struct ElementwiseParams {
  int64_t dims[kElementwiseMaxRank];  // outermost first; only `rank` of them mean anything
  int64_t strides[kElementwiseMaxInputs][kElementwiseMaxRank];
  uint32_t rank;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t n_instrs;
  uint8_t input_dtype[kElementwiseMaxInputs];
  uint8_t output_value[kElementwiseMaxOutputs];
  uint8_t reserved[8];
  ElementwiseInstr program[kElementwiseMaxInstrs];
};
static_assert(sizeof(ElementwiseParams) == 64 + 1024 + 16 + 16 + 16 + 256);

}  // namespace abi
}  // namespace bessemer
