// A model of how long a schedule takes on an Apple GPU, from bytes, operations, barriers and a few
// published costs. For comparing plans and for a first idea of a chip; never a measurement.
#pragma once

#include <cstdint>
#include <span>

#include "plan/schedule.h"
#include "target/apple_chip.h"

namespace bessemer {

// Where the figures come from is told in docs/modelled-devices.md.
struct CostModel {
  double streaming_share = 0.80;     // of the memory's bandwidth that a kernel reaches on one die
  double second_die_share = 0.62;    // of that again, where two dies share one memory
  double compute_share = 0.55;       // of the f32 peak that matrix products reach
  double barrier_seconds = 3e-6;     // until the next group runs, after the last has drained
  double dispatch_seconds = 0.4e-6;  // of the GPU's front end, for each dispatch
  double encode_seconds = 0.8e-6;    // of the host, for each dispatch that is encoded
  double command_buffer_seconds = 20e-6;
  double commit_seconds = 150e-6;  // commit, wake-up and wait, once a run
  int64_t dispatches_per_command_buffer = 256;
};

struct ModelledTime {
  int64_t dispatches = 0;
  int64_t barriers = 0;
  int64_t critical_path = 0;
  int64_t bytes = 0;
  int64_t flops = 0;
  double memory_seconds = 0;   // of the groups that memory bounds
  double compute_seconds = 0;  // of the groups that arithmetic bounds
  double fixed_seconds = 0;    // barriers, dispatches, command buffers, commit
  double encode_seconds = 0;   // of the host; hidden unless it is longer than the GPU's time
  double seconds = 0;          // of the whole run, encoded one by one
};

// One run at `extents`, with `context` rows in each KV cache (kWholeContext: all).
[[nodiscard]] ModelledTime model_time(const Schedule& schedule, std::span<const int64_t> extents,
                                      int64_t context, const AppleChip& chip,
                                      const CostModel& model = {});

}  // namespace bessemer
