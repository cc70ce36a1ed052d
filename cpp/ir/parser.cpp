// A hand-written recursive-descent parser of the graph's text form. Grammar (a line a statement):
//   graph "name" {
//     extent tokens <= 512
//     %0 = input "x" : f32[tokens, 784]
//     %1 = matmul(%0, %0) {transpose_b = true} : f32[tokens, tokens] @ "mlp.py:7"
//     output "y" = %1
//     update "k" = %2.1
//   }
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "ir/graph.h"

namespace bessemer {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Graph> parse() {
    BSM_TRY(expect("graph"));
    BSM_ASSIGN(std::string name, string());
    Graph graph(std::move(name));
    BSM_TRY(expect("{"));
    while (true) {
      skip();
      statement_ = at_;
      if (eat("}")) break;
      if (eat_word("extent")) {
        BSM_ASSIGN(std::string extent, word());
        BSM_TRY(expect("<="));
        BSM_ASSIGN(int64_t max, integer());
        if (auto r = graph.add_extent(extent, max); !r) return at_line(std::move(r).error());
      } else if (eat_word("output")) {
        BSM_ASSIGN(NamedValue nv, named_value());
        if (auto r = graph.add_output(nv.name, nv.value); !r) return at_line(std::move(r).error());
      } else if (eat_word("update")) {
        BSM_ASSIGN(NamedValue nv, named_value());
        if (auto r = graph.update_state(nv.name, nv.value); !r) {
          return at_line(std::move(r).error());
        }
      } else if (eat("%")) {
        BSM_TRY(node(&graph));
      } else {
        return fail("expected `extent`, `%`, `output`, `update` or `}`");
      }
    }
    skip();
    if (at_ != text_.size()) return fail("text after the graph");
    return graph;
  }

