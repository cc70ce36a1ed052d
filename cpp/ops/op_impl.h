// What a structured op is: how its types follow from its operands, and how it becomes thunks.
// One file an op (or a close family) in this folder; op_registry.cpp lists them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace bessemer::ops {

class Lowering;  // lowering.h

struct InferInput {
  Op op;
  std::span<const Type> operands;
  const Attrs& attrs;
  std::span<const Extent> extents;  // names for messages, bounds for checks
};

// Allowed attributes of an op: name and an example of its type. Unknown names and wrong types are
// refused before infer runs, so that infer may use Attrs::get freely.
struct AttrSpec {
  const char* name;
  AttrValue example;
};

struct OpImpl {
  // Computes the result types or says what does not fit. kShape, kDtype, kInvalidArgument.
  Result<std::vector<Type>> (*infer)(const InferInput& in);
  // Emits the thunks of one node.
  Status (*lower)(Lowering& lowering, const Node& node);
  std::vector<AttrSpec> attrs;
};

// The implementation of an op; leaves have none (nullptr).
[[nodiscard]] const OpImpl* find_impl(Op op);

// Makes a node: checks arity, attributes and types, computes the results' types, appends.
// Elementwise operands of different dtypes are promoted first (f16 with f32 gives f32; an integer
// with a float is an error that says so: narrowing is never implicit).
// On error the graph is unchanged, and the error names the op, its operands' types and `where`.
[[nodiscard]] Result<Value> add_node(Graph& graph, Op op, std::vector<Value> operands,
                                     Attrs attrs = {}, std::string where = {});

// Leaves.
[[nodiscard]] Result<Value> add_leaf(Graph& graph, Op kind, std::string name, Type type,
                                     std::string where = {});
[[nodiscard]] Result<Value> add_constant(Graph& graph, Type type, std::vector<std::byte> data,
                                         std::string where = {});

// verify_structure, and every type inferred again and compared. kInternal on a fault.
[[nodiscard]] Status verify(const Graph& graph);

// The result dtype of an elementwise op over operands of these dtypes, already promoted. kDtype if
// the op's rule does not accept them.
[[nodiscard]] Result<DType> elementwise_dtype(Op op, std::span<const DType> operands);

// Shared by infer functions.
[[nodiscard]] Result<Shape> broadcast_shapes(std::span<const Shape> shapes,
                                             std::span<const Extent> extents);
// An axis in [-rank, rank) as one in [0, rank).
[[nodiscard]] Result<int> normalise_axis(int64_t axis, size_t rank);
// The dtype both promote to. kDtype if there is none (an integer with a float, anything quantised).
[[nodiscard]] Result<DType> promote(DType a, DType b);
[[nodiscard]] Error shape_error(std::string message);
[[nodiscard]] Error dtype_error(std::string message);

// C-order strides in elements.
[[nodiscard]] std::vector<Dim> contiguous_strides(const Shape& shape);

}  // namespace bessemer::ops
