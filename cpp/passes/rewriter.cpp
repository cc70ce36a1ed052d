#include "passes/rewriter.h"

#include <algorithm>

#include "ops/op_impl.h"

namespace bessemer::passes {
namespace {

bool is_interface(Op op) { return op == Op::k_input || op == Op::k_param || op == Op::k_state; }

}  // namespace

Rewriter::Rewriter(Graph graph)
    : graph_(std::move(graph)), old_size_(static_cast<uint32_t>(graph_.nodes().size())) {
  track_new_nodes(0);
}

void Rewriter::track_new_nodes(uint32_t at) {
  for (auto id = static_cast<uint32_t>(offset_.size()); id < graph_.nodes().size(); ++id) {
    offset_.push_back(static_cast<uint32_t>(replaced_by_.size()));
    for (uint32_t r = 0; r < graph_.nodes()[id].results.size(); ++r) {
      replaced_by_.push_back({id, r});
    }
    if (id < old_size_) continue;
    place_.push_back(at);
    for (const Value& v : graph_.nodes()[id].operands) {
      if (place(v.node) > at) disorder_.push_back({at, place(v.node)});
    }
  }
}

Value Rewriter::now(Value v) const {
  while (true) {
    const Value next = replaced_by_[index(v)];
    if (next == v) return v;
    v = next;
  }
}

Result<Value> Rewriter::add(uint32_t at, Op op, std::vector<Value> operands, Attrs attrs) {
  for (Value& v : operands) v = now(v);
  BSM_ASSIGN(const Value added, ops::add_node(graph_, op, std::move(operands), std::move(attrs),
                                              graph_.nodes()[at].where));
  track_new_nodes(at);
  return added;
}

std::optional<Value> Rewriter::try_add(uint32_t at, Op op, std::vector<Value> operands,
                                       Attrs attrs) {
  auto added = add(at, op, std::move(operands), std::move(attrs));
  if (!added) return std::nullopt;
  return *added;
}

Result<Value> Rewriter::add_constant(uint32_t at, Type type, std::vector<std::byte> data) {
  BSM_ASSIGN(const Value added,
             ops::add_constant(graph_, std::move(type), std::move(data), graph_.nodes()[at].where));
  track_new_nodes(at);
  return added;
}

void Rewriter::replace(Value old, Value with) {
  old = now(old);
  with = now(with);
  if (old == with) return;
  if (fault_.ok() && !(graph_.type(old) == graph_.type(with))) {
    fault_ = Error{ErrorKind::kInternal,
                   "`" + std::string(to_string(graph_.node(old).op)) + "` of type " +
                       to_string(graph_.type(old), graph_.extents()) + " was replaced by `" +
                       std::string(to_string(graph_.node(with).op)) + "` of type " +
                       to_string(graph_.type(with), graph_.extents()),
                   {}};
  }
  if (place(with.node) > place(old.node)) {
    disorder_.push_back({place(old.node), place(with.node)});
  }
  replaced_by_[index(old)] = with;
  changed_ = true;
}

bool Rewriter::depends(std::span<const Value> values, std::span<const uint32_t> on,
                       int budget) const {
  seen_.resize(graph_.nodes().size(), 0);
  ++search_;
  std::vector<uint32_t> pending;
  const auto visit = [&](Value v) {
    const Value value = now(v);
    if (seen_[value.node] == search_) return;
    seen_[value.node] = search_;
    pending.push_back(value.node);
  };
  for (const Value& v : values) visit(v);
  // What is placed before the first of `on` reads only what is placed before it, except across a
  // disorder.
  uint32_t floor = place(on[0]);
  for (const uint32_t id : on) floor = std::min(floor, place(id));
  for (bool lowered = true; lowered;) {
    lowered = false;
    for (const auto& [from, to] : disorder_) {
      if (from >= floor || floor > to) continue;
      floor = from;
      lowered = true;
    }
  }
  while (!pending.empty()) {
    const uint32_t id = pending.back();
    pending.pop_back();
    if (std::find(on.begin(), on.end(), id) != on.end()) return true;
    if (place(id) < floor) continue;
    if (--budget < 0) return true;
    for (const Value& v : graph_.nodes()[id].operands) visit(v);
  }
  return false;
}

std::vector<bool> Rewriter::find_live() const {
  std::vector<bool> live(graph_.nodes().size(), false);
  std::vector<uint32_t> pending;
  const auto need = [&](Value v) {
    const uint32_t id = now(v).node;
    if (live[id]) return;
    live[id] = true;
    pending.push_back(id);
  };
  for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
    if (is_interface(graph_.nodes()[id].op)) live[id] = true;
  }
  for (const NamedValue& o : graph_.outputs()) need(o.value);
  for (const NamedValue& u : graph_.updates()) need(u.value);
  while (!pending.empty()) {
    const uint32_t id = pending.back();
    pending.pop_back();
    for (const Value& v : graph_.nodes()[id].operands) need(v);
  }
  return live;
}

