// matmul: the general batched product; and linear: weights applied to one input, with everything
// around it folded in (passes make it).
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernel_abi/linear_params.h"
#include "kernel_abi/matmul_params.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

// Batch axes of the matmul kernel.
constexpr size_t kBatchDims = std::extent_v<decltype(abi::MatmulParams::batch)>;

std::string text(const Type& type, std::span<const Extent> extents) {
  return to_string(type, extents);
}

// [.., rows, cols] of an operand after its transpose flag.
struct Matrix {
  Shape batch;
  Dim rows;
  Dim cols;
};

Matrix as_matrix(const Type& type, bool transposed) {
  Matrix m;
  m.batch.assign(type.shape.begin(), type.shape.end() - 2);
  m.rows = type.shape[type.shape.size() - 2];
  m.cols = type.shape.back();
  if (transposed) std::swap(m.rows, m.cols);
  return m;
}

Result<std::vector<Type>> infer_matmul(const InferInput& in) {
  const Type& a = in.operands[0];
  const Type& b = in.operands[1];
  const bool ta = in.attrs.get<bool>("transpose_a");
  const bool tb = in.attrs.get<bool>("transpose_b");
  if (a.shape.size() < 2 || b.shape.size() < 2) {
    return shape_error("both operands need at least two axes");
  }
  if (!is_float(a.dtype) || a.dtype == DType::kF64) {
    return dtype_error("the first operand must be f32, f16 or bf16");
  }
  DType result = a.dtype;
  if (is_quantised(b.dtype)) {
    if (b.shape.size() != 2 || !tb) {
      return shape_error("a block-quantised weight is [n, k], used with transpose_b = true");
    }
  } else {
    if (!is_float(b.dtype) || b.dtype == DType::kF64) {
      return dtype_error("the second operand must be f32, f16, bf16 or block-quantised");
    }
    BSM_ASSIGN(result, promote(a.dtype, b.dtype));
  }
  const Matrix ma = as_matrix(a, ta);
  const Matrix mb = as_matrix(b, tb);
  if (!(ma.cols == mb.rows)) {
    return shape_error("inner sizes differ: " + ma.cols.to_string(in.extents) + " and " +
                       mb.rows.to_string(in.extents));
  }
  const Shape batches[] = {ma.batch, mb.batch};
  BSM_ASSIGN(Shape shape, broadcast_shapes(batches, in.extents));
  if (shape.size() > kBatchDims) {
    return shape_error("at most " + std::to_string(kBatchDims) + " batch axes");
  }
  shape.push_back(ma.rows);
  shape.push_back(mb.cols);
  return std::vector<Type>{{result, std::move(shape)}};
}

// Strides in elements of one operand's batch axes, right-aligned to `rank`, 0 where it broadcasts.
std::vector<Dim> batch_strides(const Type& type, size_t rank) {
  const std::vector<Dim> strides = contiguous_strides(type.shape);
  const size_t own = type.shape.size() - 2;
  std::vector<Dim> out(rank);
  for (size_t i = 0; i < own; ++i) {
    if (!(type.shape[i] == Dim(1))) out[rank - own + i] = strides[i];
  }
  return out;
}

// Weights in blocks: the product that `linear` computes, in exact mode.
Status lower_quantised(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  const Tensor& w = lowering.operand(node, 1);
  if (node.attrs.get<bool>("transpose_a")) {
    return Error{ErrorKind::kUnsupported,
                 "a transposed first operand with a block-quantised weight; transpose it before",
                 {}};
  }
  Params<abi::LinearParams> params;
  abi::LinearParams& p = params.value;
  const Dim m = num_elements(Shape(x.shape.begin(), x.shape.end() - 1));
  params.set(p.m, m);
  p.k = w.shape[1].constant();
  p.n[0] = w.shape[0].constant();
  p.weight_dtype[0] = static_cast<uint32_t>(w.dtype);
  p.x_dtype = static_cast<uint32_t>(x.dtype);
  p.out_dtype = p.x_dtype;
  p.n_weights = 1;
  const Tensor out = lowering.define(node);
  const Tensor scratch = lowering.scratch(m * Dim(abi::linear_scratch_row_bytes(p)));
  lowering.emit(
      node, "linear__" + std::string(to_string(w.dtype)) + "_" + std::string(to_string(x.dtype)),
      {Lowering::read(x), Lowering::read(w), Lowering::write(out), Lowering::read_write(scratch)},
      params, Dim(2 * p.k * p.n[0]) * m);
  return {};
}

