#include "devices/cpu/attention_isa.h"
#include "kernel_abi/attention_params.h"
#if defined(__x86_64__)
#include "devices/cpu/simd/vec_avx2.h"

// After the vector layer:
#include "devices/cpu/simd/blocks_avx2.h"
#include "devices/cpu/simd/vec_math.h"

// After all of those, in this order:
#include "devices/cpu/float_rows.inl"

#include "devices/cpu/attention_rows.inl"

#include "devices/cpu/attention_direct.inl"
#include "devices/cpu/attention_tile.inl"

namespace bessemer::cpu {

const AttentionIsa& attention_avx2() {
  static constexpr AttentionIsa kTable = {load_query, widen_rows, pack_keys, direct,
                                          tile,       merge,      finish};
  return kTable;
}

}  // namespace bessemer::cpu
#endif
