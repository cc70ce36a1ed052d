// Ops that choose and order the elements of one tensor: slice, split, reshape, transpose, expand,
// reverse, tile. Where the result is a contiguous range of the operand it is a view, without a
// thunk; otherwise one strided copy.
//
// Attributes:
//   slice      start, stop: dims, step: ints; one entry an axis. The elements range(start, stop,
//              step) of each axis, as Python's slice.indices gives them: bounds do not count from
//              the end, and with a negative step a stop of -1 is before the first element.
//   split      sizes: dims, axis
//   reshape    shape: dims; one may be -1
//   transpose  perm: ints; result axis i is the operand's axis perm[i]
//   expand     shape: dims
//   reverse    axes: ints
//   tile       repeats: ints; as NumPy, the shorter of repeats and shape gets leading ones
#include <algorithm>

#include "ops/dim_bounds.h"
#include "ops/families.h"
#include "ops/strided_copy.h"

namespace bessemer::ops {
namespace {

using Types = std::vector<Type>;

Error argument_error(std::string message) {
  return {ErrorKind::kInvalidArgument, std::move(message), {}};
}

std::string ints_text(const std::vector<int64_t>& values) {
  return to_string(AttrValue(values), {});
}

Status check_moved(const Type& x) {
  if (is_quantised(x.dtype)) {
    return dtype_error("block-quantised values only feed matmul and embedding, got " +
                       std::string(to_string(x.dtype)));
  }
  return {};
}

Result<Shape> shape_attr(const InferInput& in, const char* name, size_t entries) {
  const auto shape = in.attrs.get<Shape>(name);
  if (shape.size() != entries) {
    return argument_error("`" + std::string(name) + "` needs " + std::to_string(entries) +
                          " entries, one an axis, got " + to_string(shape, in.extents));
  }
  return shape;
}

// ---- slice ----

Result<Dim> sliced_size(const InferInput& in, const Dim& size, const Dim& start, const Dim& stop,
                        int64_t step, size_t axis) {
  const auto text = [&] {
    return "slice " + start.to_string(in.extents) + ":" + stop.to_string(in.extents) + ":" +
           std::to_string(step) + " of axis " + std::to_string(axis) + " of size " +
           size.to_string(in.extents);
  };
  if (step == 0) return argument_error(text() + ": a step is not 0");
  const Dim low(step > 0 ? 0 : -1);
  const Dim high = step > 0 ? size : size - Dim(1);
  for (const Dim* bound : {&start, &stop}) {
    if (!never_above(low, *bound, in.extents) || !never_above(*bound, high, in.extents)) {
      return shape_error(text() + ": " + bound->to_string(in.extents) + " is not always within " +
                         low.to_string(in.extents) + " to " + high.to_string(in.extents));
    }
  }
  const Dim length = step > 0 ? stop - start : start - stop;
  const int64_t stride = step > 0 ? step : -step;
  if (length.is_constant()) {
    const int64_t n = length.constant();
    return Dim(n <= 0 ? 0 : (n - 1) / stride + 1);
  }
  if (!never_negative(length, in.extents)) {
    return shape_error(text() + ": its length " + length.to_string(in.extents) +
                       " may be negative");
  }
  Dim quotient;
  if (!length.divide_exactly(Dim(stride), &quotient)) {
    return shape_error(text() + ": the step does not divide the length " +
                       length.to_string(in.extents));
  }
  return quotient;
}

Result<Types> infer_slice(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  const size_t rank = x.shape.size();
  BSM_ASSIGN(const Shape start, shape_attr(in, "start", rank));
  BSM_ASSIGN(const Shape stop, shape_attr(in, "stop", rank));
  const auto step = in.attrs.get<std::vector<int64_t>>("step", std::vector<int64_t>(rank, 1));
  if (step.size() != rank) {
    return argument_error("`step` needs " + std::to_string(rank) + " entries, got " +
                          ints_text(step));
  }
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    BSM_ASSIGN(const Dim size, sliced_size(in, x.shape[i], start[i], stop[i], step[i], i));
    shape.push_back(size);
  }
  return Types{{x.dtype, std::move(shape)}};
}

// The range [start, start + part) along each axis of `whole`, row-major, is contiguous if all axes
// after the first partial one are whole and all before it have one element.
bool is_contiguous_range(const Shape& whole, const Shape& part) {
  size_t first = 0;
  while (first < part.size() && part[first] == Dim(1)) ++first;
  for (size_t i = first + 1; i < part.size(); ++i) {
    if (!(part[i] == whole[i])) return false;
  }
  return true;
}

Status lower_slice(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const Shape& shape = node.results[0].shape;
  const auto start = node.attrs.get<Shape>("start");
  const auto step =
      node.attrs.get<std::vector<int64_t>>("step", std::vector<int64_t>(shape.size(), 1));
  const std::vector<Dim> strides = contiguous_strides(x.shape);
  Dim offset;
  bool unit = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    offset += start[i] * strides[i];
    unit = unit && (step[i] == 1 || shape[i] == Dim(1));
  }
  if (num_elements(shape) == Dim(0)) {
    lowering.define_view(node, 0, x, Dim(0));
    return {};
  }
  if (unit && is_contiguous_range(x.shape, shape)) {
    lowering.define_view(node, 0, x, offset * Dim(info(x.dtype).block_bytes));
    return {};
  }
  const Tensor out = lowering.define(node);
  const std::vector<Dim> to = contiguous_strides(shape);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    axes.push_back({shape[i], strides[i] * Dim(step[i]), to[i]});
  }
  return emit_strided_copy(lowering, node, x, offset, out, Dim(0), axes);
}

