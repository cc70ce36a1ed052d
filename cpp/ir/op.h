// The enum of ops and their traits, all from op_table.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bessemer {

enum class Op : uint16_t {
#define BSM_UNARY(name, ...) k_##name,
#define BSM_BINARY(name, ...) k_##name,
#define BSM_TERNARY(name, ...) k_##name,
#define BSM_LEAF(name, ...) k_##name,
#define BSM_OP(name, ...) k_##name,
#define BSM_FUSED(name, ...) k_##name,
#include "op_table.def"
};

enum class OpClass : uint8_t { kLeaf, kElementwise, kStructured, kFused };

// What an elementwise op accepts and gives; see op_table.def.
enum class TypeRule : uint8_t {
  kNone,
  kFloat,
  kNumeric,
  kBits,
  kLogical,
  kTest,
  kCompare,
  kSelect
};

struct OpInfo {
  std::string_view name;
  OpClass op_class;
  TypeRule rule;  // elementwise only
  int min_operands;
  int max_operands;             // -1: any number
  bool has_float_expr;          // elementwise only
  bool has_int_expr;            // elementwise only
  std::string_view float_expr;  // the scalar expression as text; elementwise only
  std::string_view int_expr;
  std::string_view doc;
  std::string_view example;
};

[[nodiscard]] int op_count();
[[nodiscard]] const OpInfo& info(Op op);
[[nodiscard]] inline std::string_view to_string(Op op) { return info(op).name; }
[[nodiscard]] std::optional<Op> parse_op(std::string_view name);
[[nodiscard]] inline bool is_elementwise(Op op) {
  return info(op).op_class == OpClass::kElementwise;
}
[[nodiscard]] inline bool is_leaf(Op op) { return info(op).op_class == OpClass::kLeaf; }

}  // namespace bessemer
