#include "ir/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace bessemer {
namespace {

auto lower_bound(auto& values, std::string_view name) {
  return std::lower_bound(values.begin(), values.end(), name,
                          [](const auto& entry, std::string_view n) { return entry.first < n; });
}

}  // namespace

void Attrs::set(std::string_view name, AttrValue value) {
  auto it = lower_bound(values_, name);
  if (it != values_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    values_.emplace(it, std::string(name), std::move(value));
  }
}

void Attrs::erase(std::string_view name) {
  auto it = lower_bound(values_, name);
  if (it != values_.end() && it->first == name) values_.erase(it);
}

const AttrValue* Attrs::find(std::string_view name) const {
  auto it = lower_bound(values_, name);
  return it != values_.end() && it->first == name ? &it->second : nullptr;
}

std::string double_to_string(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // A double always looks like one, so that the parser need not know the attribute's type.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string to_string(const AttrValue& value, std::span<const Extent> extents) {
  struct Printer {
    std::span<const Extent> extents;
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_to_string(v); }
    std::string operator()(const std::string& v) const {
      std::string text = "\"";
      for (char c : v) {
        if (c == '"' || c == '\\') text += '\\';
        if (c == '\n') {
          text += "\\n";
        } else {
          text += c;
        }
      }
      return text + "\"";
    }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::string text = "(";
      for (size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(v[i]);
      return text + ")";
    }
    std::string operator()(DType v) const { return std::string(bessemer::to_string(v)); }
    std::string operator()(const Shape& v) const { return bessemer::to_string(v, extents); }
  };
  return std::visit(Printer{extents}, value);
}

}  // namespace bessemer
