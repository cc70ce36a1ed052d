// norm_prologue, norm_add, add_norm: where a norm goes.
//
//   norm_prologue  linear(norm(x), W..)      -> linear{norm}(x, weight, W..)    if nothing else
//   reads it norm_add       residual + norm(x)        -> norm_add(x, residual, weight)   if nothing
//   else reads it add_norm       s = x + residual; norm(s) -> add_norm(x, residual, weight)   both
//   results
//
// The fused ops take norms with a weight; one without stays as it is.
#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

// A row norm with a weight: its kind as the fused ops name it.
const char* norm_kind(const Node& node) {
  if (!node.attrs.get<bool>("has_weight")) return nullptr;
  return node.op == Op::k_rms_norm ? "rms" : node.op == Op::k_layer_norm ? "layer" : nullptr;
}

bool is_norm(const Node& node) { return node.op == Op::k_rms_norm || node.op == Op::k_layer_norm; }

Attrs fused_attrs(const Node& norm) {
  Attrs attrs{{"norm", std::string(norm_kind(norm))},
              {"epsilon", norm.attrs.get<double>("epsilon")}};
  if (norm.attrs.get<bool>("has_bias")) attrs.set("has_bias", true);
  return attrs;
}

// Weight and bias behind x.
void append_vectors(const Node& norm, std::vector<Value>& operands) {
  operands.insert(operands.end(), norm.operands.begin() + 1, norm.operands.end());
}

}  // namespace

Result<int64_t> norm_prologue(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (node.op != Op::k_linear || !node.attrs.get<std::string>("norm").empty()) continue;
    const Value x = node.operands[0];
    const Node& norm = r.node(x);
    if (!is_norm(norm) || norm_kind(norm) == nullptr || !readers.once(x)) continue;
    std::vector<Value> operands = {norm.operands[0]};
    append_vectors(norm, operands);
    operands.insert(operands.end(), node.operands.begin() + 1, node.operands.end());
    Attrs attrs = node.attrs;
    attrs.set("norm", std::string(norm_kind(norm)));
    attrs.set("epsilon", norm.attrs.get<double>("epsilon"));
    if (norm.attrs.get<bool>("has_bias")) attrs.set("has_norm_bias", true);
    const size_t results = node.results.size();
    const std::optional<Value> made =
        r.try_add(id, Op::k_linear, std::move(operands), std::move(attrs));
    if (!made) continue;
    for (uint32_t i = 0; i < results; ++i) r.replace({id, i}, {made->node, i});
    ++count;
  }
  return count;
}

Result<int64_t> norm_add(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (r.node(id).op != Op::k_add) continue;
    for (const size_t side : {size_t{1}, size_t{0}}) {
      const Value normed = r.node(id).operands[side];
      const Value residual = r.node(id).operands[1 - side];
      const Node& norm = r.node(normed);
      if (!is_norm(norm) || norm_kind(norm) == nullptr || !readers.once(normed)) continue;
      std::vector<Value> operands = {norm.operands[0], residual};
      append_vectors(norm, operands);
      const std::optional<Value> made =
          r.try_add(id, Op::k_norm_add, std::move(operands), fused_attrs(norm));
      if (!made) continue;
      r.replace({id, 0}, *made);
      ++count;
      break;
    }
  }
  return count;
}

Result<int64_t> add_norm(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& norm = r.node(id);
    if (!is_norm(norm) || norm_kind(norm) == nullptr) continue;
    const Value sum = norm.operands[0];
    const Node& add = r.node(sum);
    // A sum that another norm took already has been replaced.
    if (add.op != Op::k_add || r.now(sum) != sum) continue;
    // The fused node stands where the sum stood; what it reads must be there.
    bool early = true;
    for (size_t i = 1; i < norm.operands.size(); ++i) {
      early = early && (norm.operands[i].node < sum.node || is_leaf(r.node(norm.operands[i]).op));
    }
    if (!early) continue;
    std::vector<Value> operands = add.operands;
    append_vectors(norm, operands);
    const std::optional<Value> made =
        r.try_add(sum.node, Op::k_add_norm, std::move(operands), fused_attrs(norm));
    if (!made) continue;
    r.replace({id, 0}, {made->node, 0});
    r.replace(sum, {made->node, 1});
    ++count;
  }
  return count;
}

}  // namespace bessemer::passes
