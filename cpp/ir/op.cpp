#include "ir/op.h"

#include <iterator>
#include <string>
#include <unordered_map>

namespace bessemer {
namespace {

constexpr bool defined(std::string_view expr) { return expr != "BSM_NONE"; }

// Two steps, so that the expressions are stringified as written.
#define BSM_ELEMENTWISE(arity, name, rule, fe, ie, doc, example) \
  {#name,                                                        \
   OpClass::kElementwise,                                        \
   TypeRule::rule,                                               \
   arity,                                                        \
   arity,                                                        \
   defined(#fe),                                                 \
   defined(#ie),                                                 \
   #fe,                                                          \
   #ie,                                                          \
   doc,                                                          \
   example},

constexpr OpInfo kInfos[] = {
#define BSM_UNARY(name, rule, fe, ie, doc, example) \
  BSM_ELEMENTWISE(1, name, rule, fe, ie, doc, example)
#define BSM_BINARY(name, rule, fe, ie, doc, example) \
  BSM_ELEMENTWISE(2, name, rule, fe, ie, doc, example)
#define BSM_TERNARY(name, rule, fe, ie, doc, example) \
  BSM_ELEMENTWISE(3, name, rule, fe, ie, doc, example)
#define BSM_LEAF(name, doc) \
  {#name, OpClass::kLeaf, TypeRule::kNone, 0, 0, false, false, "", "", doc, ""},
#define BSM_OP(name, lo, hi, doc, example) \
  {#name, OpClass::kStructured, TypeRule::kNone, lo, hi, false, false, "", "", doc, example},
#define BSM_FUSED(name, lo, hi, doc) \
  {#name, OpClass::kFused, TypeRule::kNone, lo, hi, false, false, "", "", doc, ""},
#include "op_table.def"
};

}  // namespace

int op_count() { return static_cast<int>(std::size(kInfos)); }

const OpInfo& info(Op op) { return kInfos[static_cast<size_t>(op)]; }

std::optional<Op> parse_op(std::string_view name) {
  static const std::unordered_map<std::string_view, Op> by_name = [] {
    std::unordered_map<std::string_view, Op> map;
    for (size_t i = 0; i < std::size(kInfos); ++i) map.emplace(kInfos[i].name, static_cast<Op>(i));
    return map;
  }();
  const auto it = by_name.find(name);
  if (it == by_name.end()) return std::nullopt;
  return it->second;
}

}  // namespace bessemer
