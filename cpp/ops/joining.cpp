// Ops that join tensors or make elements: concat, pad, tril, triu, iota.
//
// Attributes:
//   concat      axis
//   pad         before, after: dims, one an axis; value: a number that the dtype holds exactly
//               (floats: rounded)
//   tril, triu  k
//   iota        shape: dims; axis; dtype: integer or float
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "kernel_abi/copy_params.h"
#include "ops/dim_bounds.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

using Types = std::vector<Type>;

Error argument_error(std::string message) {
  return {ErrorKind::kInvalidArgument, std::move(message), {}};
}

Status check_joined(const Type& x) {
  if (is_quantised(x.dtype)) {
    return dtype_error("block-quantised values only feed matmul and embedding, got " +
                       std::string(to_string(x.dtype)));
  }
  return {};
}

Status lower_view(Lowering& lowering, const Node& node) {
  lowering.define_view(node, 0, lowering.operand(node, 0), Dim(0));
  return {};
}

// ---- concat ----

Result<Types> infer_concat(const InferInput& in) {
  const Type& first = in.operands[0];
  BSM_TRY(check_joined(first));
  BSM_ASSIGN(const int axis, normalise_axis(in.attrs.get<int64_t>("axis"), first.shape.size()));
  const auto at = static_cast<size_t>(axis);
  Type result = first;
  result.shape[at] = Dim(0);
  for (const Type& x : in.operands) {
    if (x.dtype != first.dtype) return dtype_error("operands differ in dtype; cast first");
    bool fits = x.shape.size() == first.shape.size();
    for (size_t i = 0; fits && i < x.shape.size(); ++i) {
      fits = i == at || x.shape[i] == first.shape[i];
    }
    if (!fits) {
      return shape_error(to_string(x.shape, in.extents) + " does not join " +
                         to_string(first.shape, in.extents) + " along axis " +
                         std::to_string(axis) + ": other axes must agree");
    }
    result.shape[at] += x.shape[at];
  }
  return Types{result};
}

Dim product(const Shape& shape, size_t begin, size_t end) {
  return num_elements(Shape(shape.begin() + static_cast<ptrdiff_t>(begin),
                            shape.begin() + static_cast<ptrdiff_t>(end)));
}

Status lower_concat(Lowering& lowering, const Node& node) {
  const Shape& shape = node.results[0].shape;
  BSM_ASSIGN(const int axis, normalise_axis(node.attrs.get<int64_t>("axis"), shape.size()));
  const auto at = static_cast<size_t>(axis);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Tensor& x = lowering.operand(node, i);
    if (!(x.shape[at] == Dim(0))) inputs.push_back(x);
  }
  if (inputs.size() == 1) {
    lowering.define_view(node, 0, inputs[0], Dim(0));
    return {};
  }
  const Dim outer = product(shape, 0, at);
  const Dim inner =
      product(shape, at + 1, shape.size()) * Dim(info(node.results[0].dtype).block_bytes);
  const Tensor out = lowering.define(node);
  // Chunks of as many inputs as the kernel takes. With one row each chunk is a range of its own;
  // with more they interleave, so that a later chunk reads what it leaves alone.
  const bool one_row = outer == Dim(1);
  constexpr size_t kMost = abi::kConcatMaxInputs;
  Dim column;
  for (size_t begin = 0; begin < inputs.size(); begin += kMost) {
    const size_t end = std::min(begin + kMost, inputs.size());
    Params<abi::ConcatParams> params;
    params.value.n_inputs = static_cast<uint32_t>(end - begin);
    params.set(params.value.outer, outer);
    params.set(params.value.out_row_bytes, shape[at] * inner);
    params.set(params.value.column, one_row ? Dim(0) : column);
    std::vector<Operand> operands;
    Dim bytes;
    for (size_t i = begin; i < end; ++i) {
      const Dim row = inputs[i].shape[at] * inner;
      params.set(params.value.row_bytes[i - begin], row);
      operands.push_back(Lowering::read(inputs[i]));
      bytes += row;
    }
    if (one_row) {
      operands.push_back(Lowering::range(out, Access::kWrite, column, bytes));
    } else {
      operands.push_back(begin == 0 ? Lowering::write(out) : Lowering::read_write(out));
    }
    lowering.emit(node, "concat", std::move(operands), params, Dim(0));
    column += bytes;
  }
  return {};
}