 private:
  // What does not parse, where it stands; what does not fit, at its statement (the parser has
  // looked ahead by then).
  Error fail(std::string message) const { return fail_at(at_, std::move(message)); }
  Error at_line(Error error) const { return fail_at(statement_, std::move(error.message)); }
  Error fail_at(size_t place, std::string message) const {
    size_t line = 1;
    for (size_t i = 0; i < place && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    return Error{ErrorKind::kParse, "line " + std::to_string(line) + ": " + std::move(message), {}};
  }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
  }
  bool eat(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  bool eat_word(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    if (at_ + token.size() < text_.size() && word_char(text_[at_ + token.size()])) return false;
    at_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    if (!eat(token)) return fail("expected `" + std::string(token) + "`");
    return {};
  }
  Result<std::string> word() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    if (start == at_) return fail("expected a name");
    return std::string(text_.substr(start, at_ - start));
  }
  Result<std::string> string() {
    BSM_TRY(expect("\""));
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\n') return fail("line break inside a string");
      if (c == '\\') {
        if (at_ >= text_.size()) break;
        c = text_[at_++];
        if (c == 'n') {
          c = '\n';
        } else if (c != '"' && c != '\\') {
          return fail("unknown escape in a string");
        }
      }
      value += c;
    }
    if (at_ >= text_.size()) return fail("unterminated string");
    ++at_;
    return value;
  }
  Result<int64_t> integer() {
    skip();
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  Result<Value> value_after_percent() {
    BSM_ASSIGN(int64_t node_id, integer());
    int64_t result = 0;
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      BSM_ASSIGN(result, integer());
    }
    if (node_id < 0 || result < 0 || node_id > UINT32_MAX || result > UINT32_MAX) {
      return fail("value out of range");
    }
    return Value{static_cast<uint32_t>(node_id), static_cast<uint32_t>(result)};
  }
  Result<NamedValue> named_value() {
    NamedValue nv;
    BSM_ASSIGN(nv.name, string());
    BSM_TRY(expect("="));
    BSM_TRY(expect("%"));
    BSM_ASSIGN(nv.value, value_after_percent());
    return nv;
  }
  Result<Shape> shape(const Graph& graph) {
    BSM_TRY(expect("["));
    Shape dims;
    if (eat("]")) return dims;
    while (true) {
      skip();
      const size_t start = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != '\n')
        ++at_;
      auto dim = Dim::parse(text_.substr(start, at_ - start), graph.extents());
      if (!dim) return at_line(std::move(dim).error());
      dims.push_back(std::move(*dim));
      if (dims.size() > 64) return fail("more than 64 dims");
      if (eat("]")) return dims;
      BSM_TRY(expect(","));
    }
  }
  Result<Type> type(const Graph& graph) {
    BSM_ASSIGN(std::string name, word());
    const auto dtype = parse_dtype(name);
    if (!dtype) return fail("unknown dtype `" + name + "`");
    BSM_ASSIGN(Shape dims, shape(graph));
    return Type{*dtype, std::move(dims)};
  }
  Result<AttrValue> number() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (word_char(text_[at_]) || text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-')) {
      ++at_;
    }
    const std::string_view token = text_.substr(start, at_ - start);
    if (token.find_first_of(".ein") == std::string_view::npos) {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
      if (error == std::errc() && end == token.data() + token.size()) return AttrValue(value);
      return fail("bad number `" + std::string(token) + "`");
    }
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end != token.data() + token.size()) {
      return fail("bad number `" + std::string(token) + "`");
    }
    if (std::isnan(value)) value = std::nan("");  // one NaN, so that texts stay comparable
    return AttrValue(value);
  }
  Result<AttrValue> attribute(const Graph& graph) {
    skip();
    if (at_ >= text_.size()) return fail("expected an attribute value");
    const char c = text_[at_];
    if (c == '"') {
      BSM_ASSIGN(std::string value, string());
      return AttrValue(std::move(value));
    }
    if (c == '[') {
      BSM_ASSIGN(Shape value, shape(graph));
      return AttrValue(std::move(value));
    }
    if (c == '(') {
      ++at_;
      std::vector<int64_t> values;
      if (eat(")")) return AttrValue(std::move(values));
      while (true) {
        BSM_ASSIGN(int64_t v, integer());
        values.push_back(v);
        if (eat(")")) return AttrValue(std::move(values));
        BSM_TRY(expect(","));
      }
    }
    if (eat_word("true")) return AttrValue(true);
    if (eat_word("false")) return AttrValue(false);
    if (eat_word("inf") || eat_word("nan")) {
      at_ -= 3;
      return number();
    }
    if ((c >= '0' && c <= '9') || c == '-') return number();
    BSM_ASSIGN(std::string name, word());
    const auto dtype = parse_dtype(name);
    if (!dtype) return fail("unknown attribute value `" + name + "`");
    return AttrValue(*dtype);
  }
  Result<ConstantData> data() {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    const auto digit = [](char c) -> int {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      return -1;
    };
    while (at_ + 1 < text_.size() && digit(text_[at_]) >= 0 && digit(text_[at_ + 1]) >= 0) {
      bytes->push_back(static_cast<std::byte>(digit(text_[at_]) * 16 + digit(text_[at_ + 1])));
      at_ += 2;
    }
    if (at_ < text_.size() && word_char(text_[at_])) return fail("malformed hexadecimal data");
    return ConstantData(std::move(bytes));
  }
  Status node(Graph* graph) {
    BSM_ASSIGN(int64_t id, integer());
    if (id != static_cast<int64_t>(graph->nodes().size())) {
      return fail("expected %" + std::to_string(graph->nodes().size()) + ", got %" +
                  std::to_string(id));
    }
    BSM_TRY(expect("="));
    BSM_ASSIGN(std::string op_name, word());
    const auto op = parse_op(op_name);
    if (!op) return fail("unknown op `" + op_name + "`");
    Node n;
    n.op = *op;
    skip();
    if (at_ < text_.size() && text_[at_] == '"') {
      BSM_ASSIGN(n.name, string());
    }
    if (eat("0x")) {
      BSM_ASSIGN(n.data, data());
    }
    if (!is_leaf(n.op)) {
      BSM_TRY(expect("("));
      if (!eat(")")) {
        while (true) {
          BSM_TRY(expect("%"));
          BSM_ASSIGN(Value v, value_after_percent());
          n.operands.push_back(v);
          if (eat(")")) break;
          BSM_TRY(expect(","));
        }
      }
    }
    if (eat("{")) {
      while (true) {
        BSM_ASSIGN(std::string name, word());
        BSM_TRY(expect("="));
        BSM_ASSIGN(AttrValue value, attribute(*graph));
        if (n.attrs.find(name) != nullptr) return fail("attribute `" + name + "` given twice");
        n.attrs.set(name, std::move(value));
        if (eat("}")) break;
        BSM_TRY(expect(","));
      }
    }
    BSM_TRY(expect(":"));
    while (true) {
      BSM_ASSIGN(Type t, type(*graph));
      n.results.push_back(std::move(t));
      if (!eat(",")) break;
    }
    if (eat("@")) {
      BSM_ASSIGN(n.where, string());
    }
    if (auto r = graph->append(std::move(n)); !r) return at_line(std::move(r).error());
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t statement_ = 0;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
  BSM_ASSIGN(Graph graph, Parser(text).parse());
  BSM_TRY(verify_structure(graph));
  return graph;
}

}  // namespace bessemer
