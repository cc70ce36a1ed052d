#include "passes/passes.h"
namespace bessemer::passes {
Result<int64_t> constant_fold(Rewriter&, const PassOptions&) { return int64_t{0}; }
}
