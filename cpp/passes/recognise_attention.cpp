// recognise_attention: softmax(scale * q k^T + bias, where masked) v, spelled in primitives.
//
// q, k and v are [heads, T or S, dim] or [batch, heads, T or S, dim]. Between the product and the
// softmax there may stand, from the inside: scalings, a soft cap c * tanh(s / c), one added bias
// [.., 1 or heads, T, S], and selections where(visible, s, -inf) whose condition is the same for
// all heads. Conditions that say "key at or before the query" (of iotas, or literal) become causal
// = true. k and v may repeat each head for a group of query heads (reshape, expand, reshape, or a
// head axis of 1 that broadcasts).
//
// The op takes the tokens of all batches as one list, and k and v as [batch, S, kv_heads, dim]:
// what the graph had before its own transposes, which cancel. A finite "minus infinity" (<= -1e9)
// counts as one only in a causal selection, where each query sees a key: a query that sees none
// gives zeros here, and the mean of v there. Steps between must have no other reader.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

struct Attention {
  Value q, k, v;                 // [.., heads or kv_heads, T or S, dim]
  bool k_is_transposed = false;  // [.., dim, S]
  double scale = 1;
  double softcap = 0;
  bool causal = false;
  std::vector<Value> visible;  // conditions, all to hold
  std::vector<Value> hidden;   // conditions, none to hold
  std::optional<Value> bias;
};

// The steps between softmax and product, met from the outside.
class Matcher {
 public:
  Matcher(const Rewriter& r, const Readers& readers) : r_(r), readers_(readers) {}

  std::optional<Attention> match(uint32_t id) {
    const Node& node = r_.node(id);
    if (node.op != Op::k_matmul || node.attrs.get<bool>("transpose_a") ||
        node.attrs.get<bool>("transpose_b")) {
      return std::nullopt;
    }
    const size_t rank = node.results[0].shape.size();
    const Value weights = node.operands[0];
    if ((rank != 3 && rank != 4) || !is_op(weights, Op::k_softmax)) return std::nullopt;
    const Node& softmax = r_.node(weights);
    const auto axis = softmax.attrs.get<int64_t>("axis", -1);
    if (axis != -1 && axis != static_cast<int64_t>(rank) - 1) return std::nullopt;
    scores_ = softmax.results[0].shape;
    a_.v = node.operands[1];
    if (scores_.size() != rank || r_.type(a_.v).shape.size() != rank) return std::nullopt;
    if (!scores(softmax.operands[0])) return std::nullopt;
    if (finite_minus_ && (!a_.visible.empty() || !a_.hidden.empty())) return std::nullopt;
    for (Value* side : {&a_.k, &a_.v}) *side = without_repeats(*side, rank);
    return a_;
  }

 private:
  [[nodiscard]] bool is_op(Value v, Op op) const { return r_.node(v).op == op && readers_.once(v); }

  // Takes the steps apart down to the product.
  bool scores(Value v) {
    while (true) {
      if (!readers_.once(v) || r_.type(v).shape != scores_) return false;
      const Node& node = r_.node(v);
      switch (node.op) {
        case Op::k_where:
          if (capped_ || scaled_) return false;
          if (!selection(node, &v)) return false;
          break;
        case Op::k_add:
          if (capped_ || scaled_) return false;
          if (!addition(node, &v)) return false;
          break;
        case Op::k_multiply:
        case Op::k_divide:
          if (!softcap(node, &v) && !scaling(node, &v)) return false;
          break;
        case Op::k_matmul:
          return product(node);
        default:
          return false;
      }
    }
  }

  // where(condition, s, -inf) or where(condition, -inf, s)
  bool selection(const Node& node, Value* inner) {
    for (const size_t keep : {size_t{1}, size_t{2}}) {
      const std::optional<double> other = scalar(r_.graph(), node.operands[3 - keep]);
      if (!other || !is_minus_infinity(*other)) continue;
      *inner = node.operands[keep];
      return condition(node.operands[0], keep == 1);
    }
    return false;
  }

