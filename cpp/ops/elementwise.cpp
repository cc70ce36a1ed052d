// Elementwise ops, `cast` and the fused op `region`: all become the kernel `elementwise`.
#include <algorithm>

#include "kernel_abi/elementwise_params.h"
#include "ops/families.h"
#include "ops/lowering.h"
#include "ops/region.h"

namespace bessemer::ops {
namespace {

constexpr int kMaxRank = abi::kElementwiseMaxRank;

uint16_t abi_op(Op op) {
  switch (op) {
#define BSM_UNARY(name, ...) \
  case Op::k_##name:         \
    return abi::kElementwise_##name;
#define BSM_BINARY(name, ...) \
  case Op::k_##name:          \
    return abi::kElementwise_##name;
#define BSM_TERNARY(name, ...) \
  case Op::k_##name:           \
    return abi::kElementwise_##name;
#include "op_table.def"
    default:
      return abi::kElementwise_cast;
  }
}

Result<std::vector<Type>> infer_cast(const InferInput& in) {
  const AttrValue* to = in.attrs.find("dtype");
  if (to == nullptr) {
    return Error{ErrorKind::kInvalidArgument, "cast needs the attribute `dtype`", {}};
  }
  const DType dtype = std::get<DType>(*to);
  BSM_TRY(check_cast(in.operands[0].dtype, dtype));
  return std::vector<Type>{{dtype, in.operands[0].shape}};
}

Result<std::vector<Type>> infer_region(const InferInput& in) {
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const Type& t : in.operands) {
    dtypes.push_back(t.dtype);
    shapes.push_back(t.shape);
  }
  const auto outputs = in.attrs.get<std::vector<int64_t>>("outputs");
  BSM_ASSIGN(const RegionProgram program,
             RegionProgram::parse(in.attrs.get<std::string>("program"), dtypes, outputs));
  BSM_ASSIGN(const Shape shape, broadcast_shapes(shapes, in.extents));
  std::vector<Type> results;
  for (const int v : program.outputs) results.push_back({program.dtype_of(v), shape});
  return results;
}

// The strides of an operand over the iteration shape: 0 along axes that it is broadcast along.
std::vector<Dim> broadcast_strides(const Shape& operand, const Shape& iteration) {
  std::vector<Dim> strides(iteration.size(), Dim(0));
  const std::vector<Dim> own = contiguous_strides(operand);
  const size_t lead = iteration.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] == iteration[lead + i]) strides[lead + i] = own[i];
  }
  return strides;
}

// The iteration space with adjacent axes merged where every operand steps evenly over both.
struct Space {
  Shape dims;
  std::vector<std::vector<Dim>> strides;  // by operand
};

Space merge_axes(const Shape& shape, const std::vector<std::vector<Dim>>& strides) {
  Space space;
  space.strides.resize(strides.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == Dim(1)) continue;
    bool merges = !space.dims.empty();
    for (size_t i = 0; merges && i < strides.size(); ++i) {
      merges = space.strides[i].back() == strides[i][axis] * shape[axis];
    }
    if (merges) {
      space.dims.back() = space.dims.back() * shape[axis];
    } else {
      space.dims.push_back(shape[axis]);
    }
    for (size_t i = 0; i < strides.size(); ++i) {
      if (merges) {
        space.strides[i].back() = strides[i][axis];
      } else {
        space.strides[i].push_back(strides[i][axis]);
      }
    }
  }
  return space;
}

void encode(const RegionProgram& program, abi::ElementwiseParams& p) {
  p.n_inputs = static_cast<uint32_t>(program.inputs.size());
  p.n_outputs = static_cast<uint32_t>(program.outputs.size());
  p.n_instrs = static_cast<uint32_t>(program.instrs.size());
  for (uint32_t i = 0; i < p.n_inputs && i < abi::kElementwiseMaxInputs; ++i) {
    p.input_dtype[i] = static_cast<uint8_t>(program.inputs[i]);
  }
  for (uint32_t i = 0; i < p.n_outputs && i < abi::kElementwiseMaxOutputs; ++i) {
    p.output_value[i] = static_cast<uint8_t>(program.outputs[i]);
  }
  for (size_t k = 0; k < program.instrs.size(); ++k) {
    const RegionProgram::Instr& instr = program.instrs[k];
    abi::ElementwiseInstr& out = p.program[k];
    out.op = abi_op(instr.op);
    out.dtype = static_cast<uint8_t>(instr.dtype);
    const bool select = info(instr.op).rule == TypeRule::kSelect;
    out.data_dtype = static_cast<uint8_t>(program.dtype_of(instr.sources[select ? 1 : 0]));
    for (size_t s = 0; s < 3; ++s) {
      const int source = instr.sources[s] >= 0 ? instr.sources[s] : instr.sources[0];
      out.sources[s] = static_cast<uint8_t>(source);
    }
  }
}

