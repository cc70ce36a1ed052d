// sum mean prod max min any all argmax argmin softmax log_softmax cumsum cumprod cummax cummin
// top_k.
#include <algorithm>
#include <limits>

#include "kernel_abi/reduce_params.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

bool is_compute_float(DType d) { return is_float(d) && d != DType::kF64; }
bool is_numeric(DType d) { return is_compute_float(d) || is_integer(d); }

// A tensor seen as [outer, axis, inner] around axes [first, last).
struct Around {
  Dim outer{1};
  Dim axis{1};
  Dim inner{1};
};

Around around(const Shape& shape, size_t first, size_t last) {
  Around a;
  for (size_t i = 0; i < shape.size(); ++i) {
    Dim& part = i < first ? a.outer : i < last ? a.axis : a.inner;
    part = part * shape[i];
  }
  return a;
}

// The reduced axes, normalised, sorted, without repeats.
Result<std::vector<int>> reduced_axes(const InferInput& in) {
  std::vector<int> axes;
  for (int64_t axis : in.attrs.get<std::vector<int64_t>>("axes")) {
    BSM_ASSIGN(const int a, normalise_axis(axis, in.operands[0].shape.size()));
    axes.push_back(a);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return Error{ErrorKind::kInvalidArgument, "an axis is given twice", {}};
  }
  return axes;
}

Shape without(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    if (!reduced) out.push_back(shape[i]);
    if (reduced && keepdims) out.emplace_back(1);
  }
  return out;
}

Result<std::vector<Type>> infer_reduce(const InferInput& in) {
  const Type& x = in.operands[0];
  const bool logical = in.op == Op::k_any || in.op == Op::k_all;
  if (logical && x.dtype != DType::kBool) return dtype_error("needs bool; compare first");
  if (in.op == Op::k_mean && !is_compute_float(x.dtype)) {
    return dtype_error("needs f32, f16 or bf16; cast first");
  }
  if (!logical && !is_numeric(x.dtype)) return dtype_error("needs a numeric dtype; cast first");
  BSM_ASSIGN(const std::vector<int> axes, reduced_axes(in));
  if (in.op == Op::k_max || in.op == Op::k_min || in.op == Op::k_mean) {
    for (int a : axes) {
      if (x.shape[static_cast<size_t>(a)] == Dim(0)) {
        return shape_error("has no value over the empty axis " + std::to_string(a));
      }
    }
  }
  return std::vector<Type>{{x.dtype, without(x.shape, axes, in.attrs.get<bool>("keepdims"))}};
}

abi::Reduction reduction_of(Op op) {
  switch (op) {
    case Op::k_prod:
    case Op::k_cumprod:
      return abi::kReduceProd;
    case Op::k_max:
    case Op::k_cummax:
      return abi::kReduceMax;
    case Op::k_min:
    case Op::k_cummin:
      return abi::kReduceMin;
    case Op::k_any:
      return abi::kReduceAny;
    case Op::k_all:
      return abi::kReduceAll;
    default:
      return abi::kReduceSum;  // sum, mean, cumsum
  }
}

