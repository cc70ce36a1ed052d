// shared_input: products of one input by several weights (Q, K and V; gate and up where they do not
// meet in a product) become one `linear` with up to four weights and as many results. The weights
// stay where they are.
//
// Members stand together in program order: no product of another input between the first and the
// last. Otherwise the results of, say, every layer's cross-attention keys would all be made at the
// first layer and stay in memory. What the members read besides the input is older than the first
// of them, so that none can depend on another.
#include <algorithm>

#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

constexpr size_t kMaxWeights = 4;

bool may_share(const Node& node) {
  return node.op == Op::k_linear && node.results.size() == 1 && !node.attrs.get<bool>("gated") &&
         !node.attrs.get<bool>("has_residual");
}

bool fits(const Rewriter& r, const std::vector<uint32_t>& group, uint32_t id) {
  const Node& first = r.node(group[0]);
  const Node& node = r.node(id);
  if (group.size() == kMaxWeights || !(first.attrs == node.attrs)) return false;
  // A norm's operands are shared, too.
  const LinearRoles roles = linear_roles(first.attrs);
  if (!std::equal(first.operands.begin(),
                  first.operands.begin() + static_cast<ptrdiff_t>(roles.weights),
                  node.operands.begin())) {
    return false;
  }
  return std::all_of(node.operands.begin() + static_cast<ptrdiff_t>(roles.weights),
                     node.operands.end(),
                     [&](Value v) { return v.node < group[0] || is_leaf(r.node(v).op); });
}

int64_t merge(Rewriter& r, const std::vector<uint32_t>& group) {
  if (group.size() < 2) return 0;
  Attrs attrs = r.node(group[0]).attrs;
  const LinearRoles roles = linear_roles(attrs);
  const std::vector<Value>& first = r.node(group[0]).operands;
  std::vector<Value> operands(first.begin(), first.begin() + static_cast<ptrdiff_t>(roles.weights));
  for (const uint32_t id : group) operands.push_back(r.node(id).operands[roles.weights]);
  if (roles.biases != 0) {
    for (const uint32_t id : group) operands.push_back(r.node(id).operands[roles.biases]);
  }
  attrs.set("n_weights", static_cast<int64_t>(group.size()));
  const std::optional<Value> made =
      r.try_add(group[0], Op::k_linear, std::move(operands), std::move(attrs));
  if (!made) return 0;
  for (uint32_t i = 0; i < group.size(); ++i) r.replace({group[i], 0}, {made->node, i});
  return static_cast<int64_t>(group.size()) - 1;
}

}  // namespace

Result<int64_t> shared_input(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  std::vector<std::vector<uint32_t>> groups;  // of the input that is current
  const auto close = [&] {
    for (const std::vector<uint32_t>& group : groups) count += merge(r, group);
    groups.clear();
  };
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (node.op != Op::k_linear) continue;
    if (!groups.empty() && r.node(groups[0][0]).operands[0] != node.operands[0]) {
      close();
    }
    const Node& same = r.node(id);  // closing may have added nodes
    if (!may_share(same)) continue;
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& members) { return fits(r, members, id); });
    if (group == groups.end()) {
      groups.push_back({id});
    } else {
      group->push_back(id);
    }
  }
  close();
  return count;
}

}  // namespace bessemer::passes
