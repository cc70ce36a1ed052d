// From an order of thunks to the storages that the arena must hold: when each value lives, which
// values share one storage because a thunk works in place, and how long a storage is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/live_memory.h"

namespace bessemer {

struct ValueLifetime {
  uint32_t buffer = 0;
  uint32_t first = 0;  // step of the first access
  uint32_t last = 0;   // step of the last
  uint32_t storage = 0;
  uint32_t takes_over = 0xffffffff;  // buffer whose storage it took over in place at `first`
};

// Bytes for one value or for several that follow one another in place.
struct ArenaStorage {
  int64_t size = 0;
  uint32_t lower = 0;  // first step
  uint32_t upper = 0;  // one after the last step for which it is kept
};

struct LifetimeOptions {
  bool reuse = true;  // false: every value has a storage of its own for the whole schedule
  // Keep storages to the end of their barrier group where that does not raise the bound (or not
  // above allowed_bytes), so that reuse does not put barriers between thunks that are otherwise
  // independent.
  bool keep_to_group_end = true;
  int64_t allowed_bytes = 0;  // what the bound may rise to for that
};

struct Lifetimes {
  std::vector<ValueLifetime> values;  // by first, then buffer; none of zero bytes
  std::vector<ArenaStorage> storages;
  int64_t bound = 0;  // the largest sum of storages kept at one step
  int64_t merges = 0;
  bool kept_longer = false;  // some storage is kept longer than its values live
};

// `groups[i]` is the barrier group of step i by dependences alone (dependence_groups).
[[nodiscard]] Lifetimes find_lifetimes(const ValueTable& values, const std::vector<uint32_t>& order,
                                       const std::vector<uint32_t>& groups,
                                       const LifetimeOptions& options = {});

}  // namespace bessemer
