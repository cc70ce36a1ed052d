// The fused op `region`: a straight-line program of elementwise ops and casts, run as one kernel.
//
// A region node's operands are the program's inputs. Attributes: `program`, its text; `outputs`,
// which values are the node's results. Values are numbered: inputs 0..n-1, then the result of each
// instruction in order. All results have one shape, the broadcast of the operands' shapes.
//
//   region(%3, %4) {outputs = (3), program = "multiply 0 1; silu 2"}
//   "cast:f16 4" is a cast of value 4.
//
// Dtypes follow from the operands' as they do for single ops (no promotion: operands of one
// instruction agree), so a region gives the same bits as its ops one by one.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace bessemer::ops {

struct RegionProgram {
  struct Instr {
    Op op = Op::k_cast;                         // elementwise, or cast
    DType dtype = DType::kF32;                  // of the result
    std::array<int, 3> sources = {-1, -1, -1};  // values; -1 where the op takes fewer
    bool operator==(const Instr&) const = default;
  };

  std::vector<DType> inputs;
  std::vector<Instr> instrs;
  std::vector<int> outputs;  // values
  bool operator==(const RegionProgram&) const = default;

  [[nodiscard]] int value_count() const { return static_cast<int>(inputs.size() + instrs.size()); }
  [[nodiscard]] DType dtype_of(int value) const;

  // Appends an instruction and gives the number of its value. Checks arity, sources and dtypes
  // (kInvalidArgument, kDtype). Inputs must all be there before the first instruction.
  Result<int> append(Op op, std::span<const int> sources);
  Result<int> append_cast(DType to, int source);

  // kUnsupported: more inputs, outputs or instructions than the kernel takes
  // (kernel_abi/elementwise_params.h). kInvalidArgument: no output, an output that is an input or
  // no value, or an output given twice.
  [[nodiscard]] Status check() const;

  // The attribute `program`.
  [[nodiscard]] std::string to_string() const;
  // The attributes of a region node.
  [[nodiscard]] Attrs attrs() const;

  // Parses what to_string prints. kParse: malformed, an unknown or not elementwise op, a value not
  // computed yet; kDtype: operands that do not fit an op. The result passes check().
  [[nodiscard]] static Result<RegionProgram> parse(std::string_view program,
                                                   std::span<const DType> inputs,
                                                   std::span<const int64_t> outputs);
  // The program of a region node; an elementwise node or a cast is a program of one instruction.
  [[nodiscard]] static Result<RegionProgram> of(const Graph& graph, const Node& node);
};

// May `op` stand in a region?
[[nodiscard]] bool region_op(Op op);

// Casts that exist: between any two dtypes that are not block-quantised.
[[nodiscard]] Status check_cast(DType from, DType to);

}  // namespace bessemer::ops
