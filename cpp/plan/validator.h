// Proves that a schedule means what its lowered graph means. Shares no code with the planner: it
// replays both, the graph in program order with unlimited storage, the schedule in its own memory,
// and follows every byte from the write that made it to each read that sees it.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "ops/lowering.h"
#include "plan/schedule.h"
#include "target/target.h"

namespace bessemer {

// kInternal naming thunk, operand and byte range unless, at these values of the extents (each at
// most the schedule's maximum):
//  - the schedule runs every thunk of the graph once, with its own kernel, parameters and operands;
//  - every read sees, byte for byte, the write that program order means, and nothing unwritten;
//  - outputs and states end with the bytes that program order leaves;
//  - no two thunks of a barrier group touch a common byte that one of them writes, and no thunk's
//    own operands share bytes unless the graph or an in-place hint lets them;
//  - operands stay inside their blocks and values, values inside the arena, at aligned offsets, and
//    the table of values is true: no two that live at once share bytes.
[[nodiscard]] Status validate_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                                       const Target& target, std::span<const int64_t> extents);
// At the schedule's maxima.
[[nodiscard]] Status validate_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                                       const Target& target);

}  // namespace bessemer
