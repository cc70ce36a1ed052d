// constant_fold: what depends on constants alone is computed now.
//
// A result is kept only if it is small (kAlwaysBytes) or no larger than what it was made of. expand
// and iota are looked through but stay themselves: they are smaller, and say more to other passes.
#include <algorithm>

#include "ops/reference.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

constexpr int64_t kAlwaysBytes = 64 * 1024;
constexpr int64_t kMostBytes = 4 * 1024 * 1024;

int64_t bytes_of_type(const Type& type) {
  return bytes_of(type.dtype, num_elements(type.shape).constant());
}

using Bytes = std::vector<std::byte>;

// Bytes known now: a constant's own, or made for an expand of one or an iota.
struct Data {
  ConstantData constant;
  Bytes made;

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return constant == nullptr ? std::span<const std::byte>(made) : std::span(*constant);
  }
};

// Whether node, itself not folded, stands for bytes.
bool is_compact(const Rewriter& r, const Node& node) {
  if (node.op == Op::k_iota) return true;
  return node.op == Op::k_expand && r.node(r.now(node.operands[0])).op == Op::k_constant;
}

Result<std::optional<Data>> data_of(const Rewriter& r, Value v) {
  std::optional<Data> found;
  const Node& node = r.node(r.now(v));
  if (node.op == Op::k_constant) {
    found = Data{node.data, {}};
  } else if (is_compact(r, node) && ops::can_evaluate(r.graph(), node) &&
             bytes_of_type(node.results[0]) <= kMostBytes) {
    std::vector<std::span<const std::byte>> operands;
    for (const Value& o : node.operands) operands.emplace_back(*r.node(r.now(o)).data);
    BSM_ASSIGN(Bytes made, ops::evaluate(r.graph(), node, operands));
    found = Data{nullptr, std::move(made)};
  }
  return found;
}

Result<bool> fold(Rewriter& r, uint32_t id) {
  const Node& node = r.node(id);
  if (!ops::can_evaluate(r.graph(), node)) return false;
  const int64_t size = bytes_of_type(node.results[0]);
  if (size > kMostBytes) return false;
  std::vector<Data> data;
  int64_t read = 0;
  for (const Value& v : node.operands) {
    BSM_ASSIGN(std::optional<Data> found, data_of(r, v));
    if (!found) return false;
    read += static_cast<int64_t>(found->bytes().size());
    data.push_back(std::move(*found));
  }
  if (size > std::max(read, kAlwaysBytes)) return false;
  std::vector<std::span<const std::byte>> operands;
  for (const Data& d : data) operands.push_back(d.bytes());
  BSM_ASSIGN(Bytes bytes, ops::evaluate(r.graph(), node, operands));
  const Type type = node.results[0];
  BSM_ASSIGN(const Value made, r.add_constant(id, type, std::move(bytes)));
  r.replace({id, 0}, made);
  return true;
}

}  // namespace

Result<int64_t> constant_fold(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (is_leaf(node.op) || is_compact(r, node) || node.results.size() != 1) continue;
    // Most nodes read something that is no constant: tell them first.
    const bool constant = std::all_of(node.operands.begin(), node.operands.end(), [&](Value v) {
      const Node& operand = r.node(r.now(v));
      return operand.op == Op::k_constant || is_compact(r, operand);
    });
    if (!constant) continue;
    BSM_ASSIGN(const bool folded, fold(r, id));
    count += folded ? 1 : 0;
  }
  return count;
}

}  // namespace bessemer::passes
