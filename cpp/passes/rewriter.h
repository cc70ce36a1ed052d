// How a pass makes a new graph from an old one: it adds nodes, says which old values they stand
// for, and `finish` puts what is still needed in order.
//
// The graph is moved in. New nodes stand after the old ones in `graph()` and may read any value,
// old or new; old nodes keep their operands as written, so that patterns match the graph as it
// came. `now` follows replacements. Not thread-safe. References into graph() end at the next `add`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace bessemer::passes {

class Rewriter {
 public:
  explicit Rewriter(Graph graph);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  // Nodes of the graph as it came; later ids are new.
  [[nodiscard]] uint32_t old_size() const { return old_size_; }
  [[nodiscard]] const Node& node(uint32_t id) const { return graph_.nodes()[id]; }
  [[nodiscard]] const Node& node(Value v) const { return graph_.node(v); }
  [[nodiscard]] const Type& type(Value v) const { return graph_.type(v); }

  // What stands for a value: itself unless it was replaced.
  [[nodiscard]] Value now(Value v) const;

  // A new node, which takes the place in the order and the `where` of old node `at`. Types are
  // inferred at once; operands are taken through `now`.
  [[nodiscard]] Result<Value> add(uint32_t at, Op op, std::vector<Value> operands,
                                  Attrs attrs = {});
  // The same for a fused op, whose own rules say what it takes: nothing if they refuse.
  [[nodiscard]] std::optional<Value> try_add(uint32_t at, Op op, std::vector<Value> operands,
                                             Attrs attrs = {});
  [[nodiscard]] Result<Value> add_constant(uint32_t at, Type type, std::vector<std::byte> data);

  // Readers of `old`, outputs and updates among them, read `with` instead. `with` must have the
  // same type and must not depend on a reader of `old`: finish reports the one and the other.
  void replace(Value old, Value with);
  void set_attr(uint32_t node, std::string_view name, AttrValue value) {
    graph_.set_attr(node, name, std::move(value));
  }
  // Makes `finish` leave out what nothing needs even if nothing was replaced.
  void sweep() { changed_ = true; }

  // Whether any of `values` is computed, in the graph as it stands now, from a result of one of the
  // nodes `on`. Gives up and says true after looking at `budget` nodes.
  [[nodiscard]] bool depends(std::span<const Value> values, std::span<const uint32_t> on,
                             int budget = 256) const;

  // Nodes that no output, update or leaf needs, inputs, params and states not counted.
  [[nodiscard]] int64_t count_dead() const;

  // The new graph: leaves first, then old nodes in their order with new ones in their places.
  // Inputs, params and states stay, used or not. kInternal: a replacement made a cycle or changed a
  // type.
  [[nodiscard]] Result<Graph> finish() &&;

 private:
  [[nodiscard]] size_t index(Value v) const { return offset_[v.node] + v.result; }
  void track_new_nodes(uint32_t at);
  // A node's place in the order: its id if it is old.
  [[nodiscard]] uint32_t place(uint32_t id) const {
    return id < old_size_ ? id : place_[id - old_size_];
  }
  [[nodiscard]] std::vector<bool> find_live() const;
  [[nodiscard]] Result<std::vector<uint32_t>> find_order(const std::vector<bool>& live) const;

  Graph graph_;
  uint32_t old_size_;
  bool changed_ = false;
  Status fault_;
  std::vector<uint32_t> offset_;    // by node: of its first result among all values
  std::vector<Value> replaced_by_;  // by value; itself if it stands
  std::vector<uint32_t> place_;     // of new nodes: the old node whose place they take
  // Where a reader stands before what it reads, both places: first < a reader <= second.
  std::vector<std::pair<uint32_t, uint32_t>> disorder_;
  mutable std::vector<uint32_t> seen_;  // by node: the last search that met it
  mutable uint32_t search_ = 0;
};

}  // namespace bessemer::passes
