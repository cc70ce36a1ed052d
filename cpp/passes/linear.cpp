// linear and its epilogues: a product with a weight [n, k] becomes the fused op `linear`, and what
// stands behind it moves in: bias, activation, gate, residual, in the order in which the kernel
// does them. The product is accumulated, and the rest computed, in f32: half floats are rounded
// once, where the ops one by one round after each.
//
// An epilogue moves in only if the product has no other reader and is no output. Where `linear`
// does not take the operands (another dtype, another shape), its own rules refuse.
#include <array>

#include "ops/op_impl.h"
#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

// The linear that makes v, if v's only reader may still change it: one result, no residual yet.
const Node* open_linear(const Rewriter& r, const Readers& readers, Value v) {
  const Node& node = r.node(v);
  if (node.op != Op::k_linear || node.results.size() != 1 || !readers.once(v)) return nullptr;
  return node.attrs.get<bool>("has_residual") ? nullptr : &node;
}

// The same, before bias or activation.
const Node* bare_linear(const Rewriter& r, const Readers& readers, Value v) {
  const Node* node = open_linear(r, readers, v);
  if (node == nullptr || node->attrs.get<bool>("gated")) return nullptr;
  return node->attrs.get<std::string>("activation").empty() ? node : nullptr;
}

const char* activation_name(Op op) {
  switch (op) {
    case Op::k_silu:
      return "silu";
    case Op::k_gelu:
      return "gelu";
    case Op::k_gelu_tanh:
      return "gelu_tanh";
    case Op::k_relu:
      return "relu";
    case Op::k_sigmoid:
      return "sigmoid";
    case Op::k_tanh:
      return "tanh";
    default:
      return nullptr;
  }
}

bool replace_with(Rewriter& r, uint32_t id, std::vector<Value> operands, Attrs attrs) {
  const Type type = r.node(id).results[0];
  const std::optional<Value> made =
      r.try_add(id, Op::k_linear, std::move(operands), std::move(attrs));
  if (!made || !(r.type(*made) == type)) return false;
  r.replace({id, 0}, *made);
  return true;
}

}  // namespace

Result<int64_t> linear(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (node.op != Op::k_matmul || node.attrs.get<bool>("transpose_a") ||
        !node.attrs.get<bool>("transpose_b")) {
      continue;
    }
    const Type& x = r.type(node.operands[0]);
    const Type& w = r.type(node.operands[1]);
    // linear gives x's dtype; a product that promotes beyond it stays one.
    if (w.shape.size() != 2 || node.results[0].dtype != x.dtype) continue;
    count += replace_with(r, id, node.operands, Attrs{{"n_weights", int64_t{1}}}) ? 1 : 0;
  }
  return count;
}

Result<int64_t> linear_bias(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (r.node(id).op != Op::k_add) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Value product = r.node(id).operands[side];
      const Value bias = r.node(id).operands[1 - side];
      const Node* node = bare_linear(r, readers, product);
      if (node == nullptr || node->attrs.get<bool>("has_bias")) continue;
      const Dim n = node->results[0].shape.back();
      // [n], or [1, .., 1, n], which is the same vector.
      const Type& type = r.type(bias);
      if (type.dtype != DType::kF32 || type.shape.empty() || !(type.shape.back() == n) ||
          !(num_elements(type.shape) == n)) {
        continue;
      }
      std::vector<Value> operands = node->operands;
      Attrs attrs = node->attrs;
      attrs.set("has_bias", true);
      BSM_ASSIGN(const Value vector, reshaped(r, id, bias, {n}));
      operands.push_back(vector);
      if (!replace_with(r, id, std::move(operands), std::move(attrs))) continue;
      ++count;
      break;
    }
  }
  return count;
}

Result<int64_t> linear_activation(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const char* name = activation_name(r.node(id).op);
    if (name == nullptr) continue;
    const Node* node = bare_linear(r, readers, r.node(id).operands[0]);
    if (node == nullptr) continue;
    Attrs attrs = node->attrs;
    attrs.set("activation", std::string(name));
    count += replace_with(r, id, node->operands, std::move(attrs)) ? 1 : 0;
  }
  return count;
}

// act(W0 x) * (W1 x)
Result<int64_t> linear_gate(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (r.node(id).op != Op::k_multiply) continue;
    std::array<Value, 2> sides = {r.node(id).operands[0], r.node(id).operands[1]};
    const Node* gate = open_linear(r, readers, sides[0]);
    const Node* up = open_linear(r, readers, sides[1]);
    if (gate == nullptr || up == nullptr) continue;
    if (!up->attrs.get<std::string>("activation").empty()) std::swap(gate, up);
    const bool has_bias = gate->attrs.get<bool>("has_bias");
    const LinearRoles roles = linear_roles(gate->attrs);
    if (gate->attrs.get<bool>("gated") || up->attrs.get<bool>("gated") ||
        !up->attrs.get<std::string>("activation").empty() ||
        up->attrs.get<bool>("has_bias") != has_bias || gate->operands[0] != up->operands[0] ||
        !gate->attrs.get<std::string>("norm").empty() ||
        !up->attrs.get<std::string>("norm").empty()) {
      continue;
    }
    std::vector<Value> operands = {gate->operands[0], gate->operands[roles.weights],
                                   up->operands[roles.weights]};
    if (has_bias) {
      operands.push_back(gate->operands[roles.biases]);
      operands.push_back(up->operands[roles.biases]);
    }
    Attrs attrs = gate->attrs;
    attrs.set("n_weights", int64_t{2});
    attrs.set("gated", true);
    count += replace_with(r, id, std::move(operands), std::move(attrs)) ? 1 : 0;
  }
  return count;
}

Result<int64_t> linear_residual(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (r.node(id).op != Op::k_add) continue;
    // Of two products the younger one takes the older one's result.
    std::array<Value, 2> sides = {r.node(id).operands[0], r.node(id).operands[1]};
    if (sides[0].node < sides[1].node) std::swap(sides[0], sides[1]);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Node* node = open_linear(r, readers, sides[side]);
      if (node == nullptr) continue;
      std::vector<Value> operands = node->operands;
      operands.push_back(sides[1 - side]);
      Attrs attrs = node->attrs;
      attrs.set("has_residual", true);
      if (!replace_with(r, id, std::move(operands), std::move(attrs))) continue;
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace bessemer::passes
