// Barriers from hazards: a thunk needs a barrier before it if and only if it and a thunk since the
// last barrier touch a common byte and one of them writes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thunk/thunk.h"

namespace bessemer {

// barrier_before of thunks in their final order, with operands in their final places (spaces other
// than kValue), valid at all extents up to `maxima`. Placing each barrier as late as possible gives
// the fewest that any choice gives for this order.
[[nodiscard]] std::vector<uint8_t> find_barriers(std::span<const Thunk> thunks,
                                                 std::span<const int64_t> maxima);

}  // namespace bessemer
