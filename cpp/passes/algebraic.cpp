// algebraic: arithmetic that does nothing, or that a cheaper op does.
//
// Every rule gives the same bits, with documented exceptions: the sign of a zero (x + 0 and 0 - x
// where x is a zero), the payload of a NaN, and pow(x, 2), whose square is the correctly rounded
// one. What would lose a NaN or an infinity (x * 0, x - x of floats) or round differently (x / 3 as
// x * (1/3)) is left alone.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

using Found = Result<std::optional<Value>>;
constexpr std::optional<Value> kNothing;

// One elementwise node and what may stand for it.
class Simplifier {
 public:
  Simplifier(Rewriter& r, uint32_t id) : r_(r), id_(id), op_(r.node(id).op) {
    for (const Value& v : r.node(id).operands) x_.push_back(r.now(v));
    result_ = r.node(id).results[0];
    integer_ = is_integer(result_.dtype);
  }

  Found simplify() {
    switch (x_.size()) {
      case 1:
        return unary();
      case 2:
        return binary();
      default:
        return ternary();
    }
  }

 private:
  [[nodiscard]] bool is_constant(size_t i, double value) const {
    return is_scalar(r_.graph(), x_[i], value);
  }
  [[nodiscard]] bool is_op(size_t i, Op op) const { return r_.node(x_[i]).op == op; }
  // The operand of operand i.
  [[nodiscard]] Value inside(size_t i) const { return r_.now(r_.node(x_[i]).operands[0]); }

  // An operand in place of the node, unless the node also broadcast it.
  [[nodiscard]] Found same(size_t i) const { return same(x_[i]); }
  [[nodiscard]] Found same(Value v) const {
    if (!(r_.type(v) == result_)) return kNothing;
    return std::optional<Value>(v);
  }
  [[nodiscard]] Found made(Op op, std::vector<Value> operands) {
    BSM_ASSIGN(const Value v, r_.add(id_, op, std::move(operands)));
    return std::optional<Value>(v);
  }
  Result<Value> constant(double value);
  Found zeros();

  Found unary();
  Found binary();
  Found ternary();
  Found add();
  Found subtract();
  Found multiply();
  Found divide();

  Rewriter& r_;
  uint32_t id_;
  Op op_;
  std::vector<Value> x_;
  Type result_;
  bool integer_ = false;
};

// A scalar of the result's dtype; integers: 0 only.
Result<Value> Simplifier::constant(double value) {
  std::vector<std::byte> bytes(static_cast<size_t>(info(result_.dtype).block_bytes));
  const auto store = [&](auto v) { std::memcpy(bytes.data(), &v, sizeof v); };
  if (result_.dtype == DType::kF32) store(static_cast<float>(value));
  if (result_.dtype == DType::kF16) store(f32_to_f16(static_cast<float>(value)));
  if (result_.dtype == DType::kBF16) store(f32_to_bf16(static_cast<float>(value)));
  return r_.add_constant(id_, Type{result_.dtype, {}}, std::move(bytes));
}

Found Simplifier::zeros() {
  BSM_ASSIGN(Value zero, constant(0));
  if (!result_.shape.empty()) {
    BSM_ASSIGN(zero, r_.add(id_, Op::k_expand, {zero}, Attrs{{"shape", result_.shape}}));
  }
  return std::optional<Value>(zero);
}

Found Simplifier::unary() {
  switch (op_) {
    case Op::k_negative:
    case Op::k_logical_not:
    case Op::k_bitwise_not:
      if (is_op(0, op_)) return same(inside(0));
      return kNothing;
    case Op::k_abs:
    case Op::k_square:
      if (is_op(0, Op::k_negative)) return made(op_, {inside(0)});
      if (is_op(0, Op::k_abs)) return op_ == Op::k_abs ? same(0) : made(op_, {inside(0)});
      return kNothing;
    case Op::k_sign:
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
    case Op::k_trunc:
    case Op::k_relu:
    case Op::k_relu6:
      if (is_op(0, op_)) return same(0);
      return kNothing;
    case Op::k_reciprocal:
      // The half floats round the root first.
      if (is_op(0, Op::k_sqrt) && result_.dtype == DType::kF32) {
        return made(Op::k_rsqrt, {inside(0)});
      }
      return kNothing;
    default:
      return kNothing;
  }
}

Found Simplifier::add() {
  if (is_constant(1, 0)) return same(0);
  if (is_constant(0, 0)) return same(1);
  if (is_op(1, Op::k_negative)) return made(Op::k_subtract, {x_[0], inside(1)});
  if (is_op(0, Op::k_negative)) return made(Op::k_subtract, {x_[1], inside(0)});
  return kNothing;
}