  bool is_minus_infinity(double value) {
    if (!(value <= -1e9)) return false;
    finite_minus_ = finite_minus_ || std::isfinite(value);
    return true;
  }

  bool condition(Value v, bool visible) {
    const Node& node = r_.node(v);
    if (node.op == Op::k_logical_not) return condition(node.operands[0], !visible);
    if (visible && node.op == Op::k_logical_and) {
      return condition(node.operands[0], true) && condition(node.operands[1], true);
    }
    if (!visible && node.op == Op::k_logical_or) {
      return condition(node.operands[0], false) && condition(node.operands[1], false);
    }
    if (is_causal(v, visible)) {
      a_.causal = true;
      return true;
    }
    const Shape& shape = r_.type(v).shape;
    if (shape.size() > scores_.size()) return false;
    if (shape.size() >= 3 && !(shape[shape.size() - 3] == Dim(1))) return false;  // differs by head
    (visible ? a_.visible : a_.hidden).push_back(v);
    return true;
  }

  bool addition(const Node& node, Value* inner) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Value bias = node.operands[1 - i];
      if (!readers_.once(node.operands[i]) || !is_score(node.operands[i])) continue;
      *inner = node.operands[i];
      // where(condition, 0, -inf), added, is a selection.
      const Node& source = r_.node(bias);
      if (source.op == Op::k_where) {
        for (const size_t keep : {size_t{1}, size_t{2}}) {
          if (!is_scalar(r_.graph(), source.operands[keep], 0)) continue;
          const std::optional<double> other = scalar(r_.graph(), source.operands[3 - keep]);
          if (other && is_minus_infinity(*other)) return condition(source.operands[0], keep == 1);
        }
      }
      if (is_literal_causal(bias, [this](const std::byte* p, bool sees) {
            float value = 0;
            std::memcpy(&value, p, sizeof value);
            if (sees) return value == 0;
            return is_minus_infinity(value);
          })) {
        a_.causal = true;
        return true;
      }
      const Type& type = r_.type(bias);
      if (a_.bias || type.dtype != DType::kF32 || type.shape.size() > scores_.size()) return false;
      a_.bias = bias;
      return true;
    }
    return false;
  }

  // Whether the product is below v, within a few steps.
  [[nodiscard]] bool is_score(Value v, int steps = 8) const {
    const Node& node = r_.node(v);
    if (steps == 0 || node.results[0].shape != scores_) return false;
    switch (node.op) {
      case Op::k_matmul:
        return true;
      case Op::k_where:
        return is_score(node.operands[1], steps - 1) || is_score(node.operands[2], steps - 1);
      case Op::k_add:
      case Op::k_multiply:
        return is_score(node.operands[0], steps - 1) || is_score(node.operands[1], steps - 1);
      case Op::k_divide:
      case Op::k_tanh:
        return is_score(node.operands[0], steps - 1);
      default:
        return false;
    }
  }

  // c * tanh(s * scale / c)
  bool softcap(const Node& node, Value* inner) {
    if (capped_ || scaled_ || node.op != Op::k_multiply) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const std::optional<double> cap = scalar(r_.graph(), node.operands[1 - i]);
      if (!cap || !(*cap > 0) || !is_op(node.operands[i], Op::k_tanh)) continue;
      const Value argument = r_.node(node.operands[i]).operands[0];
      if (!readers_.once(argument)) return false;
      const Node& shrunk = r_.node(argument);
      const auto by = shrunk.operands.size() == 2 ? scalar(r_.graph(), shrunk.operands[1])
                                                  : std::optional<double>();
      if (!by) return false;
      if (shrunk.op != Op::k_divide && shrunk.op != Op::k_multiply) return false;
      // Scale and 1 / c may be one constant.
      a_.scale *= *cap * (shrunk.op == Op::k_divide ? 1 / *by : *by);
      a_.softcap = *cap;
      capped_ = true;
      *inner = shrunk.operands[0];
      return true;
    }
    return false;
  }

  bool scaling(const Node& node, Value* inner) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (i == 1 && node.op == Op::k_divide) break;
      const std::optional<double> by = scalar(r_.graph(), node.operands[1 - i]);
      if (!by || !std::isfinite(*by) || *by == 0) continue;
      a_.scale *= node.op == Op::k_divide ? 1 / *by : *by;
      scaled_ = true;
      *inner = node.operands[i];
      return true;
    }
    return false;
  }

  bool product(const Node& node) {
    if (node.attrs.get<bool>("transpose_a")) return false;
    a_.q = node.operands[0];
    a_.k = node.operands[1];
    a_.k_is_transposed = !node.attrs.get<bool>("transpose_b");
    return r_.type(a_.q).shape.size() == scores_.size() &&
           r_.type(a_.k).shape.size() == scores_.size();
  }

  // k or v before each head was repeated for the query heads of its group.
  [[nodiscard]] Value without_repeats(Value v, size_t rank) const {
    const Node& merged = r_.node(v);
    if (merged.op != Op::k_reshape) return v;
    const Node& repeated = r_.node(merged.operands[0]);
    if (repeated.op != Op::k_expand) return v;
    const Node& split = r_.node(repeated.operands[0]);
    const Shape& wide = repeated.results[0].shape;
    const Shape& out = merged.results[0].shape;
    if (wide.size() != rank + 1) return v;
    // [.., kv, 1, a, b] to [.., kv, group, a, b] to [.., kv * group, a, b]
    const size_t group = rank - 2;
    Shape narrow = wide;
    narrow[group] = Dim(1);
    Shape before = wide;
    before.erase(before.begin() + static_cast<ptrdiff_t>(group));
    Shape after = before;
    after[group - 1] = wide[group - 1] * wide[group];
    if (split.results[0].shape != narrow || out != after) return v;
    if (split.op == Op::k_reshape && r_.type(split.operands[0]).shape == before) {
      return split.operands[0];
    }
    return v;
  }

  // ---- causal conditions ----

  // Whether v[.., t, s] is t (axis 1 from the right) or s (axis 0), in any integer dtype.
  [[nodiscard]] bool is_index(Value v, size_t axis_from_right) const {
    const Node* node = &r_.node(v);
    const Shape& shape = node->results[0].shape;
    while (node->op == Op::k_expand) node = &r_.node(node->operands[0]);
    const Node* view = nullptr;
    if (node->op == Op::k_reshape) {
      view = node;
      node = &r_.node(node->operands[0]);
    }
    if (node->op != Op::k_iota || shape.size() <= axis_from_right) return false;
    const Shape& counted = node->results[0].shape;
    int64_t axis = node->attrs.get<int64_t>("axis", -1);
    if (axis < 0) axis += static_cast<int64_t>(counted.size());
    if (view == nullptr) {
      return counted.size() - 1 - static_cast<size_t>(axis) == axis_from_right;
    }
    // A vector put upright: one axis has its size, the others 1.
    const Shape& placed = view->results[0].shape;
    if (counted.size() != 1 || placed.size() <= axis_from_right) return false;
    return placed[placed.size() - 1 - axis_from_right] == counted[0];
  }

  [[nodiscard]] bool is_causal(Value v, bool visible) const {
    if (!(scores_[scores_.size() - 2] == scores_.back())) return false;
    const Node& node = r_.node(v);
    const auto indices = [&](size_t query) {
      return is_index(node.operands[query], 1) && is_index(node.operands[1 - query], 0);
    };
    switch (node.op) {
      case Op::k_greater_equal:
        return visible && indices(0);
      case Op::k_less_equal:
        return visible && indices(1);
      case Op::k_less:
        return !visible && indices(0);
      case Op::k_greater:
        return !visible && indices(1);
      case Op::k_tril:
        return visible && node.attrs.get<int64_t>("k") == 0 &&
               is_scalar(r_.graph(), node.operands[0], 1) && is_square(v);
      case Op::k_constant:
        return node.results[0].dtype == DType::kBool &&
               is_literal_causal(v, [visible](const std::byte* p, bool sees) {
                 return (*p != std::byte{0}) == (sees == visible);
               });
      default:
        return false;
    }
  }

  // [.., T, S] as the scores have them.
  [[nodiscard]] bool is_square(Value v) const {
    const Shape& shape = r_.type(v).shape;
    return shape.size() >= 2 && shape.back() == scores_.back() &&
           shape[shape.size() - 2] == scores_[scores_.size() - 2] &&
           num_elements(shape) == shape.back() * shape.back();
  }

  // A constant whose elements pass `test` by whether the query sees the key.
  template <class Test>
  [[nodiscard]] bool is_literal_causal(Value v, Test test) const {
    const Node& node = r_.node(v);
    const Type& type = node.results[0];
    if (node.op != Op::k_constant || !is_square(v)) return false;
    if (type.dtype != DType::kBool && type.dtype != DType::kF32) return false;
    const auto width = static_cast<size_t>(info(type.dtype).block_bytes);
    const auto n = static_cast<size_t>(type.shape.back().constant());
    for (size_t t = 0; t < n; ++t) {
      for (size_t s = 0; s < n; ++s) {
        if (!test(node.data->data() + (t * n + s) * width, s <= t)) return false;
      }
    }
    return n > 0;
  }

  const Rewriter& r_;
  const Readers& readers_;
  Attention a_;
  Shape scores_;
  bool capped_ = false;
  bool scaled_ = false;
  bool finite_minus_ = false;
};

