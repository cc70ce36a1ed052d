#include "ir/graph.h"

#include <algorithm>
#include <cctype>

namespace bessemer {
namespace {

std::string leaf_key(Op kind, const std::string& name) {
  return std::string(to_string(kind)) + " " + name;
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

Result<ExtentId> Graph::add_extent(const std::string& name, int64_t max) {
  if (!is_identifier(name)) {
    return Error{ErrorKind::kName, "extent name `" + name + "` is not an identifier", {}};
  }
  for (size_t i = 0; i < extents_.size(); ++i) {
    if (extents_[i].name != name) continue;
    if (extents_[i].max == max) return static_cast<ExtentId>(i);
    return Error{ErrorKind::kName,
                 "extent `" + name + "` has bound " + std::to_string(extents_[i].max) +
                     ", and was declared again with " + std::to_string(max),
                 {}};
  }
  if (max < 1) {
    return Error{ErrorKind::kInvalidArgument,
                 "extent `" + name + "` needs a bound of at least 1, got " + std::to_string(max),
                 {}};
  }
  if (extents_.size() >= 1000) {
    return Error{ErrorKind::kUnsupported, "more than 1000 extents", {}};
  }
  extents_.push_back({name, max});
  return static_cast<ExtentId>(extents_.size() - 1);
}

ExtentValues Graph::extent_maxima() const {
  ExtentValues values;
  for (const Extent& e : extents_) values.push_back(e.max);
  return values;
}

Result<Value> Graph::append(Node node) {
  const auto id = static_cast<uint32_t>(nodes_.size());
  for (const Value& v : node.operands) {
    if (v.node >= id || v.result >= nodes_[v.node].results.size()) {
      return Error{ErrorKind::kInvalidArgument,
                   "op `" + std::string(to_string(node.op)) + "` refers to value %" +
                       std::to_string(v.node) + "." + std::to_string(v.result) +
                       ", which this graph does not have",
                   {}};
    }
  }
  if (is_leaf(node.op) && node.op != Op::k_constant) {
    if (node.name.empty()) {
      return Error{ErrorKind::kName, std::string(to_string(node.op)) + " without a name", {}};
    }
    if (!leaves_.emplace(leaf_key(node.op, node.name), Value{id, 0}).second) {
      return Error{ErrorKind::kName,
                   "second " + std::string(to_string(node.op)) + " named `" + node.name + "`",
                   {}};
    }
  }
  nodes_.push_back(std::move(node));
  return Value{id, 0};
}

const Value* Graph::find_leaf(Op kind, const std::string& name) const {
  const auto it = leaves_.find(leaf_key(kind, name));
  return it == leaves_.end() ? nullptr : &it->second;
}

Status Graph::add_output(const std::string& name, Value value) {
  if (value.node >= nodes_.size() || value.result >= nodes_[value.node].results.size()) {
    return Error{
        ErrorKind::kInvalidArgument, "output `" + name + "` is not a value of this graph", {}};
  }
  if (name.empty()) return Error{ErrorKind::kName, "output without a name", {}};
  for (const NamedValue& o : outputs_) {
    if (o.name == name) return Error{ErrorKind::kName, "second output named `" + name + "`", {}};
  }
  outputs_.push_back({name, value});
  return {};
}

Status Graph::update_state(const std::string& name, Value value) {
  const Value* state = find_leaf(Op::k_state, name);
  if (state == nullptr) return Error{ErrorKind::kName, "no state named `" + name + "`", {}};
  if (value.node >= nodes_.size() || value.result >= nodes_[value.node].results.size()) {
    return Error{ErrorKind::kInvalidArgument,
                 "update of state `" + name + "` is not a value of this graph",
                 {}};
  }
  const Type& want = type(*state);
  const Type& got = type(value);
  if (!(want == got)) {
    return Error{want.dtype != got.dtype ? ErrorKind::kDtype : ErrorKind::kShape,
                 "state `" + name + "` is " + bessemer::to_string(want, extents_) +
                     ", its update is " + bessemer::to_string(got, extents_),
                 {}};
  }
  for (const NamedValue& u : updates_) {
    if (u.name == name) {
      return Error{ErrorKind::kState, "state `" + name + "` is updated twice", {}};
    }
  }
  updates_.push_back({name, value});
  return {};
}

std::vector<std::vector<int>> Graph::use_counts() const {
  std::vector<std::vector<int>> counts(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    counts[i].assign(nodes_[i].results.size(), 0);
    for (const Value& v : nodes_[i].operands) ++counts[v.node][v.result];
  }
  for (const NamedValue& o : outputs_) ++counts[o.value.node][o.value.result];
  for (const NamedValue& u : updates_) ++counts[u.value.node][u.value.result];
  return counts;
}

bool identical(const Graph& a, const Graph& b) {
  if (a.name() != b.name() || a.extents() != b.extents() || a.nodes().size() != b.nodes().size()) {
    return false;
  }
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node& x = a.nodes()[i];
    const Node& y = b.nodes()[i];
    if (x.op != y.op || x.operands != y.operands || !(x.attrs == y.attrs) ||
        x.results != y.results || x.name != y.name || x.where != y.where) {
      return false;
    }
    if ((x.data == nullptr) != (y.data == nullptr)) return false;
    if (x.data != nullptr && *x.data != *y.data) return false;
  }
  const auto same = [](const std::vector<NamedValue>& p, const std::vector<NamedValue>& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(),
                      [](const NamedValue& m, const NamedValue& n) {
                        return m.name == n.name && m.value == n.value;
                      });
  };
  return same(a.outputs(), b.outputs()) && same(a.updates(), b.updates());
}

}  // namespace bessemer
