// dce: drops what no output and no update needs. Inputs, params and states stay, used or not: they
// are the program's interface.
#include "passes/passes.h"

namespace bessemer::passes {

Result<int64_t> dce(Rewriter& r, const PassOptions&) {
  const int64_t dead = r.count_dead();
  if (dead > 0) r.sweep();
  return dead;
}

}  // namespace bessemer::passes
