// matmul: the general batched product, and linear: weights applied to one input with everything
// around it folded in (made by passes).
#include "ops/families.h"
#include "ops/lowering.h"

namespace bessemer::ops {
OpRows matmul_ops() { return {}; }
}  // namespace bessemer::ops
