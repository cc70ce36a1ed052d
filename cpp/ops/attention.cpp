// attention, rope, scatter_rows, and their fusion rope_append.
//
// Attention works on a flat list of tokens, each with a sequence and a position, so that prefill,
// decode, chunks and ragged batches are one op. Token t sees the rows j of its sequence with
// j <= pos[t] (causal), j > pos[t] - window (window), mask[t, j] (mask). score = scale * q·k,
// capped to softcap * tanh(score / softcap), plus bias. A token that sees nothing gives zeros.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel_abi/attention_params.h"
#include "kernel_abi/rope_params.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

bool is_compute_float(DType d) { return is_float(d) && d != DType::kF64; }
bool is_index(DType d) { return d == DType::kI32 || d == DType::kI64; }

Status expect(const InferInput& in, size_t i, DType dtype, const Shape& shape, const char* what) {
  if (i >= in.operands.size()) {
    return Error{ErrorKind::kInvalidArgument, std::string(what) + " is missing", {}};
  }
  const Type want{dtype, shape};
  if (in.operands[i] == want) return {};
  const std::string message = std::string(what) + " must be " + to_string(want, in.extents) +
                              ", got " + to_string(in.operands[i], in.extents);
  return in.operands[i].dtype != dtype ? dtype_error(message) : shape_error(message);
}

Result<std::vector<Type>> infer_attention(const InferInput& in) {
  const Type& q = in.operands[0];
  const Type& k = in.operands[1];
  const Type& v = in.operands[2];
  if (q.shape.size() != 3) return shape_error("q must be [tokens, heads, head_dim]");
  if (k.shape.size() != v.shape.size() || (k.shape.size() != 3 && k.shape.size() != 4)) {
    return shape_error(
        "k and v must be both [sequences, context, kv_heads, dim] or both "
        "[keys, kv_heads, dim]");
  }
  for (const Type* t : {&q, &k, &v}) {
    if (!is_compute_float(t->dtype)) return dtype_error("q, k and v must be f32, f16 or bf16");
  }
  const bool flat = k.shape.size() == 3;
  const size_t rank = k.shape.size();
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (!(k.shape[i] == v.shape[i])) return shape_error("k and v differ before their last axis");
  }
  if (!(k.shape[rank - 1] == q.shape[2])) return shape_error("q and k differ in head_dim");
  for (const Dim* d : {&q.shape[1], &q.shape[2], &k.shape[rank - 2], &v.shape[rank - 1]}) {
    if (!d->is_constant() || d->constant() < 1) {
      return shape_error("heads and head sizes must be fixed and at least 1");
    }
  }
  const int64_t heads = q.shape[1].constant();
  const int64_t kv_heads = k.shape[rank - 2].constant();
  if (heads % kv_heads != 0) {
    return shape_error(std::to_string(heads) + " heads are not a multiple of " +
                       std::to_string(kv_heads) + " kv heads");
  }
  const Dim keys = flat ? k.shape[0] : k.shape[1];
  size_t next = 3;
  BSM_TRY(expect(in, next++, DType::kI32, {q.shape[0]}, "seq"));
  BSM_TRY(expect(in, next++, DType::kI32, {q.shape[0]}, "pos"));
  if (flat) {
    BSM_TRY(expect(in, next++, DType::kI32, {keys}, "key_seq"));
    BSM_TRY(expect(in, next++, DType::kI32, {keys}, "key_pos"));
  }
  if (in.attrs.get<bool>("has_mask")) {
    BSM_TRY(expect(in, next++, DType::kBool, {q.shape[0], keys}, "mask"));
  }
  if (in.attrs.get<bool>("has_bias")) {
    const bool one = next < in.operands.size() && in.operands[next].shape.size() == 3 &&
                     in.operands[next].shape[0] == Dim(1);
    BSM_TRY(expect(in, next++, DType::kF32, {one ? Dim(1) : q.shape[1], q.shape[0], keys}, "bias"));
  }
  if (next != in.operands.size()) {
    return Error{ErrorKind::kInvalidArgument,
                 "takes " + std::to_string(next) + " operands here, got " +
                     std::to_string(in.operands.size()),
                 {}};
  }
  if (in.attrs.get<int64_t>("window") < 0) {
    return Error{ErrorKind::kInvalidArgument, "window must be at least 1, or 0 for none", {}};
  }
  if (!(in.attrs.get<double>("softcap") >= 0)) {
    return Error{ErrorKind::kInvalidArgument, "softcap must be above 0, or 0 for none", {}};
  }
  return std::vector<Type>{{q.dtype, {q.shape[0], q.shape[1], v.shape[rank - 1]}}};
}

