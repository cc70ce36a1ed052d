#include "ir/graph.h"

namespace bessemer {
namespace {

std::string quoted(const std::string& text) { return to_string(AttrValue(text), {}); }

std::string value_name(Value v) {
  std::string text = "%" + std::to_string(v.node);
  if (v.result != 0) text += "." + std::to_string(v.result);
  return text;
}

std::string hex(const std::vector<std::byte>& data) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * data.size());
  for (std::byte b : data) {
    text += kDigits[static_cast<unsigned>(b) >> 4];
    text += kDigits[static_cast<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace

std::string to_string(const Type& type, std::span<const Extent> extents) {
  return std::string(to_string(type.dtype)) + to_string(type.shape, extents);
}

std::string describe(const Graph& graph, Op op, std::span<const Value> operands) {
  std::string text(to_string(op));
  text += "(";
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(graph.type(operands[i]), graph.extents());
  }
  return text + ")";
}

std::string to_string(const Graph& graph) {
  std::string text = "graph " + quoted(graph.name()) + " {\n";
  for (const Extent& e : graph.extents()) {
    text += "  extent " + e.name + " <= " + std::to_string(e.max) + "\n";
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    text += "  %" + std::to_string(i) + " = ";
    text += to_string(node.op);
    if (!node.name.empty()) text += " " + quoted(node.name);
    if (node.data != nullptr) text += " " + hex(*node.data);
    if (!is_leaf(node.op)) {
      text += "(";
      for (size_t j = 0; j < node.operands.size(); ++j) {
        if (j > 0) text += ", ";
        text += value_name(node.operands[j]);
      }
      text += ")";
    }
    if (!node.attrs.all().empty()) {
      text += " {";
      bool first = true;
      for (const auto& [name, value] : node.attrs.all()) {
        if (!first) text += ", ";
        first = false;
        text += name + " = " + to_string(value, graph.extents());
      }
      text += "}";
    }
    text += " : ";
    for (size_t j = 0; j < node.results.size(); ++j) {
      if (j > 0) text += ", ";
      text += to_string(node.results[j], graph.extents());
    }
    if (!node.where.empty()) text += " @ " + quoted(node.where);
    text += "\n";
  }
  for (const NamedValue& o : graph.outputs()) {
    text += "  output " + quoted(o.name) + " = " + value_name(o.value) + "\n";
  }
  for (const NamedValue& u : graph.updates()) {
    text += "  update " + quoted(u.name) + " = " + value_name(u.value) + "\n";
  }
  return text + "}\n";
}

}  // namespace bessemer
