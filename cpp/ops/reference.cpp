#include "ops/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/op_impl.h"

namespace bessemer::ops {
namespace {

namespace scalar {
#define BSM_SCALAR_COMPLETE
#include "ops/scalar_math.inl"
#undef BSM_SCALAR_COMPLETE

// The rows of the table by what they compute in and give. Bools are int64 0 or 1 here.
#define BSM_CASE(name, expr) \
  case Op::k_##name:         \
    return expr;

float give_float(Op op, float x, float y, float z) {
  switch (op) {
#define BSM_F_kFloat(name, fe) BSM_CASE(name, fe)
#define BSM_F_kNumeric(name, fe) BSM_CASE(name, fe)
#define BSM_F_kSelect(name, fe) BSM_CASE(name, fe)
#define BSM_F_kBits(name, fe)
#define BSM_F_kLogical(name, fe)
#define BSM_F_kTest(name, fe)
#define BSM_F_kCompare(name, fe)
#define BSM_UNARY(name, rule, fe, ie, ...) BSM_F_##rule(name, fe)
#define BSM_BINARY(name, rule, fe, ie, ...) BSM_F_##rule(name, fe)
#define BSM_TERNARY(name, rule, fe, ie, ...) BSM_F_##rule(name, fe)
#include "op_table.def"
    default:
      return 0;
  }
}

bool test_float(Op op, float x, float y) {
  switch (op) {
#define BSM_T_kFloat(name, fe)
#define BSM_T_kNumeric(name, fe)
#define BSM_T_kSelect(name, fe)
#define BSM_T_kBits(name, fe)
#define BSM_T_kLogical(name, fe)
#define BSM_T_kTest(name, fe) BSM_CASE(name, fe)
#define BSM_T_kCompare(name, fe) BSM_CASE(name, fe)
#define BSM_UNARY(name, rule, fe, ie, ...) BSM_T_##rule(name, fe)
#define BSM_BINARY(name, rule, fe, ie, ...) BSM_T_##rule(name, fe)
#include "op_table.def"
    default:
      return false;
  }
}

int64_t give_int(Op op, int64_t x, int64_t y, int64_t z) {
  switch (op) {
#define BSM_I_kFloat(name, ie)
#define BSM_I_kNumeric(name, ie) BSM_CASE(name, ie)
#define BSM_I_kSelect(name, ie) BSM_CASE(name, ie)
#define BSM_I_kBits(name, ie) BSM_CASE(name, ie)
#define BSM_I_kLogical(name, ie) BSM_CASE(name, ie)
#define BSM_I_kTest(name, ie)
#define BSM_I_kCompare(name, ie) BSM_CASE(name, ie)
#define BSM_UNARY(name, rule, fe, ie, ...) BSM_I_##rule(name, ie)
#define BSM_BINARY(name, rule, fe, ie, ...) BSM_I_##rule(name, ie)
#define BSM_TERNARY(name, rule, fe, ie, ...) BSM_I_##rule(name, ie)
#include "op_table.def"
    default:
      return 0;
  }
}
}  // namespace scalar

// An element of any dtype: floats in `real` (exact in a double), integers and bools in `integer`.
struct Element {
  double real = 0;
  int64_t integer = 0;
};

template <class T>
T load_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

template <class T>
void store_as(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

Element load(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::kF32:
      return {static_cast<double>(load_as<float>(p)), 0};
    case DType::kF16:
      return {static_cast<double>(scalar::bsm_from_f16(load_as<uint16_t>(p))), 0};
    case DType::kBF16:
      return {static_cast<double>(scalar::bsm_from_bf16(load_as<uint16_t>(p))), 0};
    case DType::kF64:
      return {load_as<double>(p), 0};
    case DType::kI8:
      return {0, load_as<int8_t>(p)};
    case DType::kU8:
      return {0, load_as<uint8_t>(p)};
    case DType::kI16:
      return {0, load_as<int16_t>(p)};
    case DType::kI32:
      return {0, load_as<int32_t>(p)};
    case DType::kU32:
      return {0, load_as<uint32_t>(p)};
    case DType::kBool:
      return {0, load_as<uint8_t>(p) != 0 ? 1 : 0};
    default:
      return {0, load_as<int64_t>(p)};
  }
}

void store_float(DType dtype, float v, std::byte* p) {
  if (dtype == DType::kF16) {
    store_as(p, scalar::bsm_to_f16(v));
  } else if (dtype == DType::kBF16) {
    store_as(p, scalar::bsm_to_bf16(v));
  } else {
    store_as(p, v);
  }
}

// Integers wrap: the low bytes.
void store_int(DType dtype, int64_t v, std::byte* p) {
  if (dtype == DType::kBool) v &= 1;
  std::memcpy(p, &v, static_cast<size_t>(info(dtype).block_bytes));
}

void apply(Op op, DType data, DType result, const Element in[3], std::byte* out) {
  if (!is_float(data)) {
    store_int(result, scalar::give_int(op, in[0].integer, in[1].integer, in[2].integer), out);
    return;
  }
  float v[3];
  for (int i = 0; i < 3; ++i) v[i] = static_cast<float>(in[i].real);
  if (info(op).rule == TypeRule::kSelect) v[0] = in[0].integer != 0 ? 1.0f : 0.0f;
  if (result == DType::kBool && info(op).rule != TypeRule::kSelect) {
    store_int(result, scalar::test_float(op, v[0], v[1]) ? 1 : 0, out);
  } else {
    store_float(result, scalar::give_float(op, v[0], v[1], v[2]), out);
  }
}

void convert(DType from, DType to, const Element& in, std::byte* out) {
  const bool to_16_bits = to == DType::kF16 || to == DType::kBF16;
  if (is_float(from)) {
    if (to == DType::kBool) {
      store_int(to, in.real != 0.0 ? 1 : 0, out);
    } else if (is_integer(to)) {
      const int bits = 8 * info(to).block_bytes;
      const bool is_unsigned = to == DType::kU8 || to == DType::kU32;
      const int64_t top = INT64_MAX >> (64 - bits);
      store_int(
          to,
          scalar::bsm_to_int(in.real, is_unsigned ? 0 : -top - 1, is_unsigned ? 2 * top + 1 : top),
          out);
    } else if (to == DType::kF64) {
      store_as(out, in.real);
    } else {
      store_float(to, to_16_bits ? scalar::bsm_to_float_odd(in.real) : static_cast<float>(in.real),
                  out);
    }
  } else if (to == DType::kBool) {
    store_int(to, in.integer != 0 ? 1 : 0, out);
  } else if (is_integer(to)) {
    store_int(to, in.integer, out);
  } else if (to == DType::kF64) {
    store_as(out, static_cast<double>(in.integer));
  } else {
    store_float(to,
                to_16_bits ? scalar::bsm_to_float_odd(in.integer) : static_cast<float>(in.integer),
                out);
  }
}

using Sizes = std::vector<int64_t>;

Sizes sizes_of(const Shape& shape) {
  Sizes sizes;
  for (const Dim& d : shape) sizes.push_back(d.constant());
  return sizes;
}

Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) strides[i] = stride;
  return strides;
}

