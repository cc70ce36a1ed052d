#include "ops/dim_bounds.h"

#include <algorithm>

namespace bessemer::ops {
namespace {

constexpr size_t kMostCorners = 8;  // extents: 256 corners

bool by_intervals(const Dim& dim, const ExtentValues& least, const ExtentValues& most) {
  Dim low;
  for (const Dim::Term& term : dim.terms()) {
    Dim product(term.coefficient);
    const ExtentValues& at = term.coefficient > 0 ? least : most;
    for (const ExtentId id : term.factors) product = product * Dim(at[id]);
    low += product;
  }
  return low.constant() >= 0;
}

}  // namespace

bool never_negative(const Dim& dim, std::span<const Extent> extents) {
  if (dim.is_constant()) return dim.constant() >= 0;
  bool any_negative = false;
  bool linear = true;
  std::vector<ExtentId> used;
  for (const Dim::Term& term : dim.terms()) {
    any_negative = any_negative || term.coefficient < 0;
    for (size_t i = 0; i < term.factors.size(); ++i) {
      if (i > 0 && term.factors[i] == term.factors[i - 1]) linear = false;
      if (std::find(used.begin(), used.end(), term.factors[i]) == used.end()) {
        used.push_back(term.factors[i]);
      }
    }
  }
  if (!any_negative) return true;
  ExtentValues least(extents.size(), 1);
  ExtentValues most;
  for (const Extent& e : extents) most.push_back(e.max);
  if (!linear || used.size() > kMostCorners) return by_intervals(dim, least, most);
  // A function that is linear in each variable is least at a corner of the box.
  for (uint32_t corner = 0; corner < (1u << used.size()); ++corner) {
    ExtentValues at = least;
    for (size_t i = 0; i < used.size(); ++i) {
      if (((corner >> i) & 1) != 0) at[used[i]] = most[used[i]];
    }
    if (dim.evaluate(at) < 0) return false;
  }
  return true;
}

}  // namespace bessemer::ops
