#include "passes/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace bessemer::passes {
namespace {

template <class T>
T load(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<double> element(const std::vector<std::byte>& bytes, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(bytes);
    case DType::kF16:
      return f16_to_f32(load<uint16_t>(bytes));
    case DType::kBF16:
      return bf16_to_f32(load<uint16_t>(bytes));
    case DType::kF64:
      return load<double>(bytes);
    case DType::kI8:
      return load<int8_t>(bytes);
    case DType::kU8:
    case DType::kBool:
      return load<uint8_t>(bytes);
    case DType::kI16:
      return load<int16_t>(bytes);
    case DType::kI32:
      return load<int32_t>(bytes);
    case DType::kU32:
      return load<uint32_t>(bytes);
    case DType::kI64: {
      const auto value = load<int64_t>(bytes);
      constexpr int64_t kExact = int64_t{1} << 53;
      if (value < -kExact || value > kExact) return std::nullopt;
      return static_cast<double>(value);
    }
    default:
      return std::nullopt;
  }
}

// Half a unit in the last place, relative.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

}  // namespace

std::optional<double> scalar(const Graph& graph, Value v) {
  const Node* node = &graph.node(v);
  while (node->op == Op::k_expand || node->op == Op::k_reshape) {
    node = &graph.node(node->operands[0]);
  }
  if (node->op != Op::k_constant) return std::nullopt;
  const Type& type = node->results[0];
  if (!(num_elements(type.shape) == Dim(1))) return std::nullopt;
  return element(*node->data, type.dtype);
}

bool is_scalar(const Graph& graph, Value v, double want, double relative) {
  const std::optional<double> got = scalar(graph, v);
  if (!got) return false;
  if (relative == 0) return *got == want;
  return std::fabs(*got - want) <= (relative + rounding(graph.type(v).dtype)) * std::fabs(want);
}

bool is_commutative(Op op) {
  switch (op) {
    case Op::k_add:
    case Op::k_multiply:
    case Op::k_hypot:
    case Op::k_bitwise_and:
    case Op::k_bitwise_or:
    case Op::k_bitwise_xor:
    case Op::k_logical_and:
    case Op::k_logical_or:
    case Op::k_logical_xor:
    case Op::k_equal:
    case Op::k_not_equal:
      return true;
    default:
      return false;
  }
}

bool reduces_last_axis(const Graph& graph, const Node& node, bool keepdims) {
  const auto rank = static_cast<int64_t>(graph.type(node.operands[0]).shape.size());
  const auto axes = node.attrs.get<std::vector<int64_t>>("axes");
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1) &&
         node.attrs.get<bool>("keepdims") == keepdims;
}

bool swaps_last_axes(const Node& node) {
  if (node.op != Op::k_transpose) return false;
  const auto perm = node.attrs.get<std::vector<int64_t>>("perm");
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 2) return false;
  for (int64_t i = 0; i < rank - 2; ++i) {
    if (perm[static_cast<size_t>(i)] != i) return false;
  }
  return perm[perm.size() - 2] == rank - 1;
}

Result<Value> reshaped(Rewriter& r, uint32_t at, Value v, const Shape& shape) {
  v = r.now(v);
  while (r.node(v).op == Op::k_reshape) v = r.now(r.node(v).operands[0]);
  if (r.type(v).shape == shape) return v;
  return r.add(at, Op::k_reshape, {v}, Attrs{{"shape", shape}});
}

Result<Value> transposed(Rewriter& r, uint32_t at, Value v, const std::vector<int64_t>& perm) {
  v = r.now(v);
  std::vector<int64_t> order = perm;
  while (r.node(v).op == Op::k_transpose) {
    const auto inner = r.node(v).attrs.get<std::vector<int64_t>>("perm");
    for (int64_t& axis : order) axis = inner[static_cast<size_t>(axis)];
    v = r.now(r.node(v).operands[0]);
  }
  if (std::is_sorted(order.begin(), order.end())) return v;
  return r.add(at, Op::k_transpose, {v}, Attrs{{"perm", order}});
}

std::vector<bool> needed_at_the_end(const Graph& graph) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (const NamedValue& o : graph.outputs()) needed[o.value.node] = true;
  for (const NamedValue& u : graph.updates()) needed[u.value.node] = true;
  return needed;
}

LinearRoles linear_roles(const Attrs& attrs) {
  LinearRoles roles;
  roles.n_weights = static_cast<size_t>(attrs.get<int64_t>("n_weights", 1));
  size_t next = 1;
  if (!attrs.get<std::string>("norm").empty()) {
    roles.norm_weight = next++;
    if (attrs.get<bool>("has_norm_bias")) roles.norm_bias = next++;
  }
  roles.weights = next;
  next += roles.n_weights;
  if (attrs.get<bool>("has_bias")) {
    roles.biases = next;
    next += roles.n_weights;
  }
  if (attrs.get<bool>("has_residual")) roles.residual = next;
  return roles;
}

}  // namespace bessemer::passes
