// recognise_norm: RMS and layer norm over the last axis, spelled in primitives.
//
//   rms_norm    x * rsqrt(mean(x * x) + eps) [* weight]
//   layer_norm  d * rsqrt(mean(d * d) + eps) [* weight] [+ bias],  d = x - mean(x)
//
// Factors come in any order and grouping; rsqrt(z) may be 1 / sqrt(z), pow(z, -1/2) or a division
// by sqrt(z); a square x * x or pow(x, 2); a mean sum / n or sum * (1/n). A norm without weight or
// bias takes a multiplication by a weight or an addition of a bias that stands behind it. Weight
// and bias are f32 [k]. The steps between must have no other reader. Results agree to rounding.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

struct Norm {
  Op op = Op::k_rms_norm;
  Value x;
  std::optional<Value> weight;
  std::optional<Value> bias;
  double epsilon = 0;

  [[nodiscard]] std::vector<Value> operands() const {
    std::vector<Value> all = {x};
    if (weight) all.push_back(*weight);
    if (bias) all.push_back(*bias);
    return all;
  }
  [[nodiscard]] Attrs attrs() const {
    Attrs out{{"epsilon", epsilon}};
    if (weight) out.set("has_weight", true);
    if (bias) out.set("has_bias", true);
    return out;
  }
};

// The shortest decimal that is the same f32: 1e-5 and not 9.999999747378752e-06.
double shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr;
  double out = value;
  std::from_chars(text, end, out);
  return out;
}

class Norms {
 public:
  explicit Norms(const Rewriter& r) : r_(r), readers_(r.graph()) {}

  [[nodiscard]] std::optional<Norm> match(uint32_t id) const {
    const Node& node = r_.node(id);
    if (!is_compute_float(node.results[0].dtype)) return std::nullopt;
    switch (node.op) {
      case Op::k_add:
        return biased(id);
      case Op::k_multiply:
        if (const auto norm = weighted(id)) return norm;
        return product({id, 0});
      case Op::k_divide:
        return product({id, 0});
      default:
        return std::nullopt;
    }
  }

 private:
  [[nodiscard]] bool is_op(Value v, Op op) const { return r_.node(v).op == op && readers_.once(v); }
  [[nodiscard]] bool is(Value v, double want) const { return is_scalar(r_.graph(), v, want, 1e-6); }
  [[nodiscard]] const Dim* width(Value v) const {
    const Shape& shape = r_.type(v).shape;
    return shape.empty() ? nullptr : &shape.back();
  }
  // f32 [k], k the last axis of x.
  [[nodiscard]] bool is_vector(Value v, Value x) const {
    const Dim* k = width(x);
    return k != nullptr && r_.type(v) == Type{DType::kF32, {*k}};
  }

  // ---- behind a norm that is there already ----

  [[nodiscard]] std::optional<Norm> existing(Value v) const {
    const Node& node = r_.node(v);
    if ((node.op != Op::k_rms_norm && node.op != Op::k_layer_norm) || !readers_.once(v)) {
      return std::nullopt;
    }
    Norm norm;
    norm.op = node.op;
    norm.x = node.operands[0];
    norm.epsilon = node.attrs.get<double>("epsilon");
    size_t next = 1;
    if (node.attrs.get<bool>("has_weight")) norm.weight = node.operands[next++];
    if (node.attrs.get<bool>("has_bias")) norm.bias = node.operands[next];
    return norm;
  }

  [[nodiscard]] std::optional<Norm> weighted(uint32_t id) const {
    const Node& node = r_.node(id);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      auto norm = existing(node.operands[i]);
      const Value weight = node.operands[1 - i];
      if (!norm || norm->weight || norm->bias || !is_vector(weight, norm->x)) continue;
      norm->weight = weight;
      return norm;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Norm> biased(uint32_t id) const {
    const Node& node = r_.node(id);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Value v = node.operands[i];
      const Value bias = node.operands[1 - i];
      auto norm = existing(v);
      if (!norm && readers_.once(v)) {
        norm = r_.node(v).op == Op::k_multiply ? weighted(v.node) : std::nullopt;
        if (!norm) norm = product(v);
      }
      if (!norm || norm->op != Op::k_layer_norm || norm->bias || !is_vector(bias, norm->x)) {
        continue;
      }
      norm->bias = bias;
      return norm;
    }
    return std::nullopt;
  }

  // ---- from primitives ----

  struct Parts {
    std::vector<Value> factors;
    std::vector<Value> under_roots;  // z of each factor 1 / sqrt(z)
  };

  // z if v is sqrt(z).
  [[nodiscard]] std::optional<Value> under_root(Value v) const {
    if (!is_op(v, Op::k_sqrt)) return std::nullopt;
    return r_.node(v).operands[0];
  }

  void take_apart(Value v, bool root, Parts& parts) const {
    const Node& node = r_.node(v);
    if ((root || readers_.once(v)) && parts.factors.size() < 4) {
      switch (node.op) {
        case Op::k_multiply:
          take_apart(node.operands[0], false, parts);
          take_apart(node.operands[1], false, parts);
          return;
        case Op::k_divide:
          if (const auto z = under_root(node.operands[1])) {
            parts.under_roots.push_back(*z);
            if (!is(node.operands[0], 1)) take_apart(node.operands[0], false, parts);
            return;
          }
          break;
        case Op::k_rsqrt:
          parts.under_roots.push_back(node.operands[0]);
          return;
        case Op::k_reciprocal:
          if (const auto z = under_root(node.operands[0])) {
            parts.under_roots.push_back(*z);
            return;
          }
          break;
        case Op::k_pow:
          if (is_scalar(r_.graph(), node.operands[1], -0.5)) {
            parts.under_roots.push_back(node.operands[0]);
            return;
          }
          break;
        default:
          break;
      }
    }
    parts.factors.push_back(v);
  }

