// Evaluates single ops over literal data, one element at a time: for constant folding.
//
// Elementwise ops and casts run the very functions that the CPU's kernel runs (op_table.def and
// scalar_math.inl, which give the same bits on every instruction set), so that folding on the CPU
// changes no result. Another device may differ from it within the documented tolerance of an op.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace bessemer::ops {

// Whether evaluate takes this node: an elementwise op, cast, reshape, transpose, slice, expand,
// reverse, tile, concat, pad, tril, triu or iota, of fixed shapes, with one result.
[[nodiscard]] bool can_evaluate(const Graph& graph, const Node& node);

// The bytes of the node's result, row-major. `operands` are the bytes of its operands, of the sizes
// that their types say (kInvalidArgument). kUnsupported: can_evaluate is false.
[[nodiscard]] Result<std::vector<std::byte>> evaluate(
    const Graph& graph, const Node& node, std::span<const std::span<const std::byte>> operands);

}  // namespace bessemer::ops
