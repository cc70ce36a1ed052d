#include "devices/cpu/attention_isa.h"
#include "devices/cpu/simd/vec_generic.h"
#include "kernel_abi/attention_params.h"

// After the vector layer:
#include "devices/cpu/simd/blocks_generic.h"
#include "devices/cpu/simd/vec_math.h"

// After all of those, in this order:
#include "devices/cpu/float_rows.inl"

#include "devices/cpu/attention_rows.inl"

#include "devices/cpu/attention_direct.inl"
#include "devices/cpu/attention_tile.inl"

namespace bessemer::cpu {

const AttentionIsa& attention_generic() {
  static constexpr AttentionIsa kTable = {load_query, widen_rows, pack_keys, direct,
                                          tile,       merge,      finish};
  return kTable;
}

}  // namespace bessemer::cpu