// ---- pad ----

// The bits of `value` in `dtype`.
Result<int64_t> element_bits(DType dtype, double value) {
  const auto refuse = [&] {
    return argument_error("`value` " + double_to_string(value) + " is not a value of " +
                          std::string(to_string(dtype)));
  };
  if (is_float(dtype)) {
    if (dtype == DType::kF64) return std::bit_cast<int64_t>(value);
    const auto f = static_cast<float>(value);
    if (dtype == DType::kF32) return static_cast<int64_t>(std::bit_cast<uint32_t>(f));
    return static_cast<int64_t>(dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f));
  }
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) return refuse();
  const auto integer = static_cast<int64_t>(value);
  int64_t low = 0;
  int64_t high = 1;
  if (dtype != DType::kBool) {
    const int bits = 8 * info(dtype).block_bytes;
    const bool is_unsigned = dtype == DType::kU8 || dtype == DType::kU32;
    high = std::numeric_limits<int64_t>::max() >> (64 - bits);
    low = is_unsigned ? 0 : -high - 1;
    if (is_unsigned) high = 2 * high + 1;
  }
  if (integer < low || integer > high) return refuse();
  return integer;
}

Result<Types> infer_pad(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_joined(x));
  Shape shape = x.shape;
  for (const char* name : {"before", "after"}) {
    const auto widths = in.attrs.get<Shape>(name);
    if (widths.size() != shape.size()) {
      return argument_error("`" + std::string(name) + "` needs " + std::to_string(shape.size()) +
                            " entries, one an axis, got " + to_string(widths, in.extents));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!never_negative(widths[i], in.extents)) {
        return shape_error("`" + std::string(name) + "` " + to_string(widths, in.extents) +
                           " may be negative; use slice to cut");
      }
      shape[i] += widths[i];
    }
  }
  BSM_TRY(element_bits(x.dtype, in.attrs.get<double>("value")));
  return Types{{x.dtype, std::move(shape)}};
}

struct PadAxis {
  Dim in;
  Dim before;
  Dim out;
};

Status lower_pad(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const Shape& shape = node.results[0].shape;
  if (shape == x.shape) return lower_view(lowering, node);
  const auto before = node.attrs.get<Shape>("before");
  std::vector<PadAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!axes.empty() && x.shape[i] == shape[i]) {
      // An axis that is not padded makes the elements of the one before it longer.
      PadAxis& last = axes.back();
      last = {last.in * shape[i], last.before * shape[i], last.out * shape[i]};
    } else if (!(x.shape[i] == Dim(1) && shape[i] == Dim(1))) {
      axes.push_back({x.shape[i], before[i], shape[i]});
    }
  }
  if (axes.size() > static_cast<size_t>(abi::kCopyMaxRank)) {
    return Error{ErrorKind::kUnsupported,
                 "pads " + std::to_string(axes.size()) + " axes; the kernel takes " +
                     std::to_string(abi::kCopyMaxRank),
                 {}};
  }
  Params<abi::PadParams> params;
  params.value.rank = static_cast<uint32_t>(axes.size());
  params.value.element_bytes = static_cast<uint32_t>(info(x.dtype).block_bytes);
  BSM_ASSIGN(params.value.value, element_bits(x.dtype, node.attrs.get<double>("value")));
  for (size_t i = 0; i < axes.size(); ++i) {
    params.set(params.value.in_dims[i], axes[i].in);
    params.set(params.value.before[i], axes[i].before);
    params.set(params.value.out_dims[i], axes[i].out);
  }
  const Tensor out = lowering.define(node);
  lowering.emit(node, "pad", {Lowering::read(x), Lowering::write(out)}, params, Dim(0));
  return {};
}

