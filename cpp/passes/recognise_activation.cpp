// recognise_activation: GELU, SiLU, sigmoid and ReLU spelled in primitives.
//
//   gelu       c * x * (1 + erf(x / sqrt(2))), c = 1/2, factors in any order and grouping
//   gelu_tanh  c * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), also as ... * x * (1 + 0.044715
//   x^2) silu       x * sigmoid(x), x / (1 + exp(-x)) sigmoid    1 / (1 + exp(-x)) relu maximum(x,
//   0)
//
// The steps between must have no other reader: otherwise they are computed anyway. Results agree to
// rounding (a few units in the last place, and the half floats no longer round each step); relu
// keeps a zero's sign. Constants match to the precision of their dtype and 2e-6.
#include <algorithm>
#include <cmath>

#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

constexpr double kTolerance = 2e-6;

// A product taken apart: its factors that are no constants, and the product of those that are.
struct Product {
  double constant = 1;
  std::vector<Value> factors;
};

class Activations {
 public:
  explicit Activations(Rewriter& r) : r_(r), readers_(r.graph()) {}

  // What `id` computes, as op(x).
  struct Match {
    Op op;
    Value x;
  };
  [[nodiscard]] std::optional<Match> match(uint32_t id) const {
    const Node& node = r_.node(id);
    switch (node.op) {
      case Op::k_multiply:
        return product(id);
      case Op::k_divide:
        if (const auto x = one_plus_exp(node.operands[1])) {
          if (*x == node.operands[0]) return Match{Op::k_silu, *x};
          if (is(node.operands[0], 1)) return Match{Op::k_sigmoid, *x};
        }
        return std::nullopt;
      case Op::k_reciprocal:
        if (const auto x = one_plus_exp(node.operands[0])) return Match{Op::k_sigmoid, *x};
        return std::nullopt;
      case Op::k_maximum:
        for (const size_t i : {size_t{0}, size_t{1}}) {
          if (is(node.operands[1 - i], 0)) return Match{Op::k_relu, node.operands[i]};
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

 private:
  [[nodiscard]] bool is(Value v, double want) const {
    return is_scalar(r_.graph(), v, want, want == 0 ? 0 : kTolerance);
  }
  static bool near(double got, double want) {
    return std::fabs(got - want) <= kTolerance * std::fabs(want);
  }
  // Half floats carry their own rounding in each constant of a product.
  [[nodiscard]] bool near(double got, double want, Value like) const {
    const DType d = r_.type(like).dtype;
    const double slack = d == DType::kF16 ? 0x1p-9 : d == DType::kBF16 ? 0x1p-6 : 0;
    return std::fabs(got - want) <= (kTolerance + slack) * std::fabs(want);
  }
  [[nodiscard]] bool is_op(Value v, Op op) const { return r_.node(v).op == op && readers_.once(v); }

  // x of 1 + exp(-x).
  [[nodiscard]] std::optional<Value> one_plus_exp(Value v) const {
    if (!is_op(v, Op::k_add)) return std::nullopt;
    const auto e = other_operand(r_.node(v), [&](Value o) { return is(o, 1); });
    if (!e || !is_op(*e, Op::k_exp)) return std::nullopt;
    const Value minus = r_.node(*e).operands[0];
    if (!is_op(minus, Op::k_negative)) return std::nullopt;
    return r_.node(minus).operands[0];
  }

  // Takes v apart through multiplications and divisions by constants that only this pattern reads.
  void take_apart(Value v, bool root, Product& product) const {
    const Node& node = r_.node(v);
    const std::optional<double> constant = scalar(r_.graph(), v);
    if (constant) {
      product.constant *= *constant;
      return;
    }
    if (product.factors.size() < 8 && (root || readers_.once(v))) {
      if (node.op == Op::k_multiply) {
        take_apart(node.operands[0], false, product);
        take_apart(node.operands[1], false, product);
        return;
      }
      if (node.op == Op::k_square) {
        product.factors.push_back(node.operands[0]);
        product.factors.push_back(node.operands[0]);
        return;
      }
      if (node.op == Op::k_pow && is_scalar(r_.graph(), node.operands[1], 3)) {
        for (int i = 0; i < 3; ++i) product.factors.push_back(node.operands[0]);
        return;
      }
      if (node.op == Op::k_divide) {
        if (const auto by = scalar(r_.graph(), node.operands[1])) {
          product.constant /= *by;
          take_apart(node.operands[0], false, product);
          return;
        }
      }
    }
    product.factors.push_back(v);
  }
  [[nodiscard]] Product parts(Value v, bool root = false) const {
    Product product;
    take_apart(v, root, product);
    return product;
  }

  // The two forms of a sum with a constant term 1: gives the other term.
  [[nodiscard]] std::optional<Value> plus_one(Value v) const {
    if (!is_op(v, Op::k_add)) return std::nullopt;
    return other_operand(r_.node(v), [&](Value o) { return is(o, 1); });
  }

  // tanh's argument: sqrt(2/pi) * (x + 0.044715 x^3) or sqrt(2/pi) * x * (1 + 0.044715 x^2).
  [[nodiscard]] bool is_tanh_argument(Value v, Value x) const {
    const double outer = std::sqrt(2 / M_PI);
    Product p = parts(v);
    if (!near(p.constant, outer, x)) return false;
    const auto cubic = [&](Value term, size_t power) {
      const Product q = parts(term);
      return near(q.constant, 0.044715, x) && q.factors.size() == power &&
             std::all_of(q.factors.begin(), q.factors.end(), [&](Value f) { return f == x; });
    };
    if (p.factors.size() == 1 && is_op(p.factors[0], Op::k_add)) {
      const auto term = other_operand(r_.node(p.factors[0]), [&](Value o) { return o == x; });
      return term && cubic(*term, 3);
    }
    if (p.factors.size() != 2) return false;
    if (p.factors[1] == x) std::swap(p.factors[0], p.factors[1]);
    if (p.factors[0] != x) return false;
    const auto term = plus_one(p.factors[1]);
    return term && cubic(*term, 2);
  }

  [[nodiscard]] std::optional<Match> product(uint32_t id) const {
    const Product p = parts({id, 0}, true);
    if (p.factors.size() != 2) return std::nullopt;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Value x = p.factors[i];
      const Value f = p.factors[1 - i];
      if (near(p.constant, 1) && is_op(f, Op::k_sigmoid) && r_.node(f).operands[0] == x) {
        return Match{Op::k_silu, x};
      }
      if (near(p.constant, 1) && is_op(f, Op::k_reciprocal)) {
        const auto inner = one_plus_exp(r_.node(f).operands[0]);
        if (inner && *inner == x) return Match{Op::k_silu, x};
      }
      if (!near(p.constant, 0.5, x)) continue;
      const auto curve = plus_one(f);
      if (!curve) continue;
      const Value argument = r_.node(*curve).operands.empty() ? x : r_.node(*curve).operands[0];
      if (is_op(*curve, Op::k_erf)) {
        const Product q = parts(argument);
        if (q.factors.size() == 1 && q.factors[0] == x && near(q.constant, M_SQRT1_2, x)) {
          return Match{Op::k_gelu, x};
        }
      }
      if (is_op(*curve, Op::k_tanh) && is_tanh_argument(argument, x)) {
        return Match{Op::k_gelu_tanh, x};
      }
    }
    return std::nullopt;
  }

  Rewriter& r_;
  Readers readers_;
};

}  // namespace

Result<int64_t> recognise_activation(Rewriter& r, const PassOptions&) {
  const Activations activations(r);
  int64_t count = 0;
  // From the youngest, so that the largest pattern takes its parts with it.
  std::vector<bool> needed = needed_at_the_end(r.graph());
  for (uint32_t id = r.old_size(); id-- > 0;) {
    if (!needed[id]) continue;
    std::vector<Value> reads = r.node(id).operands;
    if (is_elementwise(r.node(id).op)) {
      const Type type = r.node(id).results[0];
      const auto match = activations.match(id);
      if (match && is_compute_float(type.dtype) && r.type(match->x) == type) {
        reads = {match->x};
        BSM_ASSIGN(const Value made, r.add(id, match->op, reads));
        r.replace({id, 0}, made);
        ++count;
      }
    }
    for (const Value& v : reads) needed[v.node] = true;
  }
  return count;
}

}  // namespace bessemer::passes
