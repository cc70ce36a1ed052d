// The families of ops: each file of this folder gives its rows here.
#pragma once

#include <utility>
#include <vector>

#include "ir/op.h"
#include "ops/op_impl.h"

namespace bessemer::ops {

using OpRows = std::vector<std::pair<Op, OpImpl>>;

OpRows attention_ops();    // attention, rope, scatter_rows, rope_append
OpRows elementwise_ops();  // the table's elementwise rows, cast, region
OpRows movement_ops();     // slice, split, reshape, transpose, expand, reverse, tile
OpRows joining_ops();      // concat, pad, tril, triu, iota
OpRows gather_ops();       // gather, embedding
OpRows matmul_ops();       // matmul, linear
OpRows reduction_ops();    // reductions, arg, softmax, running, top_k
OpRows norm_ops();         // layer_norm, rms_norm, group_norm, add_norm, norm_add

}  // namespace bessemer::ops
