#include "target/target.h"

#include <limits>

namespace bessemer {

Target cpu_target(int threads) {
  Target t;
  t.kind = TargetKind::kCpu;
  t.name = "cpu";
  t.alignment = 64;
  t.max_block_bytes = std::numeric_limits<int64_t>::max() / 4;
  t.max_offset = std::numeric_limits<int64_t>::max() / 4;
  t.threads = threads;
  return t;
}

}  // namespace bessemer
