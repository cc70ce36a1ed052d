#include "devices/cpu/cpu_device.h"

#include <map>
#include <mutex>

#include "devices/cpu/cpu_memory.h"
#include "devices/cpu/cpu_replay.h"
#include "devices/cpu/kernel.h"

namespace bessemer::cpu {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, Isa isa)
      : pool_(std::make_shared<ThreadPool>(threads)),
        isa_(isa),
        target_(cpu_target(pool_->size())) {
    target_.name = "cpu-" + std::string(to_string(isa));
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const Target& target() const override { return target_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"kernels", std::string(to_string(isa_))}, {"threads", std::to_string(pool_->size())}};
  }
  [[nodiscard]] Result<BlockPtr> allocate(int64_t bytes, std::string_view owner) override {
    return cpu::allocate(bytes, owner);
  }
  [[nodiscard]] Result<BlockPtr> wrap(const std::byte* data, int64_t bytes,
                                      std::shared_ptr<const void> keep,
                                      std::string_view /*owner*/) override {
    return cpu::wrap(data, bytes, std::move(keep));
  }
  [[nodiscard]] Result<std::unique_ptr<CompiledSchedule>> compile(
      std::shared_ptr<const Schedule> schedule) override {
    return compile_schedule(std::move(schedule), pool_, isa_);
  }

 private:
  std::string name_ = "cpu";
  std::shared_ptr<ThreadPool> pool_;
  Isa isa_;
  Target target_;
};

Result<Isa> parse_isa(const std::string& name) {
  if (name.empty()) return detect_isa();
  std::string have;
  for (Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kNeon}) {
    if (name == to_string(isa)) {
      if (isa_available(isa)) return isa;
      return Error{ErrorKind::kUnsupported, "this machine does not run `" + name + "`", {}};
    }
    have += (have.empty() ? "" : ", ") + std::string(to_string(isa));
  }
  return Error{
      ErrorKind::kInvalidArgument, "unknown SIMD family `" + name + "`; there are: " + have, {}};
}

}  // namespace

Result<DevicePtr> open(const DeviceOptions& options) {
  if (!options.variant.empty()) {
    return Error{ErrorKind::kName,
                 "the device `cpu` has no variants, got `cpu:" + options.variant + "`",
                 {}};
  }
  if (options.threads < 0 || options.threads > 1024) {
    return Error{
        ErrorKind::kInvalidArgument,
        "threads must be 0 (all that may be used) to 1024, got " + std::to_string(options.threads),
        {}};
  }
  BSM_ASSIGN(const Isa isa, parse_isa(options.isa));
  const int threads = options.threads == 0 ? ThreadPool::usable_cpus() : options.threads;
  static std::mutex mutex;
  static std::map<std::pair<int, Isa>, std::weak_ptr<Device>> open_devices;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& slot = open_devices[{threads, isa}];
  if (DevicePtr device = slot.lock()) return device;
  DevicePtr device = std::make_shared<CpuDevice>(threads, isa);
  slot = device;
  return device;
}

}  // namespace bessemer::cpu