  // x if v is mean(x) over the last axis, with that axis kept as 1. Only this pattern reads v.
  [[nodiscard]] std::optional<Value> mean_of(Value v) const {
    if (!readers_.once(v)) return std::nullopt;
    bool keepdims = true;
    if (r_.node(v).op == Op::k_reshape) {
      // mean(x) without the axis, which is put back.
      const Shape& with = r_.type(v).shape;
      v = r_.node(v).operands[0];
      Shape without = r_.type(v).shape;
      without.push_back(Dim(1));
      if (with != without || !readers_.once(v)) return std::nullopt;
      keepdims = false;
    }
    const Node* node = &r_.node(v);
    bool divided = false;
    if (node->op == Op::k_multiply || node->op == Op::k_divide) {
      const Value sum = node->operands[0];
      if (!is_op(sum, Op::k_sum)) return std::nullopt;
      const Dim* n = width(r_.node(sum).operands[0]);
      if (n == nullptr || !n->is_constant() || n->constant() < 1) return std::nullopt;
      const auto size = static_cast<double>(n->constant());
      if (!is(node->operands[1], node->op == Op::k_divide ? size : 1 / size)) return std::nullopt;
      node = &r_.node(sum);
      divided = true;
    }
    if (node->op != (divided ? Op::k_sum : Op::k_mean)) return std::nullopt;
    if (!reduces_last_axis(r_.graph(), *node, keepdims)) return std::nullopt;
    return node->operands[0];
  }

  // x if v is x * x and only this pattern reads it; `reads` counts how often it reads x.
  [[nodiscard]] std::optional<Value> square_of(Value v, size_t* reads) const {
    if (!readers_.once(v)) return std::nullopt;
    const Node& node = r_.node(v);
    *reads = 1;
    if (node.op == Op::k_square) return node.operands[0];
    if (node.op == Op::k_pow && is_scalar(r_.graph(), node.operands[1], 2)) return node.operands[0];
    *reads = 2;
    if (node.op == Op::k_multiply && node.operands[0] == node.operands[1]) return node.operands[0];
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Norm> product(Value v) const {
    Parts parts;
    take_apart(v, true, parts);
    if (parts.under_roots.size() != 1 || parts.factors.empty() || parts.factors.size() > 2) {
      return std::nullopt;
    }
    const Value z = parts.under_roots[0];
    if (!is_op(z, Op::k_add)) return std::nullopt;
    std::optional<double> epsilon;
    const auto mean = other_operand(r_.node(z), [&](Value o) {
      epsilon = scalar(r_.graph(), o);
      return epsilon.has_value();
    });
    if (!mean || !epsilon || !(*epsilon >= 0) || !std::isfinite(*epsilon)) return std::nullopt;
    const auto squares = mean_of(*mean);
    if (!squares) return std::nullopt;
    size_t reads = 0;
    const auto base = square_of(*squares, &reads);
    if (!base || !(r_.type(*base) == r_.type(v))) return std::nullopt;

    Norm norm;
    norm.x = *base;
    norm.epsilon = shortest(*epsilon);
    for (const Value& factor : parts.factors) {
      if (factor == *base) continue;
      if (norm.weight || !is_vector(factor, *base)) return std::nullopt;
      norm.weight = factor;
    }
    const auto times = std::count(parts.factors.begin(), parts.factors.end(), *base);
    if (times != 1) return std::nullopt;
    if (const auto x = centred(*base, reads + 1)) {
      norm.op = Op::k_layer_norm;
      norm.x = *x;
    }
    return norm;
  }

  // x if v is x - mean(x) and is read `reads` times in all.
  [[nodiscard]] std::optional<Value> centred(Value v, size_t reads) const {
    const Node& node = r_.node(v);
    if (node.op != Op::k_subtract || readers_.count(v) != reads) return std::nullopt;
    const auto x = mean_of(node.operands[1]);
    if (!x || *x != node.operands[0] || !(r_.type(*x) == r_.type(v))) return std::nullopt;
    return x;
  }

  const Rewriter& r_;
  Readers readers_;
};

}  // namespace

Result<int64_t> recognise_norm(Rewriter& r, const PassOptions&) {
  const Norms norms(r);
  int64_t count = 0;
  // From the youngest: weight and bias first, and the norm with them.
  std::vector<bool> needed = needed_at_the_end(r.graph());
  for (uint32_t id = r.old_size(); id-- > 0;) {
    if (!needed[id]) continue;
    std::vector<Value> reads = r.node(id).operands;
    if (const auto norm = norms.match(id)) {
      const Type type = r.node(id).results[0];
      const auto made = r.try_add(id, norm->op, norm->operands(), norm->attrs());
      if (made && r.type(*made) == type) {
        r.replace({id, 0}, *made);
        reads = norm->operands();
        ++count;
      }
    }
    for (const Value& v : reads) needed[v.node] = true;
  }
  return count;
}

}  // namespace bessemer::passes