Found Simplifier::subtract() {
  if (is_constant(1, 0)) return same(0);
  if (is_constant(0, 0) && r_.type(x_[1]) == result_) return made(Op::k_negative, {x_[1]});
  if (is_op(1, Op::k_negative)) return made(Op::k_add, {x_[0], inside(1)});
  if (integer_ && x_[0] == x_[1]) return zeros();
  return kNothing;
}

Found Simplifier::multiply() {
  for (const size_t i : {size_t{1}, size_t{0}}) {
    if (is_constant(i, 1)) return same(1 - i);
    if (is_constant(i, -1) && r_.type(x_[1 - i]) == result_) {
      return made(Op::k_negative, {x_[1 - i]});
    }
    if (integer_ && is_constant(i, 0)) return zeros();
  }
  if (x_[0] == x_[1]) return made(Op::k_square, {x_[0]});
  if (is_op(0, Op::k_negative) && is_op(1, Op::k_negative)) {
    return made(Op::k_multiply, {inside(0), inside(1)});
  }
  return kNothing;
}

Found Simplifier::divide() {
  if (is_constant(1, 1)) return same(0);
  if (is_constant(0, 1) && r_.type(x_[1]) == result_) return made(Op::k_reciprocal, {x_[1]});
  const std::optional<double> by = scalar(r_.graph(), x_[1]);
  if (!by || !std::isfinite(*by) || *by == 0) return kNothing;
  // Both the quotient and the product by a power of two are the true value, rounded once, if the
  // reciprocal is a normal number of the dtype.
  int exponent = 0;
  if (std::fabs(std::frexp(*by, &exponent)) != 0.5) return kNothing;
  if (std::abs(exponent) > (result_.dtype == DType::kF16 ? 14 : 125)) return kNothing;
  if (!(r_.type(x_[0]) == result_)) return kNothing;  // the divisor's shape counts
  BSM_ASSIGN(const Value reciprocal, constant(1 / *by));
  return made(Op::k_multiply, {x_[0], reciprocal});
}

Found Simplifier::binary() {
  switch (op_) {
    case Op::k_add:
      return add();
    case Op::k_subtract:
      return subtract();
    case Op::k_multiply:
      return multiply();
    case Op::k_divide:
      return divide();
    case Op::k_pow:
      if (is_constant(1, 1)) return same(0);
      if (is_constant(1, 2) && r_.type(x_[0]) == result_) return made(Op::k_square, {x_[0]});
      return kNothing;
    case Op::k_floor_divide:
      if (integer_ && is_constant(1, 1)) return same(0);
      return kNothing;
    case Op::k_remainder:
      if (integer_ && is_constant(1, 1)) return zeros();
      return kNothing;
    case Op::k_maximum:
    case Op::k_minimum:
      if (x_[0] == x_[1]) return same(0);
      return kNothing;
    case Op::k_bitwise_and:
    case Op::k_logical_and:
      if (x_[0] == x_[1]) return same(0);
      if (op_ == Op::k_logical_and && is_constant(1, 1)) return same(0);
      return kNothing;
    case Op::k_bitwise_or:
    case Op::k_logical_or:
      if (x_[0] == x_[1]) return same(0);
      if (is_constant(1, 0)) return same(0);
      return kNothing;
    case Op::k_bitwise_xor:
    case Op::k_logical_xor:
    case Op::k_left_shift:
    case Op::k_right_shift:
      if (is_constant(1, 0)) return same(0);
      return kNothing;
    default:
      return kNothing;
  }
}

Found Simplifier::ternary() {
  if (op_ != Op::k_where) return kNothing;
  if (x_[1] == x_[2]) return same(1);
  if (const std::optional<double> condition = scalar(r_.graph(), x_[0])) {
    return same(*condition != 0 ? 1 : 2);
  }
  if (is_op(0, Op::k_logical_not)) return made(Op::k_where, {inside(0), x_[2], x_[1]});
  return kNothing;
}

}  // namespace

Result<int64_t> algebraic(Rewriter& r, const PassOptions&) {
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    if (!is_elementwise(r.node(id).op)) continue;
    BSM_ASSIGN(const std::optional<Value> found, Simplifier(r, id).simplify());
    if (!found) continue;
    r.replace({id, 0}, *found);
    ++count;
  }
  return count;
}

}  // namespace bessemer::passes