// Strides of an operand over a shape that it broadcasts to.
Sizes broadcast_strides(const Sizes& operand, const Sizes& result) {
  Sizes strides(result.size(), 0);
  const Sizes own = strides_of(operand);
  const size_t lead = result.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] != 1) strides[lead + i] = own[i];
  }
  return strides;
}

// Steps through a shape in row-major order.
struct Odometer {
  const Sizes& sizes;
  Sizes at;
  explicit Odometer(const Sizes& s) : sizes(s), at(s.size(), 0) {}
  void next() {
    for (size_t i = sizes.size(); i-- > 0;) {
      if (++at[i] < sizes[i]) return;
      at[i] = 0;
    }
  }
  [[nodiscard]] int64_t dot(const Sizes& strides) const {
    int64_t sum = 0;
    for (size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i];
    return sum;
  }
};

struct Call {
  const Graph& graph;
  const Node& node;
  std::span<const std::span<const std::byte>> operands;
  std::vector<std::byte> out;
  Sizes sizes;    // of the result
  int64_t bytes;  // of an element of the result
  int64_t elements;

  [[nodiscard]] const Type& operand(size_t i) const { return graph.type(node.operands[i]); }
  [[nodiscard]] std::byte* at(int64_t i) { return out.data() + i * bytes; }
  void copy(int64_t to, const std::byte* from) {
    std::memcpy(at(to), from, static_cast<size_t>(bytes));
  }
};

