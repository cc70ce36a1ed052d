#include "passes/passes.h"
namespace bessemer::passes {
Result<int64_t> recognise_attention(Rewriter&, const PassOptions&) { return int64_t{0}; }
}
