#include "passes/graph_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstring>

#include "ops/op_impl.h"

namespace bessemer::testing {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

bool starts(const std::string& line, std::string_view with) { return line.rfind(with, 0) == 0; }

// The shortest number that reads back as this f32.
std::string number_of(float value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string hex_of(float value) {
  unsigned char bytes[4];
  std::memcpy(bytes, &value, 4);
  std::string text = "0x";
  for (const unsigned char b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

// A line that parse_graph takes: numbers of constants as data, any types for ops.
std::string typed(const std::string& line) {
  const std::string scalar = " = constant ";
  const size_t at = line.find(scalar);
  if (at != std::string::npos && line.find("0x") == std::string::npos) {
    const std::string number = line.substr(at + scalar.size());
    return line.substr(0, at + scalar.size()) + hex_of(std::stof(number)) + " : f32[]";
  }
  if (line[0] != '%' || line.find(" : ") != std::string::npos) return line;
  return line + " : f32[], f32[], f32[], f32[]";
}

Value value_of(const std::string& line) {
  const std::string text = line.substr(line.rfind('%') + 1);
  Value v{static_cast<uint32_t>(std::stoul(text)), 0};
  if (const size_t dot = text.find('.'); dot != std::string::npos) {
    v.result = static_cast<uint32_t>(std::stoul(text.substr(dot + 1)));
  }
  return v;
}

std::string name_of(const std::string& line) {
  const size_t begin = line.find('"') + 1;
  return line.substr(begin, line.find('"', begin) - begin);
}

template <class T>
bool worked(const Result<T>& result) {
  if (!result.ok()) ADD_FAILURE() << result.error().to_string();
  return result.ok();
}

}  // namespace

std::string plain(std::string_view text) {
  std::string out;
  for (const std::string& line : lines_of(text)) out += line + "\n";
  return out;
}

Graph graph_of(std::string_view text) {
  std::string nodes = "graph \"test\" {\n";
  std::vector<std::string> ends;
  for (const std::string& line : lines_of(text)) {
    if (starts(line, "output") || starts(line, "update")) {
      ends.push_back(line);
    } else {
      nodes += typed(line) + "\n";
    }
  }
  const Result<Graph> parsed = parse_graph(nodes + "}\n");
  if (!worked(parsed)) return Graph();
  Graph graph("test");
  for (const Extent& e : parsed->extents()) {
    if (!worked(graph.add_extent(e.name, e.max))) return Graph();
  }
  for (const Node& node : parsed->nodes()) {
    if (node.op == Op::k_constant) {
      if (!worked(ops::add_constant(graph, node.results[0], *node.data))) return Graph();
    } else if (is_leaf(node.op)) {
      if (!worked(ops::add_leaf(graph, node.op, node.name, node.results[0]))) return Graph();
    } else if (!worked(ops::add_node(graph, node.op, node.operands, node.attrs, node.where))) {
      return Graph();
    }
  }
  for (const std::string& line : ends) {
    const Status added = starts(line, "output") ? graph.add_output(name_of(line), value_of(line))
                                                : graph.update_state(name_of(line), value_of(line));
    if (!worked(added)) return Graph();
  }
  return graph;
}

std::string text_of(const Graph& graph) {
  std::string out;
  size_t id = 0;
  for (std::string line : lines_of(to_string(graph))) {
    if (starts(line, "graph") || line == "}") continue;
    if (line[0] == '%') {
      const Node& node = graph.nodes()[id++];
      const size_t types = line.rfind(" : ");
      if (!is_leaf(node.op)) line = line.substr(0, types);
      if (node.op == Op::k_constant && node.results[0] == Type{DType::kF32, {}}) {
        float value = 0;
        std::memcpy(&value, node.data->data(), 4);
        line = line.substr(0, line.find("0x")) + number_of(value);
      }
    }
    out += line + "\n";
  }
  return out;
}

Graph run_only(std::initializer_list<const char*> names, const Graph& graph, int64_t* rewrites,
               passes::PassOptions options) {
  for (const std::string& name : passes::pass_names()) options.disabled.insert(name);
  for (const char* name : names) {
    EXPECT_EQ(options.disabled.erase(name), 1u) << name;
  }
  std::vector<passes::PassReport> reports;
  Result<Graph> result = passes::run_passes(graph, options, &reports);
  if (!worked(result)) return Graph();
  if (rewrites != nullptr) {
    *rewrites = 0;
    for (const passes::PassReport& report : reports) *rewrites += report.rewrites;
  }
  const Status verified = ops::verify(*result);
  if (!worked(verified)) return Graph();
  return std::move(*result);
}

void expect_unchanged(std::initializer_list<const char*> names, std::string_view text,
                      const passes::PassOptions& options) {
  int64_t rewrites = -1;
  const Graph result = run_only(names, graph_of(text), &rewrites, options);
  EXPECT_EQ(text_of(result), plain(text));
  EXPECT_EQ(rewrites, 0);
}

std::string after(std::initializer_list<const char*> names, std::string_view text,
                  passes::PassOptions options) {
  return text_of(run_only(names, graph_of(text), nullptr, std::move(options)));
}

}  // namespace bessemer::testing
