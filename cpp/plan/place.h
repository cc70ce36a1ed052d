// Places storages in arena blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/lifetimes.h"
#include "target/target.h"

namespace bessemer {

struct Placement {
  std::vector<uint32_t> block;  // by storage
  std::vector<int64_t> offset;
  std::vector<int64_t> block_bytes;  // by block; empty if there is no storage
  int64_t total = 0;
};

// A place for each storage in one block without an end.
struct Packed {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};
// First fit in a few orders; the lowest peak wins, and reaching the lower bound ends it.
[[nodiscard]] Packed pack_first_fit(const std::vector<ArenaStorage>& storages);
// The largest sum of sizes kept at one step: no packing has a lower peak.
[[nodiscard]] int64_t packing_bound(const std::vector<ArenaStorage>& storages);

// One block if all fits below the target's limits; otherwise what does not fit goes to further
// blocks. kUnsupported if a single storage exceeds target.max_block_bytes; `labels[i]` names
// storage i in that message.
[[nodiscard]] Result<Placement> place_storages(const std::vector<ArenaStorage>& storages,
                                               const std::vector<std::string>& labels,
                                               const Target& target, double budget_s);

}  // namespace bessemer