// ---- tril, triu ----

Result<Types> infer_tri(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_joined(x));
  if (x.shape.size() < 2) {
    return shape_error("needs at least two axes, got " + to_string(x, in.extents));
  }
  return Types{x};
}

Status lower_tri(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const size_t rank = x.shape.size();
  Params<abi::TriParams> params;
  params.set(params.value.batch, product(x.shape, 0, rank - 2));
  params.set(params.value.rows, x.shape[rank - 2]);
  params.set(params.value.cols, x.shape[rank - 1]);
  // Beyond any size a diagonal is as far as it gets, and sums with it must not overflow.
  constexpr int64_t kFar = int64_t{1} << 61;
  params.value.k = std::clamp(node.attrs.get<int64_t>("k"), -kFar, kFar);
  params.value.upper = node.op == Op::k_triu ? 1 : 0;
  params.value.element_bytes = static_cast<uint32_t>(info(x.dtype).block_bytes);
  const Tensor out = lowering.define(node);
  lowering.emit(node, "tri", {Lowering::read(x), Lowering::write(out)}, params, Dim(0), {{1, 0}});
  return {};
}

// ---- iota ----

Result<Types> infer_iota(const InferInput& in) {
  const auto shape = in.attrs.get<Shape>("shape");
  const auto dtype = in.attrs.get<DType>("dtype", DType::kI32);
  BSM_ASSIGN(const int axis, normalise_axis(in.attrs.get<int64_t>("axis", -1), shape.size()));
  if (!is_float(dtype) && !is_integer(dtype)) {
    return dtype_error("iota counts in integers or floats, not in " +
                       std::string(to_string(dtype)));
  }
  ExtentValues maxima;
  for (const Extent& e : in.extents) maxima.push_back(e.max);
  for (const Dim& d : shape) {
    if (!never_negative(d, in.extents)) {
      return shape_error("iota of " + to_string(shape, in.extents) + ": a size may be negative");
    }
  }
  const int64_t last = shape[static_cast<size_t>(axis)].evaluate(maxima) - 1;
  const bool fits = dtype == DType::kF16 ? last <= 65504
                    : is_float(dtype)
                        ? true
                        : element_bits(dtype, static_cast<double>(std::max<int64_t>(last, 0))).ok();
  if (!fits) {
    return argument_error("iota reaches " + std::to_string(last) + ", which " +
                          std::string(to_string(dtype)) + " does not hold");
  }
  return Types{{dtype, shape}};
}

Status lower_iota(Lowering& lowering, const Node& node) {
  const Type& type = node.results[0];
  const size_t rank = type.shape.size();
  BSM_ASSIGN(const int axis, normalise_axis(node.attrs.get<int64_t>("axis", -1), rank));
  const auto at = static_cast<size_t>(axis);
  Params<abi::IotaParams> params;
  params.set(params.value.outer, product(type.shape, 0, at));
  params.set(params.value.count, type.shape[at]);
  params.set(params.value.inner, product(type.shape, at + 1, rank));
  params.value.dtype = static_cast<uint32_t>(type.dtype);
  lowering.emit(node, "iota", {Lowering::write(lowering.define(node))}, params, Dim(0));
  return {};
}

}  // namespace

OpRows joining_ops() {
  const Shape dims = {Dim(1), Dim(2)};
  return {
      {Op::k_concat, {infer_concat, lower_concat, {{"axis", int64_t{0}}}}},
      {Op::k_pad, {infer_pad, lower_pad, {{"before", dims}, {"after", dims}, {"value", 0.5}}}},
      {Op::k_tril, {infer_tri, lower_tri, {{"k", int64_t{0}}}}},
      {Op::k_triu, {infer_tri, lower_tri, {{"k", int64_t{0}}}}},
      {Op::k_iota,
       {infer_iota, lower_iota, {{"shape", dims}, {"axis", int64_t{0}}, {"dtype", DType::kI32}}}},
  };
}

}  // namespace bessemer::ops