// Makes the op and what leads to it.
class Builder {
 public:
  Builder(Rewriter& r, uint32_t id, Attention a) : r_(r), id_(id), a_(std::move(a)) {}

  Result<bool> build() {
    const Shape q_shape = r_.type(a_.q).shape;
    rank_ = q_shape.size();
    batch_ = rank_ == 4 ? q_shape[0] : Dim(1);
    queries_ = q_shape[rank_ - 2];
    if (a_.k_is_transposed) {
      std::vector<int64_t> perm =
          rank_ == 4 ? std::vector<int64_t>{0, 1, 3, 2} : std::vector<int64_t>{0, 2, 1};
      BSM_ASSIGN(a_.k, transposed(r_, id_, a_.k, perm));
    }
    const Shape k_shape = r_.type(a_.k).shape;
    const Shape v_shape = r_.type(a_.v).shape;
    keys_ = k_shape[rank_ - 2];
    // What broadcasts over the batch stays a product; a head axis of 1 is one kv head.
    if (rank_ == 4 && (!(k_shape[0] == batch_) || !(v_shape[0] == batch_))) return false;
    if (!(v_shape[rank_ - 2] == keys_)) return false;

    BSM_ASSIGN(const Value q, heads_inside(a_.q));
    BSM_ASSIGN(const Value flat_q,
               reshaped(r_, id_, q, {tokens(), q_shape[rank_ - 3], q_shape.back()}));
    BSM_ASSIGN(Value k, heads_inside(a_.k));
    BSM_ASSIGN(k, reshaped(r_, id_, k, {batch_, keys_, k_shape[rank_ - 3], k_shape.back()}));
    BSM_ASSIGN(Value v, heads_inside(a_.v));
    BSM_ASSIGN(v, reshaped(r_, id_, v, {batch_, keys_, v_shape[rank_ - 3], v_shape.back()}));
    BSM_ASSIGN(const Value seq, batch_ == Dim(1) ? zeros() : count(0));
    BSM_ASSIGN(const Value pos, a_.causal ? count(1) : zeros());
    std::vector<Value> operands = {flat_q, k, v, seq, pos};
    Attrs attrs{{"scale", a_.scale}};
    if (a_.causal) attrs.set("causal", true);
    if (a_.softcap > 0) attrs.set("softcap", a_.softcap);
    if (!a_.visible.empty() || !a_.hidden.empty()) {
      BSM_ASSIGN(const Value mask, make_mask());
      operands.push_back(mask);
      attrs.set("has_mask", true);
    }
    if (a_.bias) {
      BSM_ASSIGN(const Value bias, make_bias());
      operands.push_back(bias);
      attrs.set("has_bias", true);
    }
    const auto made = r_.try_add(id_, Op::k_attention, std::move(operands), std::move(attrs));
    if (!made) return false;
    const Type want = r_.node(id_).results[0];
    const Dim heads = q_shape[rank_ - 3];
    Value out = *made;
    if (rank_ == 4) {
      BSM_ASSIGN(out, reshaped(r_, id_, out, {batch_, queries_, heads, v_shape.back()}));
    }
    BSM_ASSIGN(out, heads_inside(out));
    if (!(r_.type(out) == want)) return false;
    r_.replace({id_, 0}, out);
    return true;
  }