Status lower_attention(Lowering& lowering, const Node& node) {
  const Tensor& q = lowering.operand(node, 0);
  const Tensor& k = lowering.operand(node, 1);
  const Tensor& v = lowering.operand(node, 2);
  const bool flat = k.shape.size() == 3;
  const size_t rank = k.shape.size();
  Params<abi::AttentionParams> params;
  abi::AttentionParams& p = params.value;
  const Dim keys = flat ? k.shape[0] : k.shape[1];
  params.set(p.tokens, q.shape[0]);
  params.set(p.keys, keys);
  p.heads = q.shape[1].constant();
  p.head_dim = q.shape[2].constant();
  p.kv_heads = k.shape[rank - 2].constant();
  p.v_head_dim = v.shape[rank - 1].constant();
  params.set(p.sequences, flat ? Dim(0) : k.shape[0]);
  p.window = node.attrs.get<int64_t>("window");
  p.causal = node.attrs.get<bool>("causal");
  p.has_mask = node.attrs.get<bool>("has_mask");
  p.has_bias = node.attrs.get<bool>("has_bias");
  const double scale = node.attrs.get<double>("scale");
  p.scale = static_cast<float>(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(p.head_dim)));
  p.softcap = static_cast<float>(node.attrs.get<double>("softcap"));
  p.q_dtype = static_cast<uint32_t>(q.dtype);
  p.k_dtype = static_cast<uint32_t>(k.dtype);
  p.v_dtype = static_cast<uint32_t>(v.dtype);
  if (p.has_bias != 0) {
    const Tensor& bias = lowering.operand(node, node.operands.size() - 1);
    p.bias_heads = bias.shape[0].constant();
  }
  std::vector<Operand> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(Lowering::read(lowering.operand(node, i)));
  }
  const Tensor out = lowering.define(node);
  operands.push_back(Lowering::write(out));
  const int64_t group = p.heads / p.kv_heads;
  const int64_t max_tokens = q.shape[0].evaluate(lowering.maxima());
  p.workers = lowering.target().threads;
  p.tile_tokens =
      std::clamp<int64_t>(abi::kAttentionTileRows / group, 1, std::max<int64_t>(max_tokens, 1));
  // Splitting over keys pays while there are only a few tokens for each worker.
  p.split_tokens = std::min<int64_t>(max_tokens, 2 * lowering.target().threads);
  p.split_keys = keys.evaluate(lowering.maxima());
  abi::AttentionParams at_max = p;
  at_max.tokens = max_tokens;
  const Tensor scratch = lowering.scratch(Dim(abi::attention_scratch_bytes(at_max)));
  operands.push_back(Lowering::read_write(scratch));
  const Dim products = Dim(2) * q.shape[0] * Dim(p.heads * (p.head_dim + p.v_head_dim));
  lowering.emit(node,
                "attention__" + std::string(to_string(q.dtype)) + "_" +
                    std::string(to_string(k.dtype)) + (flat ? "__flat" : "__state"),
                std::move(operands), params, products * keys);
  return {};
}

