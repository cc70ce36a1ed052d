// A copy between strided views of two tensors, for lowerings.
#pragma once

#include <vector>

#include "ops/lowering.h"

namespace bessemer::ops {

// One axis of a copy; strides in elements.
struct CopyAxis {
  Dim size;
  Dim from_stride;
  Dim to_stride;
};

// Emits the kernel `copy`: to[to_offset + ...] = from[from_offset + ...] over the axes, outermost
// first. Offsets in elements. Axes that both sides step evenly over are merged; kUnsupported if
// more than kCopyMaxRank remain. `to` is written as a whole.
[[nodiscard]] Status emit_strided_copy(Lowering& lowering, const Node& node, const Tensor& from,
                                       const Dim& from_offset, const Tensor& to,
                                       const Dim& to_offset, const std::vector<CopyAxis>& axes);

}  // namespace bessemer::ops
