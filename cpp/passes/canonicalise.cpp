// canonicalise: one spelling for what can be spelled in several ways, and nothing that does
// nothing. Every rule keeps each bit of the result.
#include <algorithm>
#include <optional>

#include "ops/op_impl.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

// A node as it should be; `same` if it is an older value.
struct Draft {
  Op op;
  std::vector<Value> operands;
  Attrs attrs;
  std::optional<Value> same;
  bool changed = false;

  void set(std::string_view name, AttrValue value) {
    const AttrValue* old = attrs.find(name);
    if (old != nullptr && *old == value) return;
    attrs.set(name, std::move(value));
    changed = true;
  }
  void read(size_t i, Value v) {
    operands[i] = v;
    changed = true;
  }
};

using Rule = void (*)(const Rewriter& r, const std::vector<Type>& results, Draft& d);

bool is_constant(const Rewriter& r, Value v) { return r.node(v).op == Op::k_constant; }

// The value that node `v` reads, as it is now.
Value operand_of(const Rewriter& r, Value v, size_t i = 0) { return r.now(r.node(v).operands[i]); }

// ---- elementwise ----

std::optional<Op> mirrored(Op op) {
  switch (op) {
    case Op::k_less:
      return Op::k_greater;
    case Op::k_less_equal:
      return Op::k_greater_equal;
    case Op::k_greater:
      return Op::k_less;
    case Op::k_greater_equal:
      return Op::k_less_equal;
    default:
      return is_commutative(op) ? std::optional<Op>(op) : std::nullopt;
  }
}

void elementwise(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  if (d.operands.size() == 2 && is_constant(r, d.operands[0]) && !is_constant(r, d.operands[1])) {
    if (const std::optional<Op> op = mirrored(d.op)) {
      d.op = *op;
      std::swap(d.operands[0], d.operands[1]);
      d.changed = true;
    }
  }
  // Operands broadcast by themselves: an expand is needed only if it alone makes the shape.
  for (size_t i = 0; i < d.operands.size(); ++i) {
    if (r.node(d.operands[i]).op != Op::k_expand) continue;
    std::vector<Shape> shapes;
    for (const Value& v : d.operands) shapes.push_back(r.type(v).shape);
    const Value inner = operand_of(r, d.operands[i]);
    shapes[i] = r.type(inner).shape;
    const auto shape = ops::broadcast_shapes(shapes, r.graph().extents());
    if (shape && *shape == results[0].shape) d.read(i, inner);
  }
}

// Whether every value of `from` is a value of `to`.
bool holds_exactly(DType from, DType to) {
  const auto digits = [](DType d) {  // of the significand
    return d == DType::kF64 ? 53 : d == DType::kF32 ? 24 : d == DType::kF16 ? 11 : 8;
  };
  const auto bits = [](DType d) { return 8 * info(d).block_bytes; };
  const auto is_unsigned = [](DType d) { return d == DType::kU8 || d == DType::kU32; };
  if (from == to) return true;
  if (is_quantised(from) || is_quantised(to) || to == DType::kBool) return false;
  if (from == DType::kBool) return true;
  if (is_float(from)) {
    // f16 and bf16 do not hold each other: one has the digits, the other the exponents.
    return is_float(to) && digits(from) < digits(to) &&
           !(from == DType::kBF16 && to == DType::kF16);
  }
  if (is_float(to)) return bits(from) - (is_unsigned(from) ? 0 : 1) <= digits(to);
  if (is_unsigned(from) == is_unsigned(to)) return bits(from) < bits(to);
  return is_unsigned(from) && bits(from) < bits(to);
}

void cast(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  while (r.node(d.operands[0]).op == Op::k_cast) {
    const Value inner = operand_of(r, d.operands[0]);
    if (!holds_exactly(r.type(inner).dtype, r.type(d.operands[0]).dtype)) break;
    d.read(0, inner);
  }
  if (r.type(d.operands[0]).dtype == results[0].dtype) d.same = d.operands[0];
}

// ---- products ----

void matmul(const Rewriter& r, const std::vector<Type>&, Draft& d) {
  const char* const flags[] = {"transpose_a", "transpose_b"};
  for (size_t i = 0; i < 2; ++i) {
    while (swaps_last_axes(r.node(d.operands[i]))) {
      d.set(flags[i], !d.attrs.get<bool>(flags[i]));
      d.read(i, operand_of(r, d.operands[i]));
    }
    if (d.attrs.find(flags[i]) != nullptr && !d.attrs.get<bool>(flags[i])) {
      d.attrs.erase(flags[i]);
      d.changed = true;
    }
  }
}

// ---- movement ----

void reshape(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  while (r.node(d.operands[0]).op == Op::k_reshape) d.read(0, operand_of(r, d.operands[0]));
  d.set("shape", results[0].shape);
  if (r.type(d.operands[0]) == results[0]) d.same = d.operands[0];
}

