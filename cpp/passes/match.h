// Small questions that patterns ask of a graph, and the nodes that several passes make.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "passes/rewriter.h"

namespace bessemer::passes {

// The only element of a constant of one element, also behind expand and reshape. Integers that a
// double does not hold exactly are no match.
[[nodiscard]] std::optional<double> scalar(const Graph& graph, Value v);
// Whether v is such a constant and within `relative` of `want`, plus the rounding of v's dtype.
[[nodiscard]] bool is_scalar(const Graph& graph, Value v, double want, double relative = 0);

// f32 f16 bf16.
[[nodiscard]] inline bool is_compute_float(DType d) { return is_float(d) && d != DType::kF64; }

// Ops whose operands may be swapped without a change in any bit (but NaN's payload).
[[nodiscard]] bool is_commutative(Op op);

// For `op`(a, b) with a test on one operand: the other operand, in either order.
template <class Test>
[[nodiscard]] std::optional<Value> other_operand(const Node& node, Test test) {
  if (node.operands.size() != 2) return std::nullopt;
  if (test(node.operands[1])) return node.operands[0];
  if (test(node.operands[0])) return node.operands[1];
  return std::nullopt;
}

// The axes of a reduction, counted from the front.
[[nodiscard]] bool reduces_last_axis(const Graph& graph, const Node& node, bool keepdims);

// A transpose that swaps the last two axes and moves no other.
[[nodiscard]] bool swaps_last_axes(const Node& node);

// reshape and transpose of v, with what they undo or merge with taken into account.
[[nodiscard]] Result<Value> reshaped(Rewriter& r, uint32_t at, Value v, const Shape& shape);
[[nodiscard]] Result<Value> transposed(Rewriter& r, uint32_t at, Value v,
                                       const std::vector<int64_t>& perm);

// By node: whether it makes an output or an update. A pass that goes from the youngest node to the
// oldest adds what it reads as it goes, and so skips what its own rewrites made superfluous.
[[nodiscard]] std::vector<bool> needed_at_the_end(const Graph& graph);

// The operands of `linear` by role: indices, 0 where a role is absent.
struct LinearRoles {
  size_t norm_weight = 0;
  size_t norm_bias = 0;
  size_t weights = 0;
  size_t biases = 0;
  size_t residual = 0;
  size_t n_weights = 0;
};
[[nodiscard]] LinearRoles linear_roles(const Attrs& attrs);

}  // namespace bessemer::passes
