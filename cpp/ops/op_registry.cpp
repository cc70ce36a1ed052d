#include "ops/op_impl.h"

#include <algorithm>
#include <unordered_map>

#include "ops/families.h"

namespace bessemer::ops {
namespace {

using Registry = std::unordered_map<Op, OpImpl>;

Registry make_registry() {
  Registry registry;
  for (OpRows (*family)() : {elementwise_ops, movement_ops, joining_ops, gather_ops, matmul_ops,
                             attention_ops, norm_ops, reduction_ops}) {
    for (auto& [op, impl] : family()) registry.emplace(op, std::move(impl));
  }
  return registry;
}

std::string list_attrs(const OpImpl& impl) {
  std::string text;
  for (const AttrSpec& spec : impl.attrs)
    text += (text.empty() ? "" : ", ") + std::string(spec.name);
  return text.empty() ? "none" : text;
}

Status check_attrs(Op op, const OpImpl& impl, const Attrs& attrs, std::span<const Extent> extents) {
  for (const auto& [name, value] : attrs.all()) {
    const auto it = std::find_if(impl.attrs.begin(), impl.attrs.end(),
                                 [&n = name](const AttrSpec& spec) { return n == spec.name; });
    if (it == impl.attrs.end()) {
      return Error{ErrorKind::kInvalidArgument,
                   "`" + std::string(to_string(op)) + "` has no attribute `" + name +
                       "`; it takes: " + list_attrs(impl),
                   {}};
    }
    if (it->example.index() != value.index()) {
      return Error{ErrorKind::kInvalidArgument,
                   "attribute `" + name + "` of `" + std::string(to_string(op)) + "` looks like " +
                       to_string(it->example, extents) + ", got " + to_string(value, extents),
                   {}};
    }
  }
  return {};
}

// The types of an elementwise op, operands already promoted to one dtype.
Result<std::vector<Type>> infer_elementwise(const InferInput& in) {
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  for (const Type& t : in.operands) {
    shapes.push_back(t.shape);
    dtypes.push_back(t.dtype);
  }
  BSM_ASSIGN(const DType dtype, elementwise_dtype(in.op, dtypes));
  BSM_ASSIGN(Shape shape, broadcast_shapes(shapes, in.extents));
  return std::vector<Type>{{dtype, std::move(shape)}};
}

Result<std::vector<Type>> infer(const InferInput& in) {
  const OpInfo& op = info(in.op);
  const auto n = static_cast<int>(in.operands.size());
  if (n < op.min_operands || (op.max_operands >= 0 && n > op.max_operands)) {
    return Error{ErrorKind::kInvalidArgument,
                 "takes " + std::to_string(op.min_operands) +
                     (op.max_operands == op.min_operands ? ""
                      : op.max_operands < 0              ? " or more"
                                            : " to " + std::to_string(op.max_operands)) +
                     " operands, got " + std::to_string(n),
                 {}};
  }
  if (op.op_class == OpClass::kElementwise) {
    if (!in.attrs.all().empty()) {
      return Error{ErrorKind::kInvalidArgument, "elementwise ops have no attributes", {}};
    }
    return infer_elementwise(in);
  }
  const OpImpl* impl = find_impl(in.op);
  if (impl == nullptr) return Error{ErrorKind::kInternal, "op without an implementation", {}};
  BSM_TRY(check_attrs(in.op, *impl, in.attrs, in.extents));
  return impl->infer(in);
}

Error in_place_of(Error error, const Graph& graph, Op op, std::span<const Value> operands,
                  const std::string& where) {
  error.message = describe(graph, op, operands) + ": " + error.message;
  if (!where.empty()) error.notes.push_back("at " + where);
  return error;
}

// Casts operands that differ in dtype to what they promote to.
Status promote_operands(Graph& graph, Op op, std::vector<Value>& operands,
                        const std::string& where) {
  const size_t first = info(op).rule == TypeRule::kSelect ? 1 : 0;
  if (operands.size() <= first + 1) return {};
  DType common = graph.type(operands[first]).dtype;
  bool differ = false;
  for (size_t i = first + 1; i < operands.size(); ++i) {
    const DType d = graph.type(operands[i]).dtype;
    if (d == common) continue;
    differ = true;
    BSM_ASSIGN(common, promote(common, d));
  }
  if (!differ) return {};
  for (size_t i = first; i < operands.size(); ++i) {
    if (graph.type(operands[i]).dtype == common) continue;
    BSM_ASSIGN(operands[i],
               add_node(graph, Op::k_cast, {operands[i]}, Attrs{{"dtype", common}}, where));
  }
  return {};
}

}  // namespace

const OpImpl* find_impl(Op op) {
  static const Registry registry = make_registry();
  const auto it = registry.find(op);
  return it == registry.end() ? nullptr : &it->second;
}

Error shape_error(std::string message) { return {ErrorKind::kShape, std::move(message), {}}; }
Error dtype_error(std::string message) { return {ErrorKind::kDtype, std::move(message), {}}; }

Result<DType> elementwise_dtype(Op which, std::span<const DType> operands) {
  const OpInfo& op = info(which);
  for (const DType d : operands) {
    if (is_quantised(d)) {
      return dtype_error(
          "elementwise ops do not read block-quantised values; use embedding or matmul");
    }
    if (d == DType::kF64) return dtype_error("f64 is for storage and cast only");
  }
  const size_t first_data = op.rule == TypeRule::kSelect ? 1 : 0;
  const DType dtype = operands[first_data];
  for (size_t i = first_data + 1; i < operands.size(); ++i) {
    if (operands[i] != dtype) return dtype_error("operands differ in dtype");
  }
  const bool is_bool = dtype == DType::kBool;
  switch (op.rule) {
    case TypeRule::kFloat:
      if (!is_float(dtype)) return dtype_error("needs a float dtype; cast first");
      return dtype;
    case TypeRule::kNumeric:
      if (is_bool) return dtype_error("needs a numeric dtype, got bool; cast first");
      return dtype;
    case TypeRule::kBits:
      if (is_float(dtype)) return dtype_error("needs an integer or bool dtype");
      return dtype;
    case TypeRule::kLogical:
      if (!is_bool) return dtype_error("needs bool; compare first");
      return dtype;
    case TypeRule::kTest:
      if (!is_float(dtype)) return dtype_error("needs a float dtype");
      return DType::kBool;
    case TypeRule::kCompare:
      return DType::kBool;
    case TypeRule::kSelect:
      if (operands[0] != DType::kBool) return dtype_error("the condition must be bool");
      return dtype;
    case TypeRule::kNone:
      break;
  }
  return Error{ErrorKind::kInternal, "elementwise op without a type rule", {}};
}

Result<Value> add_node(Graph& graph, Op op, std::vector<Value> operands, Attrs attrs,
                       std::string where) {
  for (const Value& v : operands) {
    if (v.node >= graph.nodes().size() || v.result >= graph.node(v).results.size()) {
      return Error{ErrorKind::kInvalidArgument,
                   "`" + std::string(to_string(op)) + "`: operand is not a value of graph `" +
                       graph.name() + "`",
                   {}};
    }
  }
  if (is_leaf(op)) {
    return Error{ErrorKind::kInvalidArgument, "a leaf is made by add_leaf or add_constant", {}};
  }
  if (is_elementwise(op)) {
    // Infer on a trial first, so that a failing op leaves no casts behind.
    std::vector<Value> promoted = operands;
    Graph* target = &graph;
    const bool mixed = std::any_of(operands.begin(), operands.end(), [&](Value v) {
      return graph.type(v).dtype != graph.type(operands.back()).dtype;
    });
    if (mixed && info(op).rule != TypeRule::kSelect) {
      for (const Value& v : operands) {
        if (auto r = promote(graph.type(operands[0]).dtype, graph.type(v).dtype); !r) {
          return in_place_of(std::move(r).error(), graph, op, operands, where);
        }
      }
      std::vector<Shape> shapes;
      for (const Value& v : operands) shapes.push_back(graph.type(v).shape);
      if (auto r = broadcast_shapes(shapes, graph.extents()); !r) {
        return in_place_of(std::move(r).error(), graph, op, operands, where);
      }
    }
    if (auto r = promote_operands(*target, op, promoted, where); !r) {
      return in_place_of(std::move(r).error(), graph, op, operands, where);
    }
    operands = std::move(promoted);
  }
  std::vector<Type> types;
  for (const Value& v : operands) types.push_back(graph.type(v));
  auto results = infer({op, types, attrs, graph.extents()});
  if (!results) return in_place_of(std::move(results).error(), graph, op, operands, where);
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.results = std::move(*results);
  node.where = std::move(where);
  return graph.append(std::move(node));
}

Result<Value> add_leaf(Graph& graph, Op kind, std::string name, Type type, std::string where) {
  if (kind != Op::k_input && kind != Op::k_param && kind != Op::k_state) {
    return Error{ErrorKind::kInvalidArgument,
                 "`" + std::string(to_string(kind)) + "` is not an input, param or state",
                 {}};
  }
  const std::string what = std::string(to_string(kind)) + " `" + name + "`";
  if (kind != Op::k_input && !is_static(type.shape)) {
    return shape_error(what + " must have a fixed shape, got " + to_string(type, graph.extents()));
  }
  for (const Dim& d : type.shape) {
    if (d.evaluate(graph.extent_maxima()) < 0) return shape_error(what + " has a negative dim");
  }
  if (is_quantised(type.dtype)) {
    if (kind != Op::k_param) {
      return dtype_error(what + ": only a param may be block-quantised, got " +
                         std::string(to_string(type.dtype)));
    }
    const int64_t block = info(type.dtype).block_elements;
    if (type.shape.empty() || type.shape.back().constant() % block != 0) {
      return shape_error(what + ": rows of " + std::string(to_string(type.dtype)) +
                         " must be a multiple of " + std::to_string(block) + ", got " +
                         to_string(type, graph.extents()));
    }
  }
  Node node;
  node.op = kind;
  node.name = std::move(name);
  node.results = {std::move(type)};
  node.where = std::move(where);
  return graph.append(std::move(node));
}

Result<Value> add_constant(Graph& graph, Type type, std::vector<std::byte> data,
                           std::string where) {
  if (!is_static(type.shape) || is_quantised(type.dtype)) {
    return shape_error("a constant has a fixed shape and no block-quantised dtype, got " +
                       to_string(type, graph.extents()));
  }
  const int64_t want = bytes_of(type.dtype, num_elements(type.shape).constant());
  if (static_cast<int64_t>(data.size()) != want) {
    return shape_error("constant " + to_string(type, graph.extents()) + " needs " +
                       std::to_string(want) + " bytes, got " + std::to_string(data.size()));
  }
  Node node;
  node.op = Op::k_constant;
  node.results = {std::move(type)};
  node.data = std::make_shared<const std::vector<std::byte>>(std::move(data));
  node.where = std::move(where);
  return graph.append(std::move(node));
}

Status verify(const Graph& graph) {
  BSM_TRY(verify_structure(graph));
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (is_leaf(node.op)) continue;
    std::vector<Type> types;
    for (const Value& v : node.operands) types.push_back(graph.type(v));
    auto results = infer({node.op, types, node.attrs, graph.extents()});
    const std::string at = "node %" + std::to_string(i);
    if (!results) {
      Error e = in_place_of(std::move(results).error(), graph, node.op, node.operands, node.where);
      return Error{ErrorKind::kInternal, at + ": " + e.message, std::move(e.notes)};
    }
    if (*results != node.results) {
      return Error{ErrorKind::kInternal,
                   at + ": " + describe(graph, node.op, node.operands) +
                       ": the types written are not the types inferred",
                   {}};
    }
  }
  return {};
}

