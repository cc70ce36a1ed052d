// Search for a packing that fits a capacity, for problems that first fit does not solve.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/lifetimes.h"

namespace bessemer {

struct ArenaSearchOptions {
  double budget_s = 10;
  int threads = 1;
  // Each prunes what cannot lead to a packing, or leads to one that is found elsewhere; switches
  // are for tests, which compare all of them.
  bool decompose = true;  // solve stretches of time apart that no unplaced storage links
  bool hatless = true;    // a storage with nothing left to place above it has only one place to try
  bool dominance = true;  // do not start above where another unplaced storage would end
};

enum class ArenaSearchEnd : uint8_t { kFound, kImpossible, kBudget };

struct ArenaSearchResult {
  ArenaSearchEnd end = ArenaSearchEnd::kBudget;
  std::vector<int64_t> offsets;  // kFound only
  int64_t nodes = 0;             // of all threads
};

// Offsets for all storages so that each lies in [0, capacity) and no two that are kept at a common
// step overlap. Exact: kImpossible is a proof. Blocking; deterministic with one thread.
[[nodiscard]] ArenaSearchResult search_packing(const std::vector<ArenaStorage>& storages,
                                               int64_t capacity, const ArenaSearchOptions& options);

}  // namespace bessemer