int64_t Rewriter::count_dead() const {
  const std::vector<bool> live = find_live();
  return std::count(live.begin(), live.end(), false);
}

// Old order, new nodes before the node whose place they take; a node that is needed earlier (a
// merge that gives several results) comes as early as its first reader wants it.
Result<std::vector<uint32_t>> Rewriter::find_order(const std::vector<bool>& live) const {
  const auto size = static_cast<uint32_t>(graph_.nodes().size());
  std::vector<uint32_t> wish;
  wish.reserve(size);
  for (uint32_t id = 0; id < size; ++id) {
    if (live[id] && is_leaf(graph_.nodes()[id].op)) wish.push_back(id);
  }
  std::vector<uint32_t> added;
  for (uint32_t id = old_size_; id < size; ++id) {
    if (live[id] && !is_leaf(graph_.nodes()[id].op)) added.push_back(id);
  }
  std::stable_sort(added.begin(), added.end(), [&](uint32_t a, uint32_t b) {
    return place_[a - old_size_] < place_[b - old_size_];
  });
  size_t next_added = 0;
  for (uint32_t id = 0; id < old_size_; ++id) {
    while (next_added < added.size() && place_[added[next_added] - old_size_] <= id) {
      wish.push_back(added[next_added++]);
    }
    if (live[id] && !is_leaf(graph_.nodes()[id].op)) wish.push_back(id);
  }
  std::vector<uint32_t> order;
  order.reserve(wish.size());
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(size, kNew);
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (const uint32_t root : wish) {
    if (state[root] != kNew) continue;
    state[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [id, operand] = stack.back();
      const std::vector<Value>& operands = graph_.nodes()[id].operands;
      if (operand == operands.size()) {
        state[id] = kDone;
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const uint32_t from = now(operands[operand++]).node;
      if (state[from] == kOpen) {
        return Error{ErrorKind::kInternal,
                     "a rewrite made `" + std::string(to_string(graph_.nodes()[from].op)) +
                         "` depend on itself",
                     {}};
      }
      if (state[from] == kNew) {
        state[from] = kOpen;
        stack.push_back({from, 0});
      }
    }
  }
  return order;
}

Result<Graph> Rewriter::finish() && {
  BSM_TRY(fault_);
  if (!changed_) return std::move(graph_);
  const std::vector<bool> live = find_live();
  BSM_ASSIGN(const std::vector<uint32_t> order, find_order(live));
  std::vector<NamedValue> outputs = graph_.outputs();
  for (NamedValue& o : outputs) o.value = now(o.value);
  std::vector<NamedValue> updates = graph_.updates();
  for (NamedValue& u : updates) u.value = now(u.value);
  Graph out(graph_.name());
  for (const Extent& e : graph_.extents()) BSM_TRY(out.add_extent(e.name, e.max));
  std::vector<Node> nodes = std::move(graph_).take_nodes();
  std::vector<uint32_t> id_of(nodes.size(), 0);
  for (const uint32_t id : order) {
    Node& node = nodes[id];
    for (Value& v : node.operands) {
      v = now(v);
      v.node = id_of[v.node];
    }
    BSM_ASSIGN(const Value value, out.append(std::move(node)));
    id_of[id] = value.node;
  }
  for (const NamedValue& o : outputs) {
    BSM_TRY(out.add_output(o.name, {id_of[o.value.node], o.value.result}));
  }
  for (const NamedValue& u : updates) {
    BSM_TRY(out.update_state(u.name, {id_of[u.value.node], u.value.result}));
  }
  return out;
}

}  // namespace bessemer::passes