Status check_rope(const InferInput& in, const Type& x, const Type& positions) {
  if (x.shape.size() != 3) return shape_error("the rotated tensor is [tokens, heads, head_dim]");
  if (!is_compute_float(x.dtype)) return dtype_error("rotates f32, f16 or bf16");
  if (!x.shape[1].is_constant() || !x.shape[2].is_constant()) {
    return shape_error("heads and head_dim must be fixed");
  }
  if (!is_index(positions.dtype)) return dtype_error("positions must be i32 or i64");
  if (positions.shape != Shape{x.shape[0]}) return shape_error("one position for each token");
  const int64_t n_rot = in.attrs.get<int64_t>("n_rot");
  if (n_rot < 0 || n_rot % 2 != 0 || n_rot > x.shape[2].constant() ||
      (n_rot == 0 && x.shape[2].constant() % 2 != 0)) {
    return Error{ErrorKind::kInvalidArgument,
                 "n_rot must be even and at most head_dim, got " + std::to_string(n_rot),
                 {}};
  }
  if (!(in.attrs.get<double>("base", 10000.0) > 0)) {
    return Error{ErrorKind::kInvalidArgument, "base must be above 0", {}};
  }
  return {};
}

int64_t rotated(const Attrs& attrs, const Shape& x) {
  const int64_t n_rot = attrs.get<int64_t>("n_rot");
  return n_rot == 0 ? x[2].constant() : n_rot;
}

Result<std::vector<Type>> infer_rope(const InferInput& in) {
  BSM_TRY(check_rope(in, in.operands[0], in.operands[1]));
  if (in.operands.size() == 3) {
    BSM_TRY(
        expect(in, 2, DType::kF32, {Dim(rotated(in.attrs, in.operands[0].shape) / 2)}, "factors"));
  }
  return std::vector<Type>{in.operands[0]};
}

// A finite double for devices without f64; 0 for anything else.
abi::RopeNumber rope_number(double value) {
  abi::RopeNumber n{};
  if (!std::isfinite(value) || value == 0) return n;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [1/2, 1)
  n.mantissa = static_cast<uint64_t>(fraction * 0x1p53) << 11;
  n.exponent = exponent - 1;
  n.negative = value < 0 ? 1 : 0;
  return n;
}

template <class P>
void set_rope(P& params, abi::RopeParams& p, const Node& node, const Tensor& x,
              const Tensor& positions, bool has_factors) {
  params.set(p.tokens, x.shape[0]);
  p.heads = x.shape[1].constant();
  p.head_dim = x.shape[2].constant();
  p.n_rot = rotated(node.attrs, x.shape);
  const double base = node.attrs.get<double>("base", 10000.0);
  const double scale = node.attrs.get<double>("scale", 1.0);
  p.base_bits = std::bit_cast<uint64_t>(base);
  p.scale_bits = std::bit_cast<uint64_t>(scale);
  p.turn = rope_number(scale * 0x1.45f306dc9c883p-3);
  for (int b = 0; b < abi::kRopeSteps; ++b) {
    p.steps[b] =
        rope_number(std::pow(base, -static_cast<double>(2 << b) / static_cast<double>(p.n_rot)));
  }
  p.x_dtype = static_cast<uint32_t>(x.dtype);
  p.position_dtype = static_cast<uint32_t>(positions.dtype);
  p.interleaved = node.attrs.get<bool>("interleaved");
  p.has_factors = has_factors;
}

Status lower_rope(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  const bool has_factors = node.operands.size() == 3;
  Params<abi::RopeParams> params;
  set_rope(params, params.value, node, x, lowering.operand(node, 1), has_factors);
  std::vector<Operand> operands = {Lowering::read(x), Lowering::read(lowering.operand(node, 1))};
  if (has_factors) operands.push_back(Lowering::read(lowering.operand(node, 2)));
  const Tensor out = lowering.define(node);
  const auto out_index = static_cast<uint32_t>(operands.size());
  operands.push_back(Lowering::write(out));
  lowering.emit(node, "rope__" + std::string(to_string(x.dtype)), std::move(operands), params,
                Dim(3) * num_elements(x.shape), {{out_index, 0}});
  return {};
}