void elementwise(Call& call) {
  const Op op = call.node.op;
  const size_t first = info(op).rule == TypeRule::kSelect ? 1 : 0;
  std::vector<Sizes> strides;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    strides.push_back(broadcast_strides(sizes_of(call.operand(i).shape), call.sizes));
  }
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    Element in[3];
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const DType d = call.operand(i).dtype;
      in[i] = load(d, call.operands[i].data() + bytes_of(d, position.dot(strides[i])));
    }
    if (op == Op::k_cast) {
      convert(call.operand(0).dtype, call.node.results[0].dtype, in[0], call.at(e));
    } else {
      apply(op, call.operand(first).dtype, call.node.results[0].dtype, in, call.at(e));
    }
  }
}

// Element `at` of the result is element offset + at . strides of the operand.
void strided(Call& call, int64_t offset, const Sizes& strides) {
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    call.copy(e, call.operands[0].data() + (offset + position.dot(strides)) * call.bytes);
  }
}

Status rearrange(Call& call) {
  const Attrs& attrs = call.node.attrs;
  const Sizes from = sizes_of(call.operand(0).shape);
  const Sizes own = strides_of(from);
  Sizes strides(call.sizes.size(), 0);
  int64_t offset = 0;
  switch (call.node.op) {
    case Op::k_expand:
      strides = broadcast_strides(from, call.sizes);
      break;
    case Op::k_transpose: {
      const auto perm = attrs.get<Sizes>("perm");
      for (size_t i = 0; i < perm.size(); ++i) strides[i] = own[static_cast<size_t>(perm[i])];
      break;
    }
    case Op::k_slice: {
      const Sizes start = sizes_of(attrs.get<Shape>("start"));
      const auto step = attrs.get<Sizes>("step", Sizes(from.size(), 1));
      for (size_t i = 0; i < from.size(); ++i) {
        strides[i] = own[i] * step[i];
        offset += own[i] * start[i];
      }
      break;
    }
    default: {  // reverse
      strides = own;
      for (const int64_t a : attrs.get<Sizes>("axes")) {
        BSM_ASSIGN(const int axis, normalise_axis(a, from.size()));
        const auto i = static_cast<size_t>(axis);
        offset += own[i] * (from[i] - 1);
        strides[i] = -own[i];
      }
    }
  }
  strided(call, offset, strides);
  return {};
}

void tile(Call& call) {
  const Sizes from = sizes_of(call.operand(0).shape);
  const Sizes own = strides_of(from);
  const size_t lead = call.sizes.size() - from.size();
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    int64_t source = 0;
    for (size_t i = 0; i < from.size(); ++i) source += position.at[lead + i] % from[i] * own[i];
    call.copy(e, call.operands[0].data() + source * call.bytes);
  }
}

Status pad(Call& call) {
  const Sizes from = sizes_of(call.operand(0).shape);
  const Sizes own = strides_of(from);
  const Sizes before = sizes_of(call.node.attrs.get<Shape>("before"));
  std::byte value[8] = {};
  const DType dtype = call.operand(0).dtype;
  const double v = call.node.attrs.get<double>("value");
  if (is_float(dtype)) {
    // As the kernel's own constant: rounded by way of f32.
    if (dtype == DType::kF64) {
      store_as(value, v);
    } else {
      store_float(dtype, static_cast<float>(v), value);
    }
  } else {
    store_int(dtype, static_cast<int64_t>(v), value);  // exact: infer saw to it
  }
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    int64_t source = 0;
    bool inside = true;
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t at = position.at[i] - before[i];
      inside = inside && at >= 0 && at < from[i];
      source += at * own[i];
    }
    call.copy(e, inside ? call.operands[0].data() + source * call.bytes : value);
  }
  return {};
}

void triangle(Call& call) {
  const int64_t k = call.node.attrs.get<int64_t>("k");
  const bool upper = call.node.op == Op::k_triu;
  const std::byte zero[8] = {};
  const size_t rank = call.sizes.size();
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    // No overflow: a difference of two sizes.
    const int64_t diagonal = position.at[rank - 1] - position.at[rank - 2];
    const bool keeps = upper ? diagonal >= k : diagonal <= k;
    call.copy(e, keeps ? call.operands[0].data() + e * call.bytes : zero);
  }
}

