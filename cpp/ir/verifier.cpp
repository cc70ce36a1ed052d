// Structure of a graph, checked without trusting how it was made.
#include <set>

#include "ir/graph.h"

namespace bessemer {
namespace {

Error fault(size_t node, const std::string& message) {
  return Error{ErrorKind::kInternal, "node %" + std::to_string(node) + ": " + message, {}};
}

Status verify_node(const Graph& graph, size_t id) {
  const Node& node = graph.nodes()[id];
  if (static_cast<int>(node.op) >= op_count()) return fault(id, "unknown op");
  const OpInfo& op = info(node.op);
  const auto operands = static_cast<int>(node.operands.size());
  if (operands < op.min_operands || (op.max_operands >= 0 && operands > op.max_operands)) {
    return fault(id,
                 "`" + std::string(op.name) + "` with " + std::to_string(operands) + " operands");
  }
  for (const Value& v : node.operands) {
    if (v.node >= id) return fault(id, "operand is not older than its user");
    if (v.result >= graph.nodes()[v.node].results.size()) return fault(id, "no such result");
  }
  if (node.results.empty()) return fault(id, "no result");
  for (const Type& t : node.results) {
    for (const Dim& d : t.shape) {
      for (const Dim::Term& term : d.terms()) {
        for (ExtentId e : term.factors) {
          if (e >= graph.extents().size()) return fault(id, "unknown extent");
        }
      }
      // A dim is a size at every value its extents may take; the bound is what allocations use.
      if (d.evaluate(graph.extent_maxima()) < 0) return fault(id, "negative dim");
    }
    if (is_quantised(t.dtype)) {
      if (node.op != Op::k_param) return fault(id, "a block-quantised value that is not a param");
      if (t.shape.empty() || !t.shape.back().is_constant() ||
          t.shape.back().constant() % info(t.dtype).block_elements != 0) {
        return fault(id, "rows of a block-quantised param are not whole blocks");
      }
    }
  }
  if (is_leaf(node.op)) {
    if (node.results.size() != 1) return fault(id, "a leaf has one result");
    if ((node.op == Op::k_constant) != node.name.empty()) return fault(id, "leaf name");
  }
  if ((node.op == Op::k_constant) != (node.data != nullptr)) return fault(id, "constant data");
  if (node.data != nullptr) {
    const Type& t = node.results[0];
    if (!is_static(t.shape)) return fault(id, "a constant of variable shape");
    const int64_t elements = num_elements(t.shape).constant();
    if (static_cast<int64_t>(node.data->size()) != bytes_of(t.dtype, elements)) {
      return fault(id, "constant data of " + std::to_string(node.data->size()) + " bytes for " +
                           to_string(t, graph.extents()));
    }
  }
  if ((node.op == Op::k_state || node.op == Op::k_param) && !is_static(node.results[0].shape)) {
    return fault(id, "a " + std::string(op.name) + " of variable shape");
  }
  return {};
}

}  // namespace

Status verify_structure(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) BSM_TRY(verify_node(graph, i));
  std::set<std::string> names;
  for (const NamedValue& o : graph.outputs()) {
    if (o.value.node >= graph.nodes().size() ||
        o.value.result >= graph.nodes()[o.value.node].results.size()) {
      return Error{ErrorKind::kInternal, "output `" + o.name + "` is not a value", {}};
    }
    if (!names.insert(o.name).second) {
      return Error{ErrorKind::kInternal, "two outputs named `" + o.name + "`", {}};
    }
  }
  for (const NamedValue& u : graph.updates()) {
    const Value* state = graph.find_leaf(Op::k_state, u.name);
    if (state == nullptr || u.value.node >= graph.nodes().size() ||
        u.value.result >= graph.nodes()[u.value.node].results.size() ||
        !(graph.type(*state) == graph.type(u.value))) {
      return Error{ErrorKind::kInternal, "update of `" + u.name + "` does not fit a state", {}};
    }
  }
  return {};
}

}  // namespace bessemer
