// Allocation problems as CSV: any bytes give a typed error or a solution.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan/arena_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = bessemer::solve_arena_csv(text, 64, 0.001, 1);
  (void)report.ok();
  return 0;
}
