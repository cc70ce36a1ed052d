// What a device gives the runtime: memory in blocks, and replays of planned schedules. One Device
// may be used from any thread; a Replay belongs to one session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/schedule.h"
#include "target/target.h"

namespace bessemer {

// One device buffer. Immutable in size; its contents are its owner's business.
class Block {
 public:
  virtual ~Block() = default;
  // Where the host reads and writes it.
  [[nodiscard]] virtual std::byte* host() const = 0;
  [[nodiscard]] virtual int64_t bytes() const = 0;
};
using BlockPtr = std::shared_ptr<Block>;

// Everything a schedule's operands may refer to, apart from a run's inputs and outputs.
struct Storage {
  std::vector<BlockPtr> arena;
  std::vector<BlockPtr> weights;    // by param
  std::vector<BlockPtr> states;     // by state
  std::vector<BlockPtr> constants;  // by constant
};

struct ThunkTime {
  double seconds = 0;
  int64_t calls = 0;
};

// A compiled schedule bound to one session's storage.
class Replay {
 public:
  virtual ~Replay() = default;
  // Runs to completion at the given extents. inputs and outputs are host pointers in the order of
  // the graph's inputs and outputs, dense and of exactly the shapes that the extents give.
  // Not thread-safe. On an error the outputs and updated states are unspecified but owned.
  [[nodiscard]] virtual Status run(std::span<const int64_t> extents,
                                   std::span<const std::byte* const> inputs,
                                   std::span<std::byte* const> outputs) = 0;
  // Accumulated times by thunk while profiling is on; empty otherwise.
  virtual void set_profiling(bool on) = 0;
  [[nodiscard]] virtual const std::vector<ThunkTime>& times() const = 0;
};

// A schedule made ready for a device (pipelines found, kernels resolved). Immutable.
class CompiledSchedule {
 public:
  virtual ~CompiledSchedule() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<Replay>> bind(const Storage& storage) const = 0;
};

struct DeviceOptions {
  int threads = 0;       // CPU: workers; 0 = what this process may use
  std::string isa = {};  // CPU: force a SIMD family ("generic", "avx2", ...); "" = the best one
  std::string variant =
      {};  // what follows `:` in the name given to open_device; "" if nothing does
  bool operator==(const DeviceOptions&) const = default;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const Target& target() const = 0;
  // What was found out about the machine, as names and values for people: "GPU", "Apple M2".
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  // Kernel families that this device will not use here, and why: those that failed the self-test.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> disabled() const {
    return {};
  }
  // Zero-filled, aligned to the target's alignment. kOutOfMemory names `owner` and the size.
  [[nodiscard]] virtual Result<BlockPtr> allocate(int64_t bytes, std::string_view owner) = 0;
  // Wraps host memory without a copy where the device can; `keep` lives as long as the block. The
  // memory is only read.
  [[nodiscard]] virtual Result<BlockPtr> wrap(const std::byte* data, int64_t bytes,
                                              std::shared_ptr<const void> keep,
                                              std::string_view owner) = 0;
  // kUnsupported names a kernel that this device does not have.
  [[nodiscard]] virtual Result<std::unique_ptr<CompiledSchedule>> compile(
      std::shared_ptr<const Schedule> schedule) = 0;
};
using DevicePtr = std::shared_ptr<Device>;

using DeviceFactory = Result<DevicePtr> (*)(const DeviceOptions& options);
// Devices are found by name. Registration happens once, before the first open (devices/).
void register_device(std::string name, DeviceFactory factory);
// "cpu", "metal", "modelled:CHIP" (compiles for an Apple chip and runs nothing), or "auto" (the
// best one here). kName lists what there is.
[[nodiscard]] Result<DevicePtr> open_device(std::string_view name,
                                            const DeviceOptions& options = {});
[[nodiscard]] std::vector<std::string> device_names();

}  // namespace bessemer
