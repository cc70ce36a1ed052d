#include "plan/cost_model.h"

#include <algorithm>

namespace bessemer {

ModelledTime model_time(const Schedule& schedule, std::span<const int64_t> extents, int64_t context,
                        const AppleChip& chip, const CostModel& model) {
  ModelledTime t;
  t.critical_path = schedule.critical_path;
  const double bandwidth =
      chip.bandwidth * model.streaming_share * (chip.dies > 1 ? model.second_die_share : 1.0);
  const double rate = chip.flops() * model.compute_share;

  int64_t group_bytes = 0;
  int64_t group_flops = 0;
  // A group's dispatches run side by side and share the memory and the arithmetic units.
  const auto close_group = [&] {
    const double memory = static_cast<double>(group_bytes) / bandwidth;
    const double compute = static_cast<double>(group_flops) / rate;
    (memory >= compute ? t.memory_seconds : t.compute_seconds) += std::max(memory, compute);
    t.bytes += group_bytes;
    t.flops += group_flops;
    group_bytes = group_flops = 0;
  };
  for (size_t i = 0; i < schedule.thunks.size(); ++i) {
    if (schedule.barrier_before[i] != 0) {
      close_group();
      ++t.barriers;
    }
    const Traffic moved = traffic(schedule.thunks[i], extents, context);
    group_bytes += moved.read + moved.written;
    group_flops += flops_at(schedule.thunks[i], extents, context);
    ++t.dispatches;
  }
  close_group();

  const int64_t per = model.dispatches_per_command_buffer;
  const int64_t command_buffers = (t.dispatches + per - 1) / per;
  t.fixed_seconds = static_cast<double>(t.barriers) * model.barrier_seconds +
                    static_cast<double>(t.dispatches) * model.dispatch_seconds +
                    static_cast<double>(command_buffers) * model.command_buffer_seconds +
                    (t.dispatches > 0 ? model.commit_seconds : 0);
  t.encode_seconds = static_cast<double>(t.dispatches) * model.encode_seconds;
  t.seconds = std::max(t.memory_seconds + t.compute_seconds + t.fixed_seconds, t.encode_seconds);
  return t;
}

}  // namespace bessemer