// ---- split ----

Result<Types> infer_split(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  BSM_ASSIGN(const int axis, normalise_axis(in.attrs.get<int64_t>("axis"), x.shape.size()));
  const auto sizes = in.attrs.get<Shape>("sizes");
  const auto at = static_cast<size_t>(axis);
  Dim sum;
  Types results;
  for (const Dim& size : sizes) {
    if (!never_negative(size, in.extents)) {
      return shape_error("split size " + size.to_string(in.extents) + " may be negative");
    }
    sum += size;
    Shape shape = x.shape;
    shape[at] = size;
    results.push_back({x.dtype, std::move(shape)});
  }
  if (sizes.empty() || !(sum == x.shape[at])) {
    return shape_error("split sizes " + to_string(sizes, in.extents) + " add up to " +
                       sum.to_string(in.extents) + ", axis " + std::to_string(axis) + " has " +
                       x.shape[at].to_string(in.extents));
  }
  return results;
}

Status lower_split(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  BSM_ASSIGN(const int axis, normalise_axis(node.attrs.get<int64_t>("axis"), x.shape.size()));
  const auto at = static_cast<size_t>(axis);
  const std::vector<Dim> strides = contiguous_strides(x.shape);
  Dim offset;
  for (size_t r = 0; r < node.results.size(); ++r) {
    const Shape& shape = node.results[r].shape;
    const Dim from = offset * strides[at];
    if (is_contiguous_range(x.shape, shape)) {
      lowering.define_view(node, r, x, from * Dim(info(x.dtype).block_bytes));
    } else {
      const Tensor out = lowering.define(node, r);
      const std::vector<Dim> to = contiguous_strides(shape);
      std::vector<CopyAxis> axes;
      for (size_t i = 0; i < shape.size(); ++i) axes.push_back({shape[i], strides[i], to[i]});
      if (!(num_elements(shape) == Dim(0))) {
        BSM_TRY(emit_strided_copy(lowering, node, x, from, out, Dim(0), axes));
      }
    }
    offset += shape[at];
  }
  return {};
}

// ---- reshape ----

