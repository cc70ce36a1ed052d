// precision: products with block-quantised weights take int8 activations where the options ask for
// them and the target gains by them; everything else is exact.
#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {

Result<int64_t> precision(Rewriter& r, const PassOptions& options) {
  const bool allowed = options.precision == "default" && options.int8_activations;
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (node.op != Op::k_linear) continue;
    const LinearRoles roles = linear_roles(node.attrs);
    bool quantised = false;
    for (size_t i = 0; i < roles.n_weights; ++i) {
      quantised = quantised || is_quantised(r.type(node.operands[roles.weights + i]).dtype);
    }
    const bool int8 = allowed && quantised;
    if (node.attrs.get<bool>("int8") == int8) continue;
    r.set_attr(id, "int8", int8);
    ++count;
  }
  return count;
}

}  // namespace bessemer::passes