Status lower_matmul(Lowering& lowering, const Node& node) {
  const Tensor& a = lowering.operand(node, 0);
  const Tensor& b = lowering.operand(node, 1);
  if (is_quantised(b.dtype)) return lower_quantised(lowering, node);
  const Type ta{a.dtype, a.shape};
  const Type tb{b.dtype, b.shape};
  const bool flip_a = node.attrs.get<bool>("transpose_a");
  const bool flip_b = node.attrs.get<bool>("transpose_b");
  const Matrix ma = as_matrix(ta, flip_a);
  const Matrix mb = as_matrix(tb, flip_b);
  const Tensor out = lowering.define(node);

  Params<abi::MatmulParams> params;
  abi::MatmulParams& p = params.value;
  params.set(p.m, ma.rows);
  params.set(p.k, ma.cols);
  params.set(p.n, mb.cols);
  const size_t rank = out.shape.size() - 2;
  const size_t lead = kBatchDims - rank;
  const std::vector<Dim> sa = batch_strides(ta, rank);
  const std::vector<Dim> sb = batch_strides(tb, rank);
  const std::vector<Dim> so = contiguous_strides(out.shape);
  Dim batches(1);
  for (size_t i = 0; i < kBatchDims; ++i) {
    const bool real = i >= lead;
    params.set(p.batch[i], real ? out.shape[i - lead] : Dim(1));
    params.set(p.a_batch[i], real ? sa[i - lead] : Dim(0));
    params.set(p.b_batch[i], real ? sb[i - lead] : Dim(0));
    params.set(p.out_batch[i], real ? so[i - lead] : Dim(0));
    if (real) batches = batches * out.shape[i - lead];
  }
  const Dim a_cols = ta.shape.back();
  const Dim b_cols = tb.shape.back();
  params.set(p.a_row, flip_a ? Dim(1) : a_cols);
  params.set(p.a_col, flip_a ? a_cols : Dim(1));
  params.set(p.b_row, flip_b ? Dim(1) : b_cols);
  params.set(p.b_col, flip_b ? b_cols : Dim(1));
  params.set(p.out_row, mb.cols);
  p.a_dtype = static_cast<uint32_t>(a.dtype);
  p.b_dtype = static_cast<uint32_t>(b.dtype);
  p.out_dtype = static_cast<uint32_t>(out.dtype);
  lowering.emit(
      node, "matmul__" + std::string(to_string(a.dtype)) + "_" + std::string(to_string(b.dtype)),
      {Lowering::read(a), Lowering::read(b), Lowering::write(out)}, params,
      Dim(2) * batches * ma.rows * ma.cols * mb.cols);
  return {};
}

// linear's operands by role; see kernel_abi/linear_params.h.
struct LinearOperands {
  size_t norm_weight = 0;
  size_t norm_bias = 0;
  size_t weights = 0;
  size_t biases = 0;
  size_t residual = 0;
  size_t total = 0;
  int64_t n_weights = 0;
};

LinearOperands linear_operands(const Attrs& attrs) {
  LinearOperands o;
  o.n_weights = attrs.get<int64_t>("n_weights", 1);
  size_t next = 1;
  if (!attrs.get<std::string>("norm").empty()) {
    o.norm_weight = next++;
    if (attrs.get<bool>("has_norm_bias")) o.norm_bias = next++;
  }
  o.weights = next;
  next += static_cast<size_t>(o.n_weights);
  if (attrs.get<bool>("has_bias")) {
    o.biases = next;
    next += static_cast<size_t>(o.n_weights);
  }
  if (attrs.get<bool>("has_residual")) o.residual = next++;
  o.total = next;
  return o;
}

