// sink_reshape: elementwise(reshape(x)) becomes reshape(elementwise(x)), so that the elementwise op
// meets the product or the chain that made x. Scalars come along; every bit stays. Not where
// another reader needs the reshape anyway, or where x is a leaf and nothing is gained.
#include <algorithm>

#include "ops/region.h"
#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

// Whether something may fuse with the node that makes v.
bool fuses(const Rewriter& r, Value v) {
  const Op op = r.node(v).op;
  return ops::region_op(op) || op == Op::k_matmul || op == Op::k_linear;
}

}  // namespace

Result<int64_t> sink_reshape(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (!ops::region_op(r.node(id).op)) continue;
    // Every operand a scalar, or a reshape to this node's shape from one common shape.
    std::vector<Value> operands = r.node(id).operands;
    const Shape shape = r.node(id).results[0].shape;
    std::optional<Shape> inner;
    bool matches = true;
    bool worth_it = false;
    for (Value& v : operands) {
      if (num_elements(r.type(v).shape) == Dim(1) && r.type(v).shape.empty()) continue;
      const Value now = r.now(v);
      matches = r.node(now).op == Op::k_reshape && readers.once(v) && r.type(v).shape == shape;
      if (!matches) break;
      const Value from = r.now(r.node(now).operands[0]);
      if (inner && *inner != r.type(from).shape) matches = false;
      if (!matches) break;
      inner = r.type(from).shape;
      worth_it = worth_it || fuses(r, from);
      v = from;
    }
    if (!matches || !inner || !worth_it) continue;
    const Op op = r.node(id).op;
    Attrs attrs = r.node(id).attrs;
    BSM_ASSIGN(const Value sunk, r.add(id, op, std::move(operands), std::move(attrs)));
    BSM_ASSIGN(const Value view, r.add(id, Op::k_reshape, {sunk}, Attrs{{"shape", shape}}));
    r.replace({id, 0}, view);
    ++count;
  }
  return count;
}

}  // namespace bessemer::passes
