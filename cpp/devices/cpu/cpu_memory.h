// Blocks of host memory.
#pragma once

#include "runtime/device.h"

namespace bessemer::cpu {

// Zero-filled pages straight from the system: untouched pages cost nothing, and dropping the block
// gives them back at once. kOutOfMemory names the owner and what was asked.
[[nodiscard]] Result<BlockPtr> allocate(int64_t bytes, std::string_view owner);

// Read-only memory that somebody else owns.
[[nodiscard]] BlockPtr wrap(const std::byte* data, int64_t bytes, std::shared_ptr<const void> keep);

}  // namespace bessemer::cpu