Result<Types> infer_reshape(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  auto shape = in.attrs.get<Shape>("shape");
  const Dim have = num_elements(x.shape);
  const auto fail = [&](const std::string& why) {
    return shape_error(to_string(x, in.extents) + " does not reshape to " +
                       to_string(in.attrs.get<Shape>("shape"), in.extents) + why);
  };
  Dim known(1);
  int unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(-1)) {
      if (unknown >= 0) return fail(": only one size may be -1");
      unknown = static_cast<int>(i);
    } else if (!never_negative(shape[i], in.extents)) {
      return fail(": " + shape[i].to_string(in.extents) + " may be negative");
    } else {
      known = known * shape[i];
    }
  }
  if (unknown >= 0) {
    Dim& size = shape[static_cast<size_t>(unknown)];
    if (known == Dim(0)) return fail(": -1 could be any size");
    if (!have.divide_exactly(known, &size)) {
      return fail(": " + known.to_string(in.extents) + " does not divide " +
                  have.to_string(in.extents) + " elements");
    }
  } else if (!(known == have)) {
    return fail(": " + have.to_string(in.extents) + " elements, not " +
                known.to_string(in.extents));
  }
  return Types{{x.dtype, std::move(shape)}};
}

Status lower_view(Lowering& lowering, const Node& node) {
  lowering.define_view(node, 0, lowering.operand(node, 0), Dim(0));
  return {};
}

// ---- transpose ----

Result<Types> infer_transpose(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  const auto perm = in.attrs.get<std::vector<int64_t>>("perm");
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = perm.size() == x.shape.size();
  for (size_t i = 0; valid && i < sorted.size(); ++i) {
    valid = sorted[i] == static_cast<int64_t>(i);
  }
  if (!valid) {
    return argument_error("perm " + ints_text(perm) + " is not an order of the axes of " +
                          to_string(x, in.extents));
  }
  Shape shape;
  for (const int64_t axis : perm) shape.push_back(x.shape[static_cast<size_t>(axis)]);
  return Types{{x.dtype, std::move(shape)}};
}

Status lower_transpose(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const auto perm = node.attrs.get<std::vector<int64_t>>("perm");
  int64_t last = -1;
  bool in_order = true;
  for (const int64_t axis : perm) {
    if (x.shape[static_cast<size_t>(axis)] == Dim(1)) continue;
    in_order = in_order && axis > last;
    last = axis;
  }
  if (in_order) return lower_view(lowering, node);
  const std::vector<Dim> from = contiguous_strides(x.shape);
  const std::vector<Dim> to = contiguous_strides(node.results[0].shape);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < perm.size(); ++i) {
    axes.push_back({node.results[0].shape[i], from[static_cast<size_t>(perm[i])], to[i]});
  }
  const Tensor out = lowering.define(node);
  return emit_strided_copy(lowering, node, x, Dim(0), out, Dim(0), axes);
}

// ---- expand ----

Result<Types> infer_expand(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  const auto shape = in.attrs.get<Shape>("shape");
  bool fits = shape.size() >= x.shape.size();
  for (size_t i = 0; fits && i < x.shape.size(); ++i) {
    const Dim& from = x.shape[i];
    const Dim& to = shape[shape.size() - x.shape.size() + i];
    fits = from == to || from == Dim(1);
  }
  for (const Dim& d : shape) fits = fits && never_negative(d, in.extents);
  if (!fits) {
    return shape_error(to_string(x, in.extents) + " does not broadcast to " +
                       to_string(shape, in.extents));
  }
  return Types{{x.dtype, shape}};
}

Status lower_expand(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const Shape& shape = node.results[0].shape;
  if (num_elements(shape) == num_elements(x.shape)) return lower_view(lowering, node);
  const std::vector<Dim> from = contiguous_strides(x.shape);
  const std::vector<Dim> to = contiguous_strides(shape);
  const size_t lead = shape.size() - x.shape.size();
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool repeats = i < lead || !(x.shape[i - lead] == shape[i]);
    axes.push_back({shape[i], repeats ? Dim(0) : from[i - lead], to[i]});
  }
  const Tensor out = lowering.define(node);
  return emit_strided_copy(lowering, node, x, Dim(0), out, Dim(0), axes);
}

