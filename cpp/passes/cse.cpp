// cse: one node for all that compute the same: equal op, operands, attributes and constant data.
// Values are SSA and states are values like any other, so that equal nodes give equal results.
#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

size_t mix(size_t seed, size_t value) {
  return (seed ^ value) * size_t{0x9e3779b97f4a7c15} + (seed >> 29);
}

size_t hash_dim(size_t seed, const Dim& dim) {
  for (const Dim::Term& term : dim.terms()) {
    seed = mix(seed, static_cast<size_t>(term.coefficient));
    for (const ExtentId e : term.factors) seed = mix(seed, e + size_t{1});
  }
  return mix(seed, dim.terms().size());
}

size_t hash_attr(size_t seed, const AttrValue& value) {
  struct Hash {
    size_t seed;
    size_t operator()(bool v) const { return mix(seed, v ? 2 : 1); }
    size_t operator()(int64_t v) const { return mix(seed, static_cast<size_t>(v)); }
    size_t operator()(double v) const { return mix(seed, std::hash<double>()(v)); }
    size_t operator()(const std::string& v) const { return mix(seed, std::hash<std::string>()(v)); }
    size_t operator()(const std::vector<int64_t>& v) const {
      size_t h = mix(seed, v.size());
      for (const int64_t each : v) h = mix(h, static_cast<size_t>(each));
      return h;
    }
    size_t operator()(DType v) const { return mix(seed, static_cast<size_t>(v)); }
    size_t operator()(const Shape& v) const {
      size_t h = mix(seed, v.size());
      for (const Dim& d : v) h = hash_dim(h, d);
      return h;
    }
  };
  return std::visit(Hash{seed}, value);
}

// What decides equality, operands as they are now and in one order where the order does not matter.
std::vector<Value> operands_of(const Rewriter& r, const Node& node) {
  std::vector<Value> operands = node.operands;
  for (Value& v : operands) v = r.now(v);
  if (is_commutative(node.op) && ValueHash()(operands[1]) < ValueHash()(operands[0])) {
    std::swap(operands[0], operands[1]);
  }
  return operands;
}

size_t hash_node(const Node& node, const std::vector<Value>& operands) {
  size_t h = static_cast<size_t>(node.op);
  for (const Value& v : operands) h = mix(h, ValueHash()(v));
  for (const auto& [name, value] : node.attrs.all()) {
    h = hash_attr(mix(h, std::hash<std::string>()(name)), value);
  }
  if (node.data != nullptr) {
    const std::string_view bytes(reinterpret_cast<const char*>(node.data->data()),
                                 node.data->size());
    h = mix(h, std::hash<std::string_view>()(bytes));
  }
  return h;
}

// Attributes are equal by bits: of two NaNs and of 0.0 and -0.0 nothing is assumed.
bool same_attr(const AttrValue& a, const AttrValue& b) {
  if (!(a == b)) return false;
  const auto* x = std::get_if<double>(&a);
  return x == nullptr || *x != 0 || std::signbit(*x) == std::signbit(std::get<double>(b));
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  return std::equal(a.all().begin(), a.all().end(), b.all().begin(), b.all().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && same_attr(x.second, y.second);
                    });
}

}  // namespace

Result<int64_t> cse(Rewriter& r, const PassOptions&) {
  struct Known {
    uint32_t id;
    std::vector<Value> operands;
  };
  std::unordered_multimap<size_t, Known> known;
  known.reserve(r.old_size());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Node& node = r.node(id);
    if (is_leaf(node.op) && node.op != Op::k_constant) continue;
    std::vector<Value> operands = operands_of(r, node);
    const size_t h = hash_node(node, operands);
    const auto [begin, end] = known.equal_range(h);
    const auto match = std::find_if(begin, end, [&](const auto& entry) {
      const Node& other = r.node(entry.second.id);
      return other.op == node.op && entry.second.operands == operands &&
             other.results == node.results && same_attrs(other.attrs, node.attrs) &&
             (node.data == other.data ||
              (node.data != nullptr && other.data != nullptr && *node.data == *other.data));
    });
    if (match == end) {
      known.emplace(h, Known{id, std::move(operands)});
      continue;
    }
    for (uint32_t i = 0; i < node.results.size(); ++i) {
      r.replace({id, i}, {match->second.id, i});
    }
    ++count;
  }
  return count;
}

}  // namespace bessemer::passes