Result<std::vector<Type>> infer_scatter_rows(const InferInput& in) {
  const Type& x = in.operands[0];
  const Type& rows = in.operands[1];
  const size_t n = in.operands.size() - 2;
  if (x.shape.size() < n) return shape_error("more indices than axes");
  const Type& index = in.operands[2];
  if (index.shape.size() != 1) return shape_error("indices are vectors, one element a row");
  for (size_t i = 0; i < n; ++i) {
    if (!is_index(in.operands[2 + i].dtype)) return dtype_error("indices must be i32 or i64");
    if (!(in.operands[2 + i] == index)) return shape_error("indices differ in type");
  }
  Shape want = {index.shape[0]};
  want.insert(want.end(), x.shape.begin() + static_cast<int64_t>(n), x.shape.end());
  if (rows.shape != want) {
    return shape_error("rows must be " + to_string(want, in.extents) + ", got " +
                       to_string(rows.shape, in.extents));
  }
  if (rows.dtype != x.dtype && !(is_compute_float(rows.dtype) && is_compute_float(x.dtype))) {
    return dtype_error("rows of " + std::string(to_string(rows.dtype)) + " do not convert to " +
                       std::string(to_string(x.dtype)));
  }
  return std::vector<Type>{x};
}

Status lower_scatter_rows(Lowering& lowering, const Node& node) {
  const Tensor& rows = lowering.operand(node, 1);
  const size_t n = node.operands.size() - 2;
  BSM_ASSIGN(const Tensor state, lowering.define_update(node, 0, 0));
  Params<abi::ScatterRowsParams> params;
  abi::ScatterRowsParams& p = params.value;
  const Shape tail(state.shape.begin() + static_cast<int64_t>(n), state.shape.end());
  params.set(p.count, rows.shape[0]);
  params.set(p.row, num_elements(tail));
  params.set(p.size0, state.shape[0]);
  params.set(p.size1, n == 2 ? state.shape[1] : Dim(1));
  p.n_indices = static_cast<uint32_t>(n);
  p.index_dtype = static_cast<uint32_t>(lowering.operand(node, 2).dtype);
  p.row_dtype = static_cast<uint32_t>(rows.dtype);
  p.state_dtype = static_cast<uint32_t>(state.dtype);
  std::vector<Operand> operands = {Lowering::read(rows)};
  for (size_t i = 0; i < n; ++i) operands.push_back(Lowering::read(lowering.operand(node, 2 + i)));
  operands.push_back(Lowering::read_write(state));
  lowering.emit(node,
                "scatter_rows__" + std::string(to_string(rows.dtype)) + "_" +
                    std::string(to_string(state.dtype)),
                std::move(operands), params, Dim(0));
  return {};
}

// rope_append's operands: q, k, v, pos, seq, k_state, v_state, [q_norm, k_norm], [factors].
Result<std::vector<Type>> infer_rope_append(const InferInput& in) {
  const bool has_norm = in.attrs.get<bool>("has_qk_norm");
  const bool has_factors = in.attrs.get<bool>("has_factors");
  const size_t want = 7 + (has_norm ? 2u : 0u) + (has_factors ? 1u : 0u);
  if (in.operands.size() != want) {
    return Error{ErrorKind::kInvalidArgument,
                 "takes " + std::to_string(want) + " operands here, got " +
                     std::to_string(in.operands.size()),
                 {}};
  }
  const Type& q = in.operands[0];
  const Type& k = in.operands[1];
  const Type& v = in.operands[2];
  BSM_TRY(check_rope(in, q, in.operands[3]));
  BSM_TRY(check_rope(in, k, in.operands[3]));
  if (k.dtype != q.dtype || !is_compute_float(v.dtype)) return dtype_error("q and k differ");
  BSM_TRY(expect(in, 3, DType::kI32, {q.shape[0]}, "pos"));
  BSM_TRY(expect(in, 4, DType::kI32, {q.shape[0]}, "seq"));
  for (size_t i : {size_t{5}, size_t{6}}) {
    const Type& state = in.operands[i];
    const Type& rows = in.operands[i - 4];
    if (state.shape.size() != 4 || rows.shape.size() != 3 || !is_compute_float(state.dtype) ||
        !(state.shape[2] == rows.shape[1]) || !(state.shape[3] == rows.shape[2])) {
      return shape_error("states are [sequences, context, kv_heads, dim] of k and v");
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!(in.operands[5].shape[i] == in.operands[6].shape[i])) return shape_error("states differ");
  }
  if (has_norm) {
    BSM_TRY(expect(in, 7, DType::kF32, {q.shape[2]}, "q_norm"));
    BSM_TRY(expect(in, 8, DType::kF32, {q.shape[2]}, "k_norm"));
  }
  if (has_factors) {
    BSM_TRY(expect(in, want - 1, DType::kF32, {Dim(rotated(in.attrs, q.shape) / 2)}, "factors"));
  }
  return std::vector<Type>{q, in.operands[5], in.operands[6]};
}

