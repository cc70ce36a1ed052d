// gather (NumPy's take) and embedding: rows by index.
//
// Attributes:
//   gather     axis (0)
//   embedding  dtype: f32 (the default), f16 or bf16, of the result
//
// Indices are integers of any dtype; negative ones count from the end. One out of range makes the
// run fail once it has ended: see cpu::Fault.
#include "kernel_abi/gather_params.h"
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
namespace {

using Types = std::vector<Type>;

Status check_indices(const Type& indices) {
  if (!is_integer(indices.dtype)) {
    return dtype_error("indices must be integers, got " + std::string(to_string(indices.dtype)));
  }
  return {};
}

Dim product(const Shape& shape, size_t begin, size_t end) {
  return num_elements(Shape(shape.begin() + static_cast<ptrdiff_t>(begin),
                            shape.begin() + static_cast<ptrdiff_t>(end)));
}

Result<Types> infer_gather(const InferInput& in) {
  const Type& x = in.operands[0];
  const Type& indices = in.operands[1];
  if (is_quantised(x.dtype)) {
    return dtype_error("gather does not read block-quantised values; use embedding");
  }
  BSM_TRY(check_indices(indices));
  BSM_ASSIGN(const int axis, normalise_axis(in.attrs.get<int64_t>("axis"), x.shape.size()));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return Types{{x.dtype, std::move(shape)}};
}

Status lower_gather(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const Tensor indices = lowering.operand(node, 1);
  BSM_ASSIGN(const int axis, normalise_axis(node.attrs.get<int64_t>("axis"), x.shape.size()));
  const auto at = static_cast<size_t>(axis);
  Params<abi::GatherParams> params;
  params.set(params.value.outer, product(x.shape, 0, at));
  params.set(params.value.size, x.shape[at]);
  params.set(params.value.row_bytes,
             product(x.shape, at + 1, x.shape.size()) * Dim(info(x.dtype).block_bytes));
  params.set(params.value.indices, num_elements(indices.shape));
  params.value.index_dtype = static_cast<uint32_t>(indices.dtype);
  const Tensor out = lowering.define(node);
  lowering.emit(node, "gather", {Lowering::read(x), Lowering::read(indices), Lowering::write(out)},
                params, Dim(0));
  return {};
}

Result<Types> infer_embedding(const InferInput& in) {
  const Type& table = in.operands[0];
  const Type& ids = in.operands[1];
  if (table.shape.size() != 2) {
    return shape_error("the table must be [rows, width], got " + to_string(table, in.extents));
  }
  const auto narrow_float = [](DType d) {
    return d == DType::kF32 || d == DType::kF16 || d == DType::kBF16;
  };
  if (!is_quantised(table.dtype) && !narrow_float(table.dtype)) {
    return dtype_error("the table must be f32, f16, bf16 or block-quantised, got " +
                       std::string(to_string(table.dtype)));
  }
  BSM_TRY(check_indices(ids));
  const auto dtype = in.attrs.get<DType>("dtype", DType::kF32);
  if (!narrow_float(dtype)) {
    return dtype_error("the result may be f32, f16 or bf16, asked for " +
                       std::string(to_string(dtype)));
  }
  Shape shape = ids.shape;
  shape.push_back(table.shape[1]);
  return Types{{dtype, std::move(shape)}};
}

Status lower_embedding(Lowering& lowering, const Node& node) {
  const Tensor table = lowering.operand(node, 0);
  const Tensor ids = lowering.operand(node, 1);
  Params<abi::EmbeddingParams> params;
  params.set(params.value.rows, table.shape[0]);
  params.set(params.value.width, table.shape[1]);
  params.set(params.value.ids, num_elements(ids.shape));
  params.value.table_dtype = static_cast<uint32_t>(table.dtype);
  params.value.id_dtype = static_cast<uint32_t>(ids.dtype);
  params.value.out_dtype = static_cast<uint32_t>(node.results[0].dtype);
  const Tensor out = lowering.define(node);
  lowering.emit(node, "embedding",
                {Lowering::read(table), Lowering::read(ids), Lowering::write(out)}, params, Dim(0));
  return {};
}

}  // namespace

OpRows gather_ops() {
  return {
      {Op::k_gather, {infer_gather, lower_gather, {{"axis", int64_t{0}}}}},
      {Op::k_embedding, {infer_embedding, lower_embedding, {{"dtype", DType::kF32}}}},
  };
}

}  // namespace bessemer::ops
