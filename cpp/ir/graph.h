// The graph: typed SSA nodes in topological order. A Graph is a plain value; it is not thread-safe
// while it is changed. Types are computed by ops::add_node (cpp/ops), which is how nodes are made;
// passes make a new graph from an old one.
//
// States: the leaf `state` is a state's value when the run starts. `updates` says which value it
// has when the run ends. In between it is an ordinary value, so that data flow alone says who sees
// which version; lowering makes the updates happen in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/dim.h"
#include "base/dtype.h"
#include "ir/attributes.h"
#include "ir/op.h"

namespace bessemer {

struct Type {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const Type&) const = default;
};

// One result of one node.
struct Value {
  uint32_t node = 0;
  uint32_t result = 0;
  bool operator==(const Value&) const = default;
};
struct ValueHash {
  size_t operator()(const Value& v) const { return (static_cast<size_t>(v.node) << 4) ^ v.result; }
};

using ConstantData = std::shared_ptr<const std::vector<std::byte>>;

struct Node {
  Op op = Op::k_input;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<Type> results;
  std::string name;   // of an input, param or state; unique by kind
  std::string where;  // the user's line, "model.py:12"; may be empty
  ConstantData data;  // of a constant: little-endian elements, row-major
};

struct NamedValue {
  std::string name;
  Value value;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  // Declares an extent, or finds one of the same name and bound.
  // kName: the name is not an identifier, or is known with another bound.
  [[nodiscard]] Result<ExtentId> add_extent(const std::string& name, int64_t max);
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  [[nodiscard]] ExtentValues extent_maxima() const;

  // Appends a node whose types are known. Operands must be older values. Leaves: name is unique
  // among leaves of that op (kName).
  [[nodiscard]] Result<Value> append(Node node);

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Node& node(Value v) const { return nodes_[v.node]; }
  [[nodiscard]] const Type& type(Value v) const { return nodes_[v.node].results[v.result]; }
  // The leaf of that kind and name, if any.
  [[nodiscard]] const Value* find_leaf(Op kind, const std::string& name) const;

  // kName: a second output of that name. kInvalidArgument: no such value.
  [[nodiscard]] Status add_output(const std::string& name, Value value);
  // The state's value at the end of the run. kName: no such state; kShape/kDtype: another type;
  // kState: updated already.
  [[nodiscard]] Status update_state(const std::string& name, Value value);
  [[nodiscard]] const std::vector<NamedValue>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<NamedValue>& updates() const { return updates_; }

  // Number of readers of each value: operands, outputs and updates. Index by [node][result].
  [[nodiscard]] std::vector<std::vector<int>> use_counts() const;

  // Gives the nodes away, to be made into another graph; this one is to be dropped.
  [[nodiscard]] std::vector<Node> take_nodes() && { return std::move(nodes_); }

  // Annotates an existing node; passes that only choose attributes (precision) use it. The types of
  // the results must not depend on the attribute.
  void set_attr(uint32_t node, std::string_view name, AttrValue value) {
    nodes_[node].attrs.set(name, std::move(value));
  }

 private:
  std::string name_;
  std::vector<Extent> extents_;
  std::vector<Node> nodes_;
  std::vector<NamedValue> outputs_;
  std::vector<NamedValue> updates_;
  std::unordered_map<std::string, Value> leaves_;  // "input x" -> value
};

// Text form. print(parse(print(g))) == print(g), and the parsed graph is identical.
[[nodiscard]] std::string to_string(const Graph& graph);
[[nodiscard]] std::string to_string(const Type& type, std::span<const Extent> extents);
// "matmul(f32[tokens, 64], q4_1[128, 64])": how errors name an op.
[[nodiscard]] std::string describe(const Graph& graph, Op op, std::span<const Value> operands);

// Structure only (types are as written): unknown op, dtype, extent, value, duplicate names and
// malformed text are kParse errors with the line. ops::verify checks the types.
[[nodiscard]] Result<Graph> parse_graph(std::string_view text);

// Structural identity: same extents, nodes, attributes, data, outputs and updates.
[[nodiscard]] bool identical(const Graph& a, const Graph& b);

// Operands older than their users, arity within the table, leaves named, data of the right size,
// updates and outputs exist. kInternal on a fault. Independent of the builders.
[[nodiscard]] Status verify_structure(const Graph& graph);

// A topological order of the text is what the graph has; helpers for names.
[[nodiscard]] bool is_identifier(std::string_view text);

}  // namespace bessemer
