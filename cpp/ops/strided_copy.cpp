#include "ops/strided_copy.h"

#include "kernel_abi/copy_params.h"

namespace bessemer::ops {

Status emit_strided_copy(Lowering& lowering, const Node& node, const Tensor& from,
                         const Dim& from_offset, const Tensor& to, const Dim& to_offset,
                         const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : axes) {
    if (axis.size == Dim(1)) continue;
    if (!merged.empty() && merged.back().from_stride == axis.from_stride * axis.size &&
        merged.back().to_stride == axis.to_stride * axis.size) {
      merged.back() = {merged.back().size * axis.size, axis.from_stride, axis.to_stride};
    } else {
      merged.push_back(axis);
    }
  }
  if (merged.size() > static_cast<size_t>(abi::kCopyMaxRank)) {
    return Error{ErrorKind::kUnsupported,
                 "moves elements along " + std::to_string(merged.size()) +
                     " axes that do not merge; the kernel takes " +
                     std::to_string(abi::kCopyMaxRank),
                 {}};
  }
  Params<abi::CopyParams> params;
  params.value.rank = static_cast<uint32_t>(merged.size());
  params.value.element_bytes = static_cast<uint32_t>(info(from.dtype).block_bytes);
  for (size_t i = 0; i < merged.size(); ++i) {
    params.set(params.value.dims[i], merged[i].size);
    params.set(params.value.src_strides[i], merged[i].from_stride);
    params.set(params.value.dst_strides[i], merged[i].to_stride);
  }
  params.set(params.value.src_offset, from_offset);
  params.set(params.value.dst_offset, to_offset);
  lowering.emit(node, "copy", {Lowering::read(from), Lowering::write(to)}, params, Dim(0));
  return {};
}

}  // namespace bessemer::ops
