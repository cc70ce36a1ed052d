// The families of ops: each file of this folder gives its rows here.
#pragma once

#include <utility>
#include <vector>

#include "ir/op.h"
#include "ops/op_impl.h"

namespace bessemer::ops {

using OpRows = std::vector<std::pair<Op, OpImpl>>;

OpRows matmul_ops();  // matmul, linear

}  // namespace bessemer::ops