void transpose(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  auto perm = d.attrs.get<std::vector<int64_t>>("perm");
  while (r.node(d.operands[0]).op == Op::k_transpose) {
    const auto inner = r.node(d.operands[0]).attrs.get<std::vector<int64_t>>("perm");
    for (int64_t& axis : perm) axis = inner[static_cast<size_t>(axis)];
    d.read(0, operand_of(r, d.operands[0]));
  }
  d.set("perm", perm);
  if (std::is_sorted(perm.begin(), perm.end())) {
    d.same = d.operands[0];
    return;
  }
  // If only axes of size 1 move past others, the elements keep their order.
  const Shape& from = r.type(d.operands[0]).shape;
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (from[static_cast<size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return;
    last = axis;
  }
  d.op = Op::k_reshape;
  d.attrs = Attrs{};
  d.changed = true;
  reshape(r, results, d);
}

void expand(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  while (r.node(d.operands[0]).op == Op::k_expand) d.read(0, operand_of(r, d.operands[0]));
  d.set("shape", results[0].shape);
  if (r.type(d.operands[0]) == results[0]) d.same = d.operands[0];
}

void slice(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  if (!(r.type(d.operands[0]) == results[0])) return;
  const auto steps = d.attrs.get<std::vector<int64_t>>("step");
  const bool unit = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  if (unit) d.same = d.operands[0];
}

void pad(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  if (r.type(d.operands[0]) == results[0]) d.same = d.operands[0];
}

void tile(const Rewriter& r, const std::vector<Type>&, Draft& d) {
  const auto repeats = d.attrs.get<std::vector<int64_t>>("repeats");
  const size_t rank = r.type(d.operands[0]).shape.size();
  const bool once = std::all_of(repeats.begin(), repeats.end(), [](int64_t n) { return n == 1; });
  if (once && repeats.size() <= rank) d.same = d.operands[0];
}

// ---- axes ----

void axis(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  const auto written = d.attrs.get<int64_t>("axis");
  if (written >= 0) return;
  const Type& type = d.operands.empty() ? results[0] : r.type(d.operands[0]);
  d.set("axis", written + static_cast<int64_t>(type.shape.size()));
}

void axes(const Rewriter& r, const std::vector<Type>&, Draft& d) {
  const auto rank = static_cast<int64_t>(r.type(d.operands[0]).shape.size());
  auto all = d.attrs.get<std::vector<int64_t>>("axes");
  for (int64_t& a : all) a += a < 0 ? rank : 0;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  d.set("axes", all);
}

void reverse(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  axes(r, results, d);
  auto all = d.attrs.get<std::vector<int64_t>>("axes");
  std::erase_if(all, [&](int64_t a) { return results[0].shape[static_cast<size_t>(a)] == Dim(1); });
  d.set("axes", all);
  if (all.empty()) d.same = d.operands[0];
}

void join(const Rewriter& r, const std::vector<Type>& results, Draft& d) {
  axis(r, results, d);
  if (d.operands.size() == 1 && results.size() == 1) d.same = d.operands[0];
}

Rule rule_of(Op op) {
  switch (op) {
    case Op::k_cast:
      return cast;
    case Op::k_matmul:
      return matmul;
    case Op::k_reshape:
      return reshape;
    case Op::k_transpose:
      return transpose;
    case Op::k_expand:
      return expand;
    case Op::k_slice:
      return slice;
    case Op::k_pad:
      return pad;
    case Op::k_tile:
      return tile;
    case Op::k_reverse:
      return reverse;
    case Op::k_concat:
    case Op::k_split:
      return join;
    case Op::k_sum:
    case Op::k_mean:
    case Op::k_prod:
    case Op::k_max:
    case Op::k_min:
    case Op::k_any:
    case Op::k_all:
      return axes;
    case Op::k_argmax:
    case Op::k_argmin:
    case Op::k_softmax:
    case Op::k_log_softmax:
    case Op::k_cumsum:
    case Op::k_cumprod:
    case Op::k_cummax:
    case Op::k_cummin:
    case Op::k_gather:
    case Op::k_iota:
      return axis;
    default:
      return is_elementwise(op) && info(op).min_operands > 1 ? elementwise : nullptr;
  }
}

// An absent axis means what the op says it means; only written ones are rewritten.
bool has_axis(const Node& node) {
  return node.attrs.find("axis") != nullptr || node.attrs.find("axes") != nullptr;
}

}  // namespace

Result<int64_t> canonicalise(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const Rule rule = rule_of(r.node(id).op);
    if (rule == nullptr) continue;
    if ((rule == axis || rule == axes || rule == reverse) && !has_axis(r.node(id))) continue;
    Draft draft{r.node(id).op, r.node(id).operands, r.node(id).attrs, std::nullopt, false};
    for (Value& v : draft.operands) v = r.now(v);
    rule(r, r.node(id).results, draft);
    if (draft.same) {
      r.replace({id, 0}, *draft.same);
      ++count;
    } else if (draft.changed) {
      const auto results = static_cast<uint32_t>(r.node(id).results.size());
      BSM_ASSIGN(const Value made,
                 r.add(id, draft.op, std::move(draft.operands), std::move(draft.attrs)));
      for (uint32_t i = 0; i < results; ++i) r.replace({id, i}, {made.node, i});
      ++count;
    }
  }
  return count;
}

}  // namespace bessemer::passes