Result<abi::Activation> parse_activation(const std::string& name) {
  static constexpr std::pair<const char*, abi::Activation> kNames[] = {
      {"", abi::kActNone},        {"silu", abi::kActSilu},
      {"gelu", abi::kActGeluErf}, {"gelu_tanh", abi::kActGeluTanh},
      {"relu", abi::kActRelu},    {"sigmoid", abi::kActSigmoid},
      {"tanh", abi::kActTanh}};
  for (const auto& [text_name, value] : kNames) {
    if (name == text_name) return value;
  }
  return Error{ErrorKind::kInvalidArgument, "unknown activation `" + name + "`", {}};
}

Result<std::vector<Type>> infer_linear(const InferInput& in) {
  const int64_t n_weights = in.attrs.get<int64_t>("n_weights", 1);
  if (n_weights < 1 || n_weights > 4) {
    return Error{ErrorKind::kInvalidArgument, "1 to 4 weights", {}};
  }
  const LinearOperands o = linear_operands(in.attrs);
  if (in.operands.size() != o.total) {
    return Error{ErrorKind::kInvalidArgument,
                 "the attributes call for " + std::to_string(o.total) + " operands, got " +
                     std::to_string(in.operands.size()),
                 {}};
  }
  BSM_TRY(parse_activation(in.attrs.get<std::string>("activation")));
  const std::string norm = in.attrs.get<std::string>("norm");
  if (norm != "" && norm != "rms" && norm != "layer") {
    return Error{ErrorKind::kInvalidArgument, "norm is \"\", \"rms\" or \"layer\"", {}};
  }
  const bool gated = in.attrs.get<bool>("gated");
  const bool has_residual = o.residual != 0;
  if (gated && n_weights != 2) return shape_error("a gated linear has two weights");
  if (has_residual && !gated && n_weights != 1) return shape_error("a residual needs one result");
  const Type& x = in.operands[0];
  if (x.shape.empty()) return shape_error("the input needs an axis");
  if (!is_float(x.dtype) || x.dtype == DType::kF64) return dtype_error("the input must be a float");
  const Dim& k = x.shape.back();
  if (!k.is_constant()) return shape_error("the inner size must be fixed");
  const auto vector_of = [&](size_t index, const Dim& n, const char* what) -> Status {
    const Type& t = in.operands[index];
    if (t.dtype != DType::kF32 || t.shape != Shape{n}) {
      return shape_error(std::string(what) + " must be f32[" + n.to_string(in.extents) + "], got " +
                         text(t, in.extents));
    }
    return {};
  };
  if (o.norm_weight != 0) BSM_TRY(vector_of(o.norm_weight, k, "the norm's weight"));
  if (o.norm_bias != 0) BSM_TRY(vector_of(o.norm_bias, k, "the norm's bias"));
  std::vector<Type> results;
  for (size_t i = 0; i < static_cast<size_t>(n_weights); ++i) {
    const Type& w = in.operands[o.weights + i];
    if (w.shape.size() != 2 || !(w.shape[1] == k)) {
      return shape_error("weight " + std::to_string(i) + " must be [n, " + k.to_string(in.extents) +
                         "], got " + text(w, in.extents));
    }
    if (!w.shape[0].is_constant()) return shape_error("weights have a fixed number of rows");
    if (!is_quantised(w.dtype) && (!is_float(w.dtype) || w.dtype == DType::kF64)) {
      return dtype_error("a weight must be f32, f16, bf16 or block-quantised");
    }
    if (gated && !(w.shape[0] == in.operands[o.weights].shape[0])) {
      return shape_error("the two weights of a gated linear have the same shape");
    }
    if (o.biases != 0) BSM_TRY(vector_of(o.biases + i, w.shape[0], "a bias"));
    if (gated && i > 0) continue;
    Type result{x.dtype, x.shape};
    result.shape.back() = w.shape[0];
    results.push_back(std::move(result));
  }
  if (has_residual && !(in.operands[o.residual] == results[0])) {
    return shape_error("the residual must be " + text(results[0], in.extents) + ", got " +
                       text(in.operands[o.residual], in.extents));
  }
  return results;
}