 private:
  [[nodiscard]] Dim tokens() const { return batch_ * queries_; }

  // Heads and tokens change places.
  Result<Value> heads_inside(Value v) {
    return transposed(
        r_, id_, v, rank_ == 4 ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{1, 0, 2});
  }

  Result<Value> zeros() {
    BSM_ASSIGN(const Value zero,
               r_.add_constant(id_, Type{DType::kI32, {}}, std::vector<std::byte>(4)));
    return r_.add(id_, Op::k_expand, {zero}, Attrs{{"shape", Shape{tokens()}}});
  }

  // By token its batch (axis 0) or its place in it (axis 1).
  Result<Value> count(int64_t axis) {
    BSM_ASSIGN(
        const Value index,
        r_.add(id_, Op::k_iota, {},
               Attrs{{"shape", Shape{batch_, queries_}}, {"axis", axis}, {"dtype", DType::kI32}}));
    return reshaped(r_, id_, index, {tokens()});
  }

  // v as [batch, heads, T, S], where heads is v's own or 1.
  Result<Value> spread(Value v) {
    Shape shape = r_.type(v).shape;
    while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
    BSM_ASSIGN(v, reshaped(r_, id_, v, shape));
    const Shape want = {batch_, shape[1], queries_, keys_};
    if (shape == want) return v;
    return r_.add(id_, Op::k_expand, {v}, Attrs{{"shape", want}});
  }