Result<Shape> broadcast_shapes(std::span<const Shape> shapes, std::span<const Extent> extents) {
  size_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.size());
  Shape out(rank, Dim(1));
  for (const Shape& s : shapes) {
    const size_t lead = rank - s.size();
    for (size_t i = 0; i < s.size(); ++i) {
      Dim& have = out[lead + i];
      if (s[i] == have || s[i] == Dim(1)) continue;
      if (!(have == Dim(1))) {
        std::string text;
        for (const Shape& each : shapes) {
          text += (text.empty() ? "" : " and ") + to_string(each, extents);
        }
        return shape_error("shapes " + text + " do not broadcast");
      }
      have = s[i];
    }
  }
  return out;
}

Result<int> normalise_axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    return Error{ErrorKind::kInvalidArgument,
                 "axis " + std::to_string(axis) + " is outside rank " + std::to_string(rank),
                 {}};
  }
  return static_cast<int>(axis < 0 ? axis + r : axis);
}

Result<DType> promote(DType a, DType b) {
  if (a == b) return a;
  const auto fail = [&](const char* why) {
    return dtype_error(std::string(to_string(a)) + " and " + std::string(to_string(b)) +
                       " do not promote: " + why);
  };
  if (is_quantised(a) || is_quantised(b)) return fail("block-quantised values are weights only");
  if (a == DType::kBool || b == DType::kBool) return fail("cast the bool first");
  if (is_float(a) != is_float(b)) return fail("cast the integer first");
  if (a == DType::kF64 || b == DType::kF64) return fail("f64 is for storage and cast only");
  if (is_float(a)) return DType::kF32;  // f16 with bf16, or either with f32
  const auto is_unsigned = [](DType d) { return d == DType::kU8 || d == DType::kU32; };
  const int wa = info(a).block_bytes;
  const int wb = info(b).block_bytes;
  if (is_unsigned(a) == is_unsigned(b)) return wa >= wb ? a : b;
  // Mixed sign: the smallest signed type that holds both.
  const int unsigned_bytes = is_unsigned(a) ? wa : wb;
  const int signed_bytes = is_unsigned(a) ? wb : wa;
  const int bytes = std::max(signed_bytes, 2 * unsigned_bytes);
  return bytes == 2 ? DType::kI16 : bytes == 4 ? DType::kI32 : DType::kI64;
}

std::vector<Dim> contiguous_strides(const Shape& shape) {
  std::vector<Dim> strides(shape.size());
  Dim stride(1);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

}  // namespace bessemer::ops
