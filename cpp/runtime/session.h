// One user of a Program: its arena, its states, and the replays bound to them. A session belongs to
// one caller at a time: a second thread gets kBusy, not a race. Different sessions run in parallel.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/program.h"
#include "runtime/weights.h"

namespace bessemer {

// A host tensor for a run: dense, row-major, of the port's dtype.
struct InputView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

class Session {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(
      std::shared_ptr<const Program> program, std::shared_ptr<Weights> weights);

  // The extents that the inputs' shapes imply, checked against each other, `given` (name, value)
  // and the bounds. One InputView for each program input, in order.
  // kShape, kDtype, kName, kInvalidArgument (above the bound; not determined).
  [[nodiscard]] Result<ExtentValues> resolve_extents(
      std::span<const InputView> inputs,
      std::span<const std::pair<std::string, int64_t>> given) const;

  // Runs to completion. outputs[i] receives exactly the bytes that the extents give to output i.
  // kBusy: another call is in progress. kState: a param has no data. After any error the session
  // is usable; states then hold what the completed steps wrote.
  [[nodiscard]] Status run(std::span<const int64_t> extents, std::span<const InputView> inputs,
                           std::span<std::byte* const> outputs);

  // States, dense. kName, kShape (wrong size), kBusy.
  [[nodiscard]] Status read_state(const std::string& name, std::byte* into, int64_t bytes);
  [[nodiscard]] Status write_state(const std::string& name, const std::byte* from, int64_t bytes);
  [[nodiscard]] Status fill_states(std::byte value);
  [[nodiscard]] int64_t state_bytes() const;
  [[nodiscard]] int64_t arena_bytes() const;

  // Debugging: sets every byte of the arena, or copies it out, block after block.
  [[nodiscard]] Status poison_arena(std::byte value);
  [[nodiscard]] Result<std::vector<std::byte>> read_arena();

  [[nodiscard]] Status set_profiling(bool on);
  // By bucket: accumulated thunk times; empty where nothing was profiled.
  [[nodiscard]] Result<std::vector<std::vector<ThunkTime>>> times();

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const std::shared_ptr<Weights>& weights() const { return weights_; }

 private:
  Session() = default;
  class Turn;  // the caller's exclusive turn
  [[nodiscard]] Status bind(size_t bucket);
  [[nodiscard]] Result<size_t> find_state(const std::string& name, int64_t bytes) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Weights> weights_;
  std::vector<BlockPtr> arena_;
  std::vector<BlockPtr> states_;
  std::vector<std::unique_ptr<Replay>> replays_;  // by bucket; made on first use
  uint64_t bound_version_ = 0;                    // of the weights that the replays hold
  bool profiling_ = false;
  std::atomic<bool> busy_ = false;
};

}  // namespace bessemer
