// Attributes of a node: a few named values, sorted by name, so that equality and printing are
// canonical.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dim.h"
#include "base/dtype.h"

namespace bessemer {

// A Shape attribute is a list of dims; a list of plain integers is std::vector<int64_t>.
using AttrValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, DType, Shape>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> values) {
    for (const auto& [name, value] : values) set(name, value);
  }

  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  [[nodiscard]] const AttrValue* find(std::string_view name) const;

  // The value, or `otherwise` when it is absent. A value of another type is a precondition fault:
  // ops::infer checks names and types of every attribute when a node is made.
  template <class T>
  [[nodiscard]] T get(std::string_view name, T otherwise = T{}) const {
    const AttrValue* v = find(name);
    return v == nullptr ? std::move(otherwise) : std::get<T>(*v);
  }

  [[nodiscard]] const std::vector<std::pair<std::string, AttrValue>>& all() const {
    return values_;
  }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> values_;
};

// "causal = true, scale = 0.125": the text form inside { }.
[[nodiscard]] std::string to_string(const AttrValue& value, std::span<const Extent> extents);
// A double in its shortest form that parses back to the same bits ("0x1.8p+0" is never needed).
[[nodiscard]] std::string double_to_string(double value);

}  // namespace bessemer
