// rope_append: the way of q, k and v from their projections into attention, as one node.
//
//   q' = rope(norm(q), pos); k_state' = scatter_rows(k_state, rope(norm(k), pos), seq, pos);
//   v_state' = scatter_rows(v_state, v, seq, pos); attention(q', k_state', v_state', ..)
//
// with or without the norms. Both rotations are the same (attributes, positions, factors), and k
// and v go to the rows of the same indices. It must not happen where the rotated k or a norm has
// another reader, where the old contents of a state are read by anything else (they would have to
// be kept), or where one of the inputs depends on one of the results.
#include <algorithm>

#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

struct Rotation {
  Attrs attrs;
  std::vector<Value> operands;  // x, positions, [factors]
};

std::optional<Rotation> rotation_of(const Rewriter& r, Value v) {
  const Node& node = r.node(v);
  if (node.op != Op::k_rope || r.now(v) != v) return std::nullopt;
  const Attrs attrs{{"base", node.attrs.get<double>("base", 10000.0)},
                    {"scale", node.attrs.get<double>("scale", 1.0)},
                    {"n_rot", node.attrs.get<int64_t>("n_rot")},
                    {"interleaved", node.attrs.get<bool>("interleaved")}};
  return Rotation{attrs, node.operands};
}

// scatter_rows(state, rows, seq, pos) into a state that nothing else reads.
const Node* append_of(const Rewriter& r, const Readers& readers, Value v) {
  const Node& node = r.node(v);
  if (node.op != Op::k_scatter_rows || r.now(v) != v || node.operands.size() != 4) return nullptr;
  return readers.once(node.operands[0]) ? &node : nullptr;
}

const Node* head_norm(const Rewriter& r, const Readers& readers, Value v) {
  const Node& node = r.node(v);
  if (node.op != Op::k_rms_norm || !node.attrs.get<bool>("has_weight")) return nullptr;
  return readers.once(v) ? &node : nullptr;
}

bool fuse(Rewriter& r, const Readers& readers, uint32_t id) {
  const std::vector<Value>& read = r.node(id).operands;
  const Value q_out = read[0];
  const Value k_out = read[1];
  const Value v_out = read[2];
  std::optional<Rotation> q = rotation_of(r, q_out);
  const Node* k_append = append_of(r, readers, k_out);
  const Node* v_append = append_of(r, readers, v_out);
  if (!q || k_append == nullptr || v_append == nullptr) return false;
  const Value k_rotated = k_append->operands[1];
  std::optional<Rotation> k = rotation_of(r, k_rotated);
  if (!k || !readers.once(k_rotated) || !(q->attrs == k->attrs)) return false;
  const Value pos = q->operands[1];
  const Value seq = k_append->operands[2];
  const bool same_rows = k_append->operands[3] == pos && v_append->operands[3] == pos &&
                         v_append->operands[2] == seq && k->operands[1] == pos;
  const bool has_factors = q->operands.size() == 3;
  if (!same_rows || k->operands.size() != q->operands.size() ||
      (has_factors && k->operands[2] != q->operands[2])) {
    return false;
  }

  Attrs attrs = q->attrs;
  std::vector<Value> operands = {
      q->operands[0],        k->operands[0],       v_append->operands[1], pos, seq,
      k_append->operands[0], v_append->operands[0]};
  const Node* q_norm = head_norm(r, readers, operands[0]);
  const Node* k_norm = head_norm(r, readers, operands[1]);
  if (q_norm != nullptr && k_norm != nullptr &&
      q_norm->attrs.get<double>("epsilon") == k_norm->attrs.get<double>("epsilon")) {
    attrs.set("has_qk_norm", true);
    attrs.set("epsilon", q_norm->attrs.get<double>("epsilon"));
    operands[0] = q_norm->operands[0];
    operands[1] = k_norm->operands[0];
    operands.push_back(q_norm->operands[1]);
    operands.push_back(k_norm->operands[1]);
  }
  if (has_factors) {
    attrs.set("has_factors", true);
    operands.push_back(q->operands[2]);
  }
  const uint32_t members[] = {q_out.node, k_out.node, v_out.node};
  if (r.depends(operands, members)) return false;
  const uint32_t last = std::max({q_out.node, k_out.node, v_out.node});
  const std::optional<Value> made =
      r.try_add(last, Op::k_rope_append, std::move(operands), std::move(attrs));
  if (!made) return false;
  r.replace(q_out, {made->node, 0});
  r.replace(k_out, {made->node, 1});
  r.replace(v_out, {made->node, 2});
  return true;
}

}  // namespace

Result<int64_t> rope_append(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (r.node(id).op == Op::k_attention && fuse(r, readers, id)) ++count;
  }
  return count;
}

}  // namespace bessemer::passes
