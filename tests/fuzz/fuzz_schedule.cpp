// Any text is refused with kParse, or read as a schedule that prints and parses back to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "plan/schedule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed =
      bessemer::parse_schedule(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed) {
    if (parsed.error().kind != bessemer::ErrorKind::kParse) std::abort();
    return 0;
  }
  const auto again = bessemer::parse_schedule(bessemer::to_string(*parsed));
  if (!again || !(*again == *parsed)) std::abort();
  return 0;
}