// Adjacent axes are reduced at once, groups of them from the last to the first.
Status lower_reduce(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  std::vector<size_t> axes;
  for (int64_t axis : node.attrs.get<std::vector<int64_t>>("axes")) {
    BSM_ASSIGN(const int a, normalise_axis(axis, x.shape.size()));
    axes.push_back(static_cast<size_t>(a));
  }
  std::sort(axes.begin(), axes.end());
  const Tensor out = lowering.define(node);
  if (axes.empty()) {
    lowering.emit_copy(node, x, out);
    return {};
  }
  Tensor from = x;
  Dim count(1);
  for (size_t a : axes) count = count * x.shape[a];
  while (!axes.empty()) {
    const size_t last = axes.back() + 1;
    size_t first = last;
    while (!axes.empty() && axes.back() + 1 == first) {
      first = axes.back();
      axes.pop_back();
    }
    const Around a = around(from.shape, first, last);
    Tensor to = out;
    if (!axes.empty()) {
      const DType dtype = is_float(x.dtype) ? DType::kF32 : x.dtype;
      Shape shape = from.shape;
      std::fill(shape.begin() + static_cast<int64_t>(first),
                shape.begin() + static_cast<int64_t>(last), Dim(1));
      to = lowering.scratch(num_elements(shape) * Dim(info(dtype).block_bytes));
      to.dtype = dtype;
      to.shape = shape;
    }
    Params<abi::ReduceParams> params;
    abi::ReduceParams& p = params.value;
    params.set(p.outer, a.outer);
    params.set(p.axis, a.axis);
    params.set(p.inner, a.inner);
    const bool divide = node.op == Op::k_mean && axes.empty();
    params.set(p.divisor, divide ? count : Dim(1));
    p.kind = reduction_of(node.op);
    p.x_dtype = static_cast<uint32_t>(from.dtype);
    p.out_dtype = static_cast<uint32_t>(to.dtype);
    lowering.emit(node, "reduce__" + std::string(to_string(from.dtype)),
                  {Lowering::read(from), Lowering::write(to)}, params, num_elements(from.shape));
    from = to;
  }
  return {};
}

// An op along attribute `axis`, -1 by default.
Result<int> axis_of(const Attrs& attrs, size_t rank) {
  return normalise_axis(attrs.get<int64_t>("axis", -1), rank);
}

Result<std::vector<Type>> infer_arg_reduce(const InferInput& in) {
  const Type& x = in.operands[0];
  if (!is_numeric(x.dtype)) return dtype_error("needs a numeric dtype");
  BSM_ASSIGN(const int axis, axis_of(in.attrs, x.shape.size()));
  if (x.shape[static_cast<size_t>(axis)] == Dim(0))
    return shape_error("has no index of an empty axis");
  return std::vector<Type>{{DType::kI32, without(x.shape, {axis}, in.attrs.get<bool>("keepdims"))}};
}

template <class P>
Status set_around(Params<P>& params, const Node& node, const Tensor& x) {
  BSM_ASSIGN(const int axis, axis_of(node.attrs, x.shape.size()));
  const Around a = around(x.shape, static_cast<size_t>(axis), static_cast<size_t>(axis) + 1);
  params.set(params.value.outer, a.outer);
  params.set(params.value.axis, a.axis);
  params.set(params.value.inner, a.inner);
  params.value.dtype = static_cast<uint32_t>(x.dtype);
  return {};
}

Status lower_arg_reduce(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  Params<abi::ArgReduceParams> params;
  BSM_TRY(set_around(params, node, x));
  params.value.want_max = node.op == Op::k_argmax;
  const Tensor out = lowering.define(node);
  lowering.emit(node, "arg_reduce__" + std::string(to_string(x.dtype)),
                {Lowering::read(x), Lowering::write(out)}, params, num_elements(x.shape));
  return {};
}

Result<std::vector<Type>> infer_softmax(const InferInput& in) {
  const Type& x = in.operands[0];
  if (!is_compute_float(x.dtype)) return dtype_error("needs f32, f16 or bf16; cast first");
  BSM_TRY(axis_of(in.attrs, x.shape.size()));
  return std::vector<Type>{x};
}

Status lower_softmax(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  Params<abi::SoftmaxParams> params;
  BSM_TRY(set_around(params, node, x));
  params.value.log = node.op == Op::k_log_softmax;
  const Tensor out = lowering.define(node);
  lowering.emit(node, "softmax__" + std::string(to_string(x.dtype)),
                {Lowering::read(x), Lowering::write(out)}, params, Dim(4) * num_elements(x.shape),
                {{1, 0}});
  return {};
}