Status concat(Call& call) {
  BSM_ASSIGN(const int axis,
             normalise_axis(call.node.attrs.get<int64_t>("axis"), call.sizes.size()));
  const auto at = static_cast<size_t>(axis);
  int64_t inner = call.bytes;
  int64_t outer = 1;
  for (size_t i = 0; i < call.sizes.size(); ++i)
    (i < at ? outer : inner) *= i == at ? 1 : call.sizes[i];
  std::byte* to = call.out.data();
  for (int64_t row = 0; row < outer; ++row) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const int64_t run = call.operand(i).shape[at].constant() * inner;
      std::copy_n(call.operands[i].data() + row * run, run, to);
      to += run;
    }
  }
  return {};
}

Status iota(Call& call) {
  BSM_ASSIGN(const int axis,
             normalise_axis(call.node.attrs.get<int64_t>("axis", -1), call.sizes.size()));
  Odometer position(call.sizes);
  for (int64_t e = 0; e < call.elements; ++e, position.next()) {
    const int64_t i = position.at[static_cast<size_t>(axis)];
    const DType dtype = call.node.results[0].dtype;
    if (!is_float(dtype)) {
      store_int(dtype, i, call.at(e));
    } else if (dtype == DType::kF64) {
      store_as(call.at(e), static_cast<double>(i));
    } else {
      store_float(dtype, static_cast<float>(i), call.at(e));
    }
  }
  return {};
}

}  // namespace

bool can_evaluate(const Graph& graph, const Node& node) {
  if (node.results.size() != 1 || !is_static(node.results[0].shape)) return false;
  for (const Value& v : node.operands) {
    const Type& t = graph.type(v);
    if (!is_static(t.shape) || is_quantised(t.dtype)) return false;
  }
  switch (node.op) {
    case Op::k_cast:
    case Op::k_reshape:
    case Op::k_transpose:
    case Op::k_slice:
    case Op::k_expand:
    case Op::k_reverse:
    case Op::k_tile:
    case Op::k_concat:
    case Op::k_pad:
    case Op::k_tril:
    case Op::k_triu:
    case Op::k_iota:
      return true;
    default:
      return is_elementwise(node.op);
  }
}

Result<std::vector<std::byte>> evaluate(const Graph& graph, const Node& node,
                                        std::span<const std::span<const std::byte>> operands) {
  if (!can_evaluate(graph, node)) {
    return Error{ErrorKind::kUnsupported,
                 describe(graph, node.op, node.operands) + " is not evaluated at compile time",
                 {}};
  }
  bool fits = operands.size() == node.operands.size();
  for (size_t i = 0; fits && i < operands.size(); ++i) {
    const Type& t = graph.type(node.operands[i]);
    fits = static_cast<int64_t>(operands[i].size()) ==
           bytes_of(t.dtype, num_elements(t.shape).constant());
  }
  if (!fits) {
    return Error{ErrorKind::kInvalidArgument,
                 describe(graph, node.op, node.operands) + ": operands' data of other sizes",
                 {}};
  }
  const Type& type = node.results[0];
  Call call{graph, node, operands, {}, sizes_of(type.shape), bytes_of(type.dtype, 1), 0};
  call.elements = num_elements(type.shape).constant();
  call.out.resize(static_cast<size_t>(call.elements * call.bytes));
  switch (node.op) {
    case Op::k_reshape:
      std::copy(operands[0].begin(), operands[0].end(), call.out.begin());
      break;
    case Op::k_transpose:
    case Op::k_slice:
    case Op::k_expand:
    case Op::k_reverse:
      BSM_TRY(rearrange(call));
      break;
    case Op::k_tile:
      tile(call);
      break;
    case Op::k_concat:
      BSM_TRY(concat(call));
      break;
    case Op::k_pad:
      BSM_TRY(pad(call));
      break;
    case Op::k_tril:
    case Op::k_triu:
      triangle(call);
      break;
    case Op::k_iota:
      BSM_TRY(iota(call));
      break;
    default:
      elementwise(call);
  }
  return std::move(call.out);
}

}  // namespace bessemer::ops
