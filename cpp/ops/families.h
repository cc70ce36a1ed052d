// The families of ops: each file of this folder gives its rows here.
#pragma once

#include <utility>
#include <vector>

#include "ir/op.h"
#include "ops/op_impl.h"

namespace bessemer::ops {

using OpRows = std::vector<std::pair<Op, OpImpl>>;

OpRows attention_ops();    // attention, rope, scatter_rows, rope_append
OpRows matmul_ops();       // matmul, linear
OpRows norm_ops();         // layer_norm, rms_norm, group_norm, add_norm, norm_add
OpRows elementwise_ops();  // the table's elementwise rows, cast, region

}  // namespace bessemer::ops