// An output may take an input's storage where both have the same elements in the same order. A
// cast may be a mere view of an input inside the kernel, which is then read late: with several
// outputs it gets none.
std::vector<InPlace> in_place_hints(const Lowering& lowering, const Node& node,
                                    const RegionProgram& program) {
  std::vector<InPlace> hints;
  const size_t inputs = node.operands.size();
  for (size_t o = 0; o < node.results.size(); ++o) {
    const Type& result = node.results[o];
    const auto& instr = program.instrs[static_cast<size_t>(program.outputs[o]) - inputs];
    if (node.results.size() > 1 && instr.op == Op::k_cast) continue;
    for (size_t i = 0; i < inputs; ++i) {
      const Tensor& operand = lowering.operand(node, i);
      if (operand.shape == result.shape &&
          info(operand.dtype).block_bytes == info(result.dtype).block_bytes) {
        hints.push_back({static_cast<uint32_t>(inputs + o), static_cast<uint32_t>(i)});
      }
    }
  }
  return hints;
}

Status lower_elementwise(Lowering& lowering, const Node& node) {
  BSM_ASSIGN(const RegionProgram program, RegionProgram::of(lowering.graph(), node));
  BSM_TRY(program.check());
  const Shape& shape = node.results[0].shape;
  std::vector<std::vector<Dim>> strides;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    strides.push_back(broadcast_strides(lowering.operand(node, i).shape, shape));
  }
  const Space space = merge_axes(shape, strides);
  if (space.dims.size() > static_cast<size_t>(kMaxRank)) {
    return Error{ErrorKind::kUnsupported,
                 "broadcasts over " + std::to_string(space.dims.size()) +
                     " axes that do not merge; the kernel takes " + std::to_string(kMaxRank),
                 {}};
  }
  Params<abi::ElementwiseParams> params;
  encode(program, params.value);
  params.value.rank = static_cast<uint32_t>(space.dims.size());
  for (size_t axis = 0; axis < space.dims.size(); ++axis) {
    params.set(params.value.dims[axis], space.dims[axis]);
    for (size_t i = 0; i < strides.size(); ++i) {
      params.set(params.value.strides[i][axis], space.strides[i][axis]);
    }
  }
  std::vector<Operand> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(Lowering::read(lowering.operand(node, i)));
  }
  for (size_t o = 0; o < node.results.size(); ++o) {
    operands.push_back(Lowering::write(lowering.define(node, o)));
  }
  const Dim flops = num_elements(shape) * Dim(static_cast<int64_t>(program.instrs.size()));
  lowering.emit(node, "elementwise", std::move(operands), params, flops,
                in_place_hints(lowering, node, program));
  return {};
}

Status lower_cast(Lowering& lowering, const Node& node) {
  const Tensor& x = lowering.operand(node, 0);
  if (x.dtype == node.results[0].dtype) {
    lowering.define_view(node, 0, x, Dim(0));
    return {};
  }
  return lower_elementwise(lowering, node);
}

}  // namespace

OpRows elementwise_ops() {
  OpRows rows;
  for (int i = 0; i < op_count(); ++i) {
    const Op op = static_cast<Op>(i);
    // Types follow from the table's rules: op_registry.cpp.
    if (is_elementwise(op)) rows.push_back({op, {nullptr, lower_elementwise, {}}});
  }
  rows.push_back({Op::k_cast, {infer_cast, lower_cast, {{"dtype", DType::kF16}}}});
  rows.push_back(
      {Op::k_region,
       {infer_region,
        lower_elementwise,
        {{"program", std::string("multiply 0 1; silu 2")}, {"outputs", std::vector<int64_t>{3}}}}});
  return rows;
}

}  // namespace bessemer::ops
