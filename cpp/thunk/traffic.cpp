#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/dtype.h"
#include "kernel_abi/attention_params.h"
#include "kernel_abi/gather_params.h"
#include "kernel_abi/rope_params.h"
#include "thunk/thunk.h"

namespace bessemer {
namespace {

std::string_view family_of(const Thunk& thunk) {
  const std::string_view kernel = thunk.kernel;
  return kernel.substr(0, kernel.find("__"));
}

// The struct at the extents. Precondition: the family's params are a P.
template <class P>
P params_of(const Thunk& thunk, std::span<const int64_t> extents) {
  P p;
  std::memcpy(&p, params_at(thunk, extents).data(), sizeof(P));
  return p;
}

int64_t row_bytes(uint32_t dtype, int64_t elements) {
  const DTypeInfo& d = info(static_cast<DType>(dtype));
  return elements / d.block_elements * d.block_bytes;
}

// An operand of which a kernel touches at most so many bytes, whatever its range.
struct Cap {
  size_t operand;
  int64_t bytes;
};

// Keys of a sequence that the last of its tokens may see, for the form with states.
int64_t keys_seen(const abi::AttentionParams& p, int64_t context) {
  int64_t keys = std::min(context, p.keys);
  if (p.window > 0) keys = std::min(keys, p.window + p.tokens - 1);
  return keys;
}

std::vector<Cap> caps(const Thunk& thunk, std::span<const int64_t> extents, int64_t context) {
  const std::string_view family = family_of(thunk);
  const size_t n = thunk.operands.size();
  if (family == "embedding") {
    const auto p = params_of<abi::EmbeddingParams>(thunk, extents);
    return {{0, p.ids * row_bytes(p.table_dtype, p.width)}};
  }
  if (family == "gather") {
    const auto p = params_of<abi::GatherParams>(thunk, extents);
    return {{0, p.outer * p.indices * p.row_bytes}};
  }
  if (family == "scatter_rows") {
    const auto p = params_of<abi::ScatterRowsParams>(thunk, extents);
    return {{n - 1, p.count * row_bytes(p.state_dtype, p.row)}};
  }
  if (family == "rope_append") {
    const auto p = params_of<abi::RopeAppendParams>(thunk, extents);
    const int64_t heads = p.rope.tokens * p.kv_heads;
    return {{n - 3, row_bytes(p.k_state_dtype, heads * p.rope.head_dim)},
            {n - 2, row_bytes(p.v_state_dtype, heads * p.v_head_dim)}};
  }
  if (family == "attention" && context != kWholeContext) {
    const auto p = params_of<abi::AttentionParams>(thunk, extents);
    if (p.sequences == 0) return {};
    const int64_t heads = keys_seen(p, context) * p.kv_heads;
    return {{1, row_bytes(p.k_dtype, heads * p.head_dim)},
            {2, row_bytes(p.v_dtype, heads * p.v_head_dim)}};
  }
  return {};
}

}  // namespace

std::vector<std::byte> params_at(const Thunk& thunk, std::span<const int64_t> extents) {
  std::vector<std::byte> params = thunk.params;
  for (const Patch& patch : thunk.patches) {
    const int64_t value = patch.value.evaluate(extents);
    const auto narrow = static_cast<int32_t>(value);
    if (patch.width == 8) {
      std::memcpy(params.data() + patch.byte_offset, &value, 8);
    } else {
      std::memcpy(params.data() + patch.byte_offset, &narrow, 4);
    }
  }
  return params;
}

Traffic traffic(const Thunk& thunk, std::span<const int64_t> extents, int64_t context) {
  const std::vector<Cap> capped = caps(thunk, extents, context);
  // A state that is appended to in place is written, not read.
  const std::string_view family = family_of(thunk);
  const bool appends = family == "scatter_rows" || family == "rope_append";
  Traffic t;
  for (size_t i = 0; i < thunk.operands.size(); ++i) {
    const Operand& o = thunk.operands[i];
    int64_t bytes = std::max<int64_t>(o.bytes.evaluate(extents), 0);
    bool only_written = false;
    for (const Cap& cap : capped) {
      if (cap.operand != i) continue;
      bytes = std::min(bytes, cap.bytes);
      only_written = appends;
    }
    if (reads(o.access) && !only_written) t.read += bytes;
    if (writes(o.access)) t.written += bytes;
  }
  return t;
}

int64_t flops_at(const Thunk& thunk, std::span<const int64_t> extents, int64_t context) {
  if (context != kWholeContext && family_of(thunk) == "attention") {
    const auto p = params_of<abi::AttentionParams>(thunk, extents);
    if (p.sequences > 0) {
      return 2 * p.tokens * p.heads * (p.head_dim + p.v_head_dim) * keys_seen(p, context);
    }
  }
  return thunk.flops.evaluate(extents);
}

}  // namespace bessemer