Status lower_rope_append(Lowering& lowering, const Node& node) {
  const Tensor q = lowering.operand(node, 0);
  const bool has_norm = node.attrs.get<bool>("has_qk_norm");
  const bool has_factors = node.attrs.get<bool>("has_factors");
  BSM_ASSIGN(const Tensor k_state, lowering.define_update(node, 1, 5));
  BSM_ASSIGN(const Tensor v_state, lowering.define_update(node, 2, 6));
  Params<abi::RopeAppendParams> params;
  abi::RopeAppendParams& p = params.value;
  set_rope(params, p.rope, node, q, lowering.operand(node, 3), has_factors);
  p.kv_heads = k_state.shape[2].constant();
  p.v_head_dim = v_state.shape[3].constant();
  params.set(p.sequences, k_state.shape[0]);
  params.set(p.context, k_state.shape[1]);
  p.v_dtype = static_cast<uint32_t>(lowering.operand(node, 2).dtype);
  p.k_state_dtype = static_cast<uint32_t>(k_state.dtype);
  p.v_state_dtype = static_cast<uint32_t>(v_state.dtype);
  p.has_norm = has_norm;
  p.epsilon = static_cast<float>(node.attrs.get<double>("epsilon"));
  std::vector<Operand> operands;
  for (size_t i = 0; i < 5; ++i) operands.push_back(Lowering::read(lowering.operand(node, i)));
  for (size_t i = 7; i < node.operands.size(); ++i) {
    operands.push_back(Lowering::read(lowering.operand(node, i)));
  }
  operands.push_back(Lowering::read_write(k_state));
  operands.push_back(Lowering::read_write(v_state));
  const Tensor out = lowering.define(node, 0);
  const auto out_index = static_cast<uint32_t>(operands.size());
  operands.push_back(Lowering::write(out));
  lowering.emit(node,
                "rope_append__" + std::string(to_string(q.dtype)) + "_" +
                    std::string(to_string(k_state.dtype)),
                std::move(operands), params, Dim(3) * num_elements(q.shape), {{out_index, 0}});
  return {};
}

}  // namespace

OpRows attention_ops() {
  const std::vector<AttrSpec> rope = {
      {"base", 0.0}, {"scale", 0.0}, {"n_rot", int64_t{0}}, {"interleaved", false}};
  std::vector<AttrSpec> rope_append = rope;
  rope_append.push_back({"has_qk_norm", false});
  rope_append.push_back({"has_factors", false});
  rope_append.push_back({"epsilon", 0.0});
  return {{Op::k_attention,
           {infer_attention,
            lower_attention,
            {{"scale", 0.0},
             {"causal", false},
             {"window", int64_t{0}},
             {"softcap", 0.0},
             {"has_mask", false},
             {"has_bias", false}}}},
          {Op::k_rope, {infer_rope, lower_rope, rope}},
          {Op::k_scatter_rows, {infer_scatter_rows, lower_scatter_rows, {}}},
          {Op::k_rope_append, {infer_rope_append, lower_rope_append, rope_append}}};
}

}  // namespace bessemer::ops
