// layer_norm, rms_norm, group_norm, and the fusions add_norm and norm_add.
#include "kernel_abi/norm_params.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

bool is_compute_float(DType d) { return is_float(d) && d != DType::kF64; }

// Weight and bias: the operands from `next` on that the attributes call for, each f32 [size].
Status check_vectors(const InferInput& in, size_t next, bool has_weight, bool has_bias,
                     const Dim& size) {
  const size_t want = next + (has_weight ? 1u : 0u) + (has_bias ? 1u : 0u);
  if (in.operands.size() != want) {
    return Error{ErrorKind::kInvalidArgument,
                 "takes " + std::to_string(want) + " operands here, got " +
                     std::to_string(in.operands.size()),
                 {}};
  }
  for (; next < want; ++next) {
    const Type type{DType::kF32, {size}};
    if (in.operands[next] == type) continue;
    const std::string message = "weight and bias must be " + to_string(type, in.extents) +
                                ", got " + to_string(in.operands[next], in.extents);
    return in.operands[next].dtype != DType::kF32 ? dtype_error(message) : shape_error(message);
  }
  return {};
}

Status check_input(const InferInput& in) {
  const Type& x = in.operands[0];
  if (!is_compute_float(x.dtype)) return dtype_error("normalises f32, f16 or bf16");
  if (x.shape.empty()) return shape_error("needs at least one axis");
  if (!(in.attrs.get<double>("epsilon") >= 0)) {
    return Error{ErrorKind::kInvalidArgument, "epsilon must not be negative", {}};
  }
  return {};
}

Result<std::vector<Type>> infer_row_norm(const InferInput& in) {
  BSM_TRY(check_input(in));
  BSM_TRY(check_vectors(in, 1, in.attrs.get<bool>("has_weight"), in.attrs.get<bool>("has_bias"),
                        in.operands[0].shape.back()));
  return std::vector<Type>{in.operands[0]};
}

Result<std::vector<Type>> infer_group_norm(const InferInput& in) {
  BSM_TRY(check_input(in));
  const Shape& shape = in.operands[0].shape;
  if (shape.size() < 2) return shape_error("group_norm needs [n, channels, ...]");
  const int64_t groups = in.attrs.get<int64_t>("groups", 1);
  if (!shape[1].is_constant() || groups < 1 || shape[1].constant() % groups != 0) {
    return shape_error("channels " + shape[1].to_string(in.extents) + " do not split into " +
                       std::to_string(groups) + " groups");
  }
  BSM_TRY(check_vectors(in, 1, in.attrs.get<bool>("has_weight"), in.attrs.get<bool>("has_bias"),
                        shape[1]));
  return std::vector<Type>{in.operands[0]};
}

Result<std::vector<Type>> infer_fused(const InferInput& in) {
  BSM_TRY(check_input(in));
  if (in.operands.size() < 3) {
    return Error{ErrorKind::kInvalidArgument, "takes x, residual and weight", {}};
  }
  if (!(in.operands[0] == in.operands[1])) return shape_error("x and residual differ in type");
  const std::string norm = in.attrs.get<std::string>("norm");
  if (norm != "rms" && norm != "layer") {
    return Error{ErrorKind::kInvalidArgument, "norm is \"rms\" or \"layer\"", {}};
  }
  BSM_TRY(check_vectors(in, 2, true, in.attrs.get<bool>("has_bias"), in.operands[0].shape.back()));
  if (in.op == Op::k_add_norm) return std::vector<Type>{in.operands[0], in.operands[0]};
  return std::vector<Type>{in.operands[0]};
}

struct Kind {
  abi::Norm norm;
  abi::NormMode mode;
};

Kind kind_of(const Node& node) {
  const abi::Norm fused =
      node.attrs.get<std::string>("norm") == "layer" ? abi::kNormLayer : abi::kNormRms;
  switch (node.op) {
    case Op::k_add_norm:
      return {fused, abi::kNormAddFirst};
    case Op::k_norm_add:
      return {fused, abi::kNormAddAfter};
    case Op::k_rms_norm:
      return {abi::kNormRms, abi::kNormPlain};
    default:
      return {abi::kNormLayer, abi::kNormPlain};
  }
}

Status lower_norm(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  const Kind kind = kind_of(node);
  Params<abi::NormParams> params;
  abi::NormParams& p = params.value;
  p.groups = 1;
  p.spatial = 1;
  if (node.op == Op::k_group_norm) {
    p.groups = node.attrs.get<int64_t>("groups", 1);
    const Shape inner(x.shape.begin() + 2, x.shape.end());
    const Dim spatial = num_elements(inner);
    params.set(p.rows, x.shape[0] * Dim(p.groups));
    params.set(p.cols, Dim(x.shape[1].constant() / p.groups) * spatial);
    params.set(p.spatial, spatial);
  } else {
    const Shape outer(x.shape.begin(), x.shape.end() - 1);
    params.set(p.rows, num_elements(outer));
    params.set(p.cols, x.shape.back());
  }
  p.kind = kind.norm;
  p.mode = kind.mode;
  p.dtype = static_cast<uint32_t>(x.dtype);
  const bool fused = kind.mode != abi::kNormPlain;
  p.has_weight = fused || node.attrs.get<bool>("has_weight");
  p.has_bias = node.attrs.get<bool>("has_bias");
  p.epsilon = static_cast<float>(node.attrs.get<double>("epsilon"));
  std::vector<Operand> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(Lowering::read(lowering.operand(node, i)));
  }
  const auto out_index = static_cast<uint32_t>(operands.size());
  std::vector<InPlace> in_place = {{out_index, 0}};
  operands.push_back(Lowering::write(lowering.define(node, 0)));
  if (kind.mode == abi::kNormAddFirst) {
    operands.push_back(Lowering::write(lowering.define(node, 1)));
    // The sum is written before it is read again, row by row: it may take either operand's place.
    in_place = {{out_index + 1, 0}, {out_index + 1, 1}};
  } else if (kind.mode == abi::kNormAddAfter) {
    in_place.push_back({out_index, 1});
  }
  lowering.emit(node, "norm__" + std::string(to_string(x.dtype)), std::move(operands), params,
                Dim(4) * num_elements(x.shape), std::move(in_place));
  return {};
}

}  // namespace

OpRows norm_ops() {
  const std::vector<AttrSpec> plain = {
      {"epsilon", 0.0}, {"has_weight", false}, {"has_bias", false}};
  std::vector<AttrSpec> group = plain;
  group.push_back({"groups", int64_t{1}});
  const std::vector<AttrSpec> fused = {
      {"norm", std::string()}, {"epsilon", 0.0}, {"has_bias", false}};
  return {{Op::k_layer_norm, {infer_row_norm, lower_norm, plain}},
          {Op::k_rms_norm, {infer_row_norm, lower_norm, plain}},
          {Op::k_group_norm, {infer_group_norm, lower_norm, group}},
          {Op::k_add_norm, {infer_fused, lower_norm, fused}},
          {Op::k_norm_add, {infer_fused, lower_norm, fused}}};
}

}  // namespace bessemer::ops