// ---- reverse ----

Result<Types> infer_reverse(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  std::vector<int> seen;
  for (const int64_t a : in.attrs.get<std::vector<int64_t>>("axes")) {
    BSM_ASSIGN(const int axis, normalise_axis(a, x.shape.size()));
    if (std::find(seen.begin(), seen.end(), axis) != seen.end()) {
      return argument_error("axis " + std::to_string(axis) + " is reversed twice");
    }
    seen.push_back(axis);
  }
  return Types{x};
}

Status lower_reverse(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const std::vector<Dim> strides = contiguous_strides(x.shape);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < x.shape.size(); ++i) axes.push_back({x.shape[i], strides[i], strides[i]});
  Dim offset;
  bool moves = false;
  for (const int64_t a : node.attrs.get<std::vector<int64_t>>("axes")) {
    BSM_ASSIGN(const int axis, normalise_axis(a, x.shape.size()));
    const auto i = static_cast<size_t>(axis);
    if (x.shape[i] == Dim(1)) continue;
    moves = true;
    axes[i].from_stride = strides[i] * Dim(-1);
    offset += (x.shape[i] - Dim(1)) * strides[i];
  }
  if (!moves) return lower_view(lowering, node);
  const Tensor out = lowering.define(node);
  return emit_strided_copy(lowering, node, x, offset, out, Dim(0), axes);
}

// ---- tile ----

// Repeats and shape of equal rank.
std::pair<std::vector<int64_t>, Shape> tile_axes(const Attrs& attrs, const Shape& shape) {
  auto repeats = attrs.get<std::vector<int64_t>>("repeats");
  Shape dims = shape;
  if (repeats.size() < dims.size())
    repeats.insert(repeats.begin(), dims.size() - repeats.size(), 1);
  if (dims.size() < repeats.size()) dims.insert(dims.begin(), repeats.size() - dims.size(), Dim(1));
  return {std::move(repeats), std::move(dims)};
}

Result<Types> infer_tile(const InferInput& in) {
  const Type& x = in.operands[0];
  BSM_TRY(check_moved(x));
  auto [repeats, shape] = tile_axes(in.attrs, x.shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0) {
      return argument_error("repeats " + ints_text(repeats) + " has a negative count");
    }
    shape[i] = shape[i] * Dim(repeats[i]);
  }
  return Types{{x.dtype, std::move(shape)}};
}

Status lower_tile(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.operand(node, 0);
  const auto [repeats, shape] = tile_axes(node.attrs, x.shape);
  if (num_elements(node.results[0].shape) == num_elements(x.shape)) {
    return lower_view(lowering, node);
  }
  const std::vector<Dim> from = contiguous_strides(shape);
  const std::vector<Dim> to = contiguous_strides(node.results[0].shape);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    axes.push_back({Dim(repeats[i]), Dim(0), to[i] * shape[i]});
    axes.push_back({shape[i], from[i], to[i]});
  }
  const Tensor out = lowering.define(node);
  return emit_strided_copy(lowering, node, x, Dim(0), out, Dim(0), axes);
}

}  // namespace

OpRows movement_ops() {
  const std::vector<int64_t> ints = {0, 1};
  const Shape dims = {Dim(8), Dim(64)};
  return {
      {Op::k_slice, {infer_slice, lower_slice, {{"start", dims}, {"stop", dims}, {"step", ints}}}},
      {Op::k_split, {infer_split, lower_split, {{"sizes", dims}, {"axis", int64_t{0}}}}},
      {Op::k_reshape, {infer_reshape, lower_view, {{"shape", dims}}}},
      {Op::k_transpose, {infer_transpose, lower_transpose, {{"perm", ints}}}},
      {Op::k_expand, {infer_expand, lower_expand, {{"shape", dims}}}},
      {Op::k_reverse, {infer_reverse, lower_reverse, {{"axes", ints}}}},
      {Op::k_tile, {infer_tile, lower_tile, {{"repeats", ints}}}},
  };
}

}  // namespace bessemer::ops
