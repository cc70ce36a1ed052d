#include "plan/byte_origins.h"

#include <algorithm>

namespace bessemer {

size_t OriginMap::find(int64_t address) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), address,
                                      [](int64_t a, const Run& r) { return a < r.low; });
  return static_cast<size_t>(after - runs_.begin()) - 1;
}

void OriginMap::write(int64_t low, int64_t high, const Origin& origin) {
  if (high <= low) return;
  const size_t first = find(low);
  const size_t last = find(high - 1);
  Run replacement[3];
  size_t count = 0;
  if (runs_[first].low < low) replacement[count++] = runs_[first];
  replacement[count++] = {low, origin};
  const bool tail = last + 1 == runs_.size() || runs_[last + 1].low > high;
  if (tail) replacement[count++] = {high, runs_[last].origin};
  const size_t old = last - first + 1;
  const auto at = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  if (old >= count) {
    std::copy(replacement, replacement + count, at);
    runs_.erase(at + static_cast<std::ptrdiff_t>(count), at + static_cast<std::ptrdiff_t>(old));
  } else {
    std::copy(replacement, replacement + old, at);
    runs_.insert(at + static_cast<std::ptrdiff_t>(old), replacement + old, replacement + count);
  }
}

void OriginMap::read(int64_t low, int64_t high, std::vector<OriginRun>* runs) const {
  if (high <= low) return;
  const size_t before = runs->size();
  for (size_t i = find(low); i < runs_.size() && runs_[i].low < high; ++i) {
    OriginRun run;
    run.low = std::max(runs_[i].low, low) - low;
    run.high = (i + 1 < runs_.size() ? std::min(runs_[i + 1].low, high) : high) - low;
    run.origin = runs_[i].origin;
    if (run.origin.thunk != Origin::kNever) run.origin.start -= low;
    if (runs->size() > before && runs->back().origin == run.origin) {
      runs->back().high = run.high;
    } else {
      runs->push_back(run);
    }
  }
}

}  // namespace bessemer