Status lower_linear(Lowering& lowering, const Node& node) {
  const LinearOperands o = linear_operands(node.attrs);
  const Tensor& x = lowering.operand(node, 0);
  Params<abi::LinearParams> params;
  abi::LinearParams& p = params.value;
  Shape rows(x.shape.begin(), x.shape.end() - 1);
  const Dim m = num_elements(rows);
  const Dim k = x.shape.back();
  params.set(p.m, m);
  p.k = k.constant();
  p.x_dtype = static_cast<uint32_t>(x.dtype);
  p.n_weights = static_cast<uint32_t>(o.n_weights);
  const std::string norm = node.attrs.get<std::string>("norm");
  p.norm = norm.empty() ? abi::kNormNone : norm == "rms" ? abi::kNormRms : abi::kNormLayer;
  p.norm_epsilon = static_cast<float>(node.attrs.get<double>("epsilon"));
  p.has_norm_bias = o.norm_bias != 0;
  p.has_bias = o.biases != 0;
  BSM_ASSIGN(p.activation, parse_activation(node.attrs.get<std::string>("activation")));
  p.gated = node.attrs.get<bool>("gated");
  p.has_residual = o.residual != 0;
  p.int8_activations = node.attrs.get<bool>("int8");
  std::vector<Operand> operands;
  for (size_t i = 0; i < o.total; ++i)
    operands.push_back(Lowering::read(lowering.operand(node, i)));
  Dim products;
  std::string weight_names;
  for (size_t i = 0; i < static_cast<size_t>(o.n_weights); ++i) {
    const Tensor& w = lowering.operand(node, o.weights + i);
    p.n[i] = w.shape[0].constant();
    p.weight_dtype[i] = static_cast<uint32_t>(w.dtype);
    products += w.shape[0];
    const std::string name(to_string(w.dtype));
    if (weight_names.find(name) == std::string::npos) {
      weight_names += (weight_names.empty() ? "" : "_") + name;
    }
  }
  for (size_t i = 0; i < node.results.size(); ++i) {
    const Tensor out = lowering.define(node, i);
    p.out_dtype = static_cast<uint32_t>(out.dtype);
    operands.push_back(Lowering::write(out));
  }
  const Tensor scratch = lowering.scratch(m * Dim(abi::linear_scratch_row_bytes(p)));
  operands.push_back(Lowering::read_write(scratch));
  // The shape family in the name: what a device's kernel choice starts from.
  const int64_t most_rows = m.evaluate(lowering.maxima());
  const char* family = most_rows <= 1 ? "matvec" : most_rows <= 16 ? "batch" : "matmul";
  lowering.emit(node,
                "linear__" + weight_names + "_" + std::string(to_string(x.dtype)) +
                    (p.int8_activations != 0 ? "_i8" : "") + "__" + family,
                std::move(operands), params, Dim(2) * m * k * products);
  return {};
}

}  // namespace

OpRows matmul_ops() {
  return {{Op::k_matmul,
           {infer_matmul, lower_matmul, {{"transpose_a", false}, {"transpose_b", false}}}},
          {Op::k_linear,
           {infer_linear,
            lower_linear,
            {{"n_weights", int64_t{1}},
             {"norm", std::string()},
             {"epsilon", 0.0},
             {"has_norm_bias", false},
             {"has_bias", false},
             {"activation", std::string()},
             {"gated", false},
             {"has_residual", false},
             {"int8", false}}}}};
}

}  // namespace bessemer::ops
