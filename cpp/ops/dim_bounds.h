// Signs of dims over all values that their extents may take.
#pragma once

#include <span>

#include "base/dim.h"

namespace bessemer::ops {

// True if `dim` is not negative whenever every extent is within 1..max. (At 0 a difference such as
// tokens - 1 has no meaning; a run with such an extent is refused when its dims are evaluated.)
// Exact for polynomials that are linear in each extent; others are judged by intervals, which may
// say false of a dim that is never negative.
[[nodiscard]] bool never_negative(const Dim& dim, std::span<const Extent> extents);

// a <= b at all extents, in the sense above.
[[nodiscard]] inline bool never_above(const Dim& a, const Dim& b, std::span<const Extent> extents) {
  return never_negative(b - a, extents);
}

}  // namespace bessemer::ops