Result<std::vector<Type>> infer_cumulative(const InferInput& in) {
  const Type& x = in.operands[0];
  if (!is_numeric(x.dtype)) return dtype_error("needs a numeric dtype; cast first");
  BSM_TRY(axis_of(in.attrs, x.shape.size()));
  return std::vector<Type>{x};
}

Status lower_cumulative(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  Params<abi::CumulativeParams> params;
  BSM_TRY(set_around(params, node, x));
  params.value.kind = reduction_of(node.op);
  params.value.exclusive = node.attrs.get<bool>("exclusive");
  params.value.reverse = node.attrs.get<bool>("reverse");
  const Tensor out = lowering.define(node);
  lowering.emit(node, "cumulative__" + std::string(to_string(x.dtype)),
                {Lowering::read(x), Lowering::write(out)}, params, num_elements(x.shape), {{1, 0}});
  return {};
}

Result<std::vector<Type>> infer_top_k(const InferInput& in) {
  const Type& x = in.operands[0];
  if (!is_numeric(x.dtype)) return dtype_error("needs a numeric dtype");
  if (x.shape.empty()) return shape_error("needs at least one axis");
  const int64_t k = in.attrs.get<int64_t>("k", 1);
  const Dim& axis = x.shape.back();
  if (!axis.is_constant()) return shape_error("the last axis must be fixed");
  if (k < 0 || k > axis.constant() || axis.constant() > std::numeric_limits<int32_t>::max()) {
    return Error{ErrorKind::kInvalidArgument,
                 "k must be 0 to " + std::to_string(axis.constant()) + ", got " + std::to_string(k),
                 {}};
  }
  Shape shape = x.shape;
  shape.back() = Dim(k);
  return std::vector<Type>{{x.dtype, shape}, {DType::kI32, shape}};
}

Status lower_top_k(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  Params<abi::TopKParams> params;
  abi::TopKParams& p = params.value;
  params.set(p.rows, num_elements(Shape(x.shape.begin(), x.shape.end() - 1)));
  params.set(p.axis, x.shape.back());
  p.k = node.attrs.get<int64_t>("k", 1);
  p.dtype = static_cast<uint32_t>(x.dtype);
  const Tensor values = lowering.define(node, 0);
  const Tensor indices = lowering.define(node, 1);
  lowering.emit(node, "top_k__" + std::string(to_string(x.dtype)),
                {Lowering::read(x), Lowering::write(values), Lowering::write(indices)}, params,
                num_elements(x.shape));
  return {};
}

}  // namespace

OpRows reduction_ops() {
  const std::vector<AttrSpec> over_axes = {{"axes", std::vector<int64_t>()}, {"keepdims", false}};
  const std::vector<AttrSpec> over_axis = {{"axis", int64_t{0}}, {"keepdims", false}};
  const std::vector<AttrSpec> along = {{"axis", int64_t{0}}};
  const std::vector<AttrSpec> running = {
      {"axis", int64_t{0}}, {"exclusive", false}, {"reverse", false}};
  OpRows rows;
  for (Op op : {Op::k_sum, Op::k_mean, Op::k_prod, Op::k_max, Op::k_min, Op::k_any, Op::k_all}) {
    rows.push_back({op, {infer_reduce, lower_reduce, over_axes}});
  }
  for (Op op : {Op::k_argmax, Op::k_argmin}) {
    rows.push_back({op, {infer_arg_reduce, lower_arg_reduce, over_axis}});
  }
  for (Op op : {Op::k_softmax, Op::k_log_softmax}) {
    rows.push_back({op, {infer_softmax, lower_softmax, along}});
  }
  for (Op op : {Op::k_cumsum, Op::k_cumprod, Op::k_cummax, Op::k_cummin}) {
    rows.push_back({op, {infer_cumulative, lower_cumulative, running}});
  }
  rows.push_back({Op::k_top_k, {infer_top_k, lower_top_k, {{"k", int64_t{0}}}}});
  return rows;
}

}  // namespace bessemer::ops
