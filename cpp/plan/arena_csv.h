// Static allocation problems as CSV (the format of public problem sets): a header naming the
// columns id, lower, upper and size in any order, then a row for each buffer. Lifetimes are
// half-open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bessemer {

struct ArenaCsvRow {
  std::string line;  // as given, without its end
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
};

struct ArenaCsv {
  std::string header;
  std::vector<ArenaCsvRow> rows;
};

// kParse with the line number: a missing or repeated column, a row of another width, something that
// is not a number, a negative size, an upper below its lower, an id given twice, sums beyond 64
// bits.
[[nodiscard]] Result<ArenaCsv> parse_arena_csv(std::string_view text);

struct ArenaCsvReport {
  bool found = false;   // fits the capacity
  bool proven = false;  // not found, and there is no packing that would fit
  int64_t peak = 0;     // bytes of the packing that is written
  int64_t bound = 0;    // bytes that any packing needs
  double seconds = 0;
  std::string csv;  // the input with an offset column
};

// Packs the problem within `capacity` bytes; if that is not found within the budget, the best
// packing found. threads <= 0: all that this process may use. Blocking.
[[nodiscard]] Result<ArenaCsvReport> solve_arena_csv(std::string_view text, int64_t capacity,
                                                     double budget_s, int threads);

}  // namespace bessemer
