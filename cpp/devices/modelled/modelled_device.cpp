#include "devices/modelled/modelled_device.h"

#include "devices/cpu/cpu_memory.h"
#include "target/apple_chip.h"

namespace bessemer::modelled {
namespace {

class ModelledReplay final : public Replay {
 public:
  explicit ModelledReplay(std::string chip) : chip_(std::move(chip)) {}
  [[nodiscard]] Status run(std::span<const int64_t> /*extents*/,
                           std::span<const std::byte* const> /*inputs*/,
                           std::span<std::byte* const> /*outputs*/) override {
    return Error{ErrorKind::kUnsupported,
                 "`modelled:" + chip_ + "` compiles for that chip; it cannot run",
                 {}};
  }
  void set_profiling(bool /*on*/) override {}
  [[nodiscard]] const std::vector<ThunkTime>& times() const override { return times_; }

 private:
  std::string chip_;
  std::vector<ThunkTime> times_;
};

class ModelledSchedule final : public CompiledSchedule {
 public:
  explicit ModelledSchedule(std::string chip) : chip_(std::move(chip)) {}
  [[nodiscard]] Result<std::unique_ptr<Replay>> bind(const Storage& /*storage*/) const override {
    return std::unique_ptr<Replay>(std::make_unique<ModelledReplay>(chip_));
  }

 private:
  std::string chip_;
};

class ModelledDevice final : public Device {
 public:
  explicit ModelledDevice(const AppleChip& chip)
      : name_("modelled:" + std::string(chip.name)), chip_(chip.name) {
    target_.kind = TargetKind::kMetal;
    target_.name = "apple" + std::to_string(chip.family);
    target_.alignment = 256;
    target_.max_block_bytes = int64_t{16} << 30;
    target_.max_offset = int64_t{4} << 30;
    target_.int8_dot = false;
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const Target& target() const override { return target_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"chip", chip_}, {"runs", "nothing: it compiles for that chip"}};
  }
  // Pages that nothing touches cost nothing, so that models too large for this machine compile.
  [[nodiscard]] Result<BlockPtr> allocate(int64_t bytes, std::string_view owner) override {
    return cpu::allocate(bytes, owner);
  }
  [[nodiscard]] Result<BlockPtr> wrap(const std::byte* data, int64_t bytes,
                                      std::shared_ptr<const void> keep,
                                      std::string_view /*owner*/) override {
    return cpu::wrap(data, bytes, std::move(keep));
  }
  [[nodiscard]] Result<std::unique_ptr<CompiledSchedule>> compile(
      std::shared_ptr<const Schedule> /*schedule*/) override {
    return std::unique_ptr<CompiledSchedule>(std::make_unique<ModelledSchedule>(chip_));
  }

 private:
  std::string name_;
  std::string chip_;
  Target target_;
};

}  // namespace

Result<DevicePtr> open(const DeviceOptions& options) {
  if (const AppleChip* chip = find_apple_chip(options.variant)) {
    return DevicePtr(std::make_shared<ModelledDevice>(*chip));
  }
  std::string have;
  for (const AppleChip& chip : apple_chips()) {
    have += (have.empty() ? "" : ", ") + std::string(chip.name);
  }
  return Error{
      ErrorKind::kName, "no chip `" + options.variant + "` is modelled; there are: " + have, {}};
}

}  // namespace bessemer::modelled