  Result<Value> make_mask() {
    std::optional<Value> all;
    const auto require = [&](Value v, bool hidden) -> Status {
      if (hidden) {
        BSM_ASSIGN(v, r_.add(id_, Op::k_logical_not, {v}));
      }
      if (all) {
        BSM_ASSIGN(v, r_.add(id_, Op::k_logical_and, {*all, v}));
      }
      all = v;
      return {};
    };
    for (const Value& v : a_.visible) BSM_TRY(require(v, false));
    for (const Value& v : a_.hidden) BSM_TRY(require(v, true));
    BSM_ASSIGN(const Value mask, spread(*all));
    return reshaped(r_, id_, mask, {tokens(), keys_});
  }

  Result<Value> make_bias() {
    BSM_ASSIGN(Value bias, spread(*a_.bias));
    const Dim heads = r_.type(bias).shape[1];
    BSM_ASSIGN(bias, transposed(r_, id_, bias, {1, 0, 2, 3}));
    return reshaped(r_, id_, bias, {heads, tokens(), keys_});
  }

  Rewriter& r_;
  uint32_t id_;
  Attention a_;
  size_t rank_ = 0;
  Dim batch_;
  Dim queries_;
  Dim keys_;
};

}  // namespace

Result<int64_t> recognise_attention(Rewriter& r, const PassOptions&) {
  const Readers readers(r.graph());
  int64_t count = 0;
  for (uint32_t id = 0; id < r.old_size(); ++id) {
    const auto attention = Matcher(r, readers).match(id);
    if (!attention) continue;
    BSM_ASSIGN(const bool built, Builder(r, id, *attention).build());
    count += built ? 1 : 0;
  }
  return count;
}

}  // namespace bessemer::passes
