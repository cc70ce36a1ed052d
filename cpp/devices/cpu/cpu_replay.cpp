#include "devices/cpu/cpu_replay.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "devices/cpu/kernels.h"

namespace bessemer::cpu {
namespace {

class CpuSchedule final : public CompiledSchedule {
 public:
  CpuSchedule(std::shared_ptr<const Schedule> schedule, std::vector<KernelFn> kernels,
              std::shared_ptr<ThreadPool> pool, Isa isa)
      : schedule_(std::move(schedule)),
        kernels_(std::move(kernels)),
        pool_(std::move(pool)),
        isa_(isa) {}
  [[nodiscard]] Result<std::unique_ptr<Replay>> bind(const Storage& storage) const override;

 private:
  std::shared_ptr<const Schedule> schedule_;
  std::vector<KernelFn> kernels_;
  std::shared_ptr<ThreadPool> pool_;
  Isa isa_;
};

// An operand whose address is not known until a run: it lies in an input or output.
struct LateOperand {
  uint32_t pointer;  // index in pointers_
  Space space;
  uint32_t block;
  int64_t offset;
};

class CpuReplay final : public Replay {
 public:
  CpuReplay(std::shared_ptr<const Schedule> schedule, const std::vector<KernelFn>& kernels,
            std::shared_ptr<ThreadPool> pool, Isa isa, const Storage& storage)
      : schedule_(std::move(schedule)),
        kernels_(kernels),
        pool_(std::move(pool)),
        isa_(isa),
        storage_(storage) {
    for (const Thunk& t : schedule_->thunks) {
      first_pointer_.push_back(static_cast<uint32_t>(pointers_.size()));
      pointers_.resize(pointers_.size() + t.operands.size());
      // In words: params structs hold 64-bit fields and must be aligned.
      first_word_.push_back(static_cast<uint32_t>(params_.size()));
      params_.resize(params_.size() + (t.params.size() + 7) / 8);
      if (!t.params.empty()) {
        std::memcpy(params_.data() + first_word_.back(), t.params.data(), t.params.size());
      }
    }
  }

  [[nodiscard]] Status run(std::span<const int64_t> extents,
                           std::span<const std::byte* const> inputs,
                           std::span<std::byte* const> outputs) override {
    if (!std::equal(extents.begin(), extents.end(), extents_.begin(), extents_.end())) {
      resolve(extents);
    }
    for (const LateOperand& late : late_) {
      const std::byte* base =
          late.space == Space::kInput ? inputs[late.block] : outputs[late.block];
      // Kernels read inputs and write outputs; the plan's validator checks the access modes.
      pointers_[late.pointer] = const_cast<std::byte*>(base) + late.offset;
    }
    fault_.store(0, std::memory_order_relaxed);
    const std::vector<Thunk>& thunks = schedule_->thunks;
    for (size_t i = 0; i < thunks.size(); ++i) {
      const KernelCall call{params_.data() + first_word_[i],
                            pointers_.data() + first_pointer_[i],
                            *pool_,
                            pool_->size(),
                            isa_,
                            &fault_};
      if (profiling_) {
        const auto start = std::chrono::steady_clock::now();
        kernels_[i](call);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        times_[i].seconds += took.count();
        ++times_[i].calls;
      } else {
        kernels_[i](call);
      }
      if (fault_.load(std::memory_order_relaxed) != 0) return fault_error(thunks[i]);
    }
    return {};
  }

  void set_profiling(bool on) override {
    profiling_ = on;
    if (on) times_.assign(schedule_->thunks.size(), {});
  }
  [[nodiscard]] const std::vector<ThunkTime>& times() const override { return times_; }

 private:
  // Rewrites params and addresses for other extents. Allocates only when it runs the first time.
  void resolve(std::span<const int64_t> extents) {
    extents_.assign(extents.begin(), extents.end());
    late_.clear();
    for (size_t i = 0; i < schedule_->thunks.size(); ++i) {
      const Thunk& t = schedule_->thunks[i];
      auto* params = reinterpret_cast<std::byte*>(params_.data() + first_word_[i]);
      for (const Patch& p : t.patches) {
        const int64_t value = p.value.evaluate(extents);
        if (p.width == 8) {
          std::memcpy(params + p.byte_offset, &value, 8);
        } else {
          const auto narrow = static_cast<int32_t>(value);
          std::memcpy(params + p.byte_offset, &narrow, 4);
        }
      }
      for (size_t j = 0; j < t.operands.size(); ++j) {
        const Operand& o = t.operands[j];
        const int64_t offset = o.offset.evaluate(extents);
        const uint32_t pointer = first_pointer_[i] + static_cast<uint32_t>(j);
        if (o.space == Space::kInput || o.space == Space::kOutput) {
          late_.push_back({pointer, o.space, o.block, offset});
        } else {
          // Where every value is empty there is no arena at all.
          const bool nowhere = o.space == Space::kArena && o.block >= storage_.arena.size();
          std::byte* base = nowhere ? nullptr : block(o)->host();
          pointers_[pointer] = base == nullptr ? nullptr : base + offset;
        }
      }
    }
  }

  [[nodiscard]] const BlockPtr& block(const Operand& o) const {
    switch (o.space) {
      case Space::kWeights:
        return storage_.weights[o.block];
      case Space::kState:
        return storage_.states[o.block];
      case Space::kConstant:
        return storage_.constants[o.block];
      default:
        return storage_.arena[o.block];
    }
  }

  [[nodiscard]] Error fault_error(const Thunk& thunk) const {
    return Error{ErrorKind::kInvalidArgument,
                 "an index was out of range in `" + thunk.kernel + "` (" + thunk.label + ")",
                 {}};
  }

  std::shared_ptr<const Schedule> schedule_;
  const std::vector<KernelFn> kernels_;
  std::shared_ptr<ThreadPool> pool_;
  Isa isa_;
  Storage storage_;
  std::vector<uint32_t> first_pointer_;
  std::vector<uint32_t> first_word_;
  std::vector<std::byte*> pointers_;
  std::vector<uint64_t> params_;
  std::vector<LateOperand> late_;
  ExtentValues extents_ = {-1};  // none yet
  std::atomic<uint32_t> fault_ = 0;
  bool profiling_ = false;
  std::vector<ThunkTime> times_;
};

Result<std::unique_ptr<Replay>> CpuSchedule::bind(const Storage& storage) const {
  return std::unique_ptr<Replay>(
      std::make_unique<CpuReplay>(schedule_, kernels_, pool_, isa_, storage));
}

}  // namespace

Result<std::unique_ptr<CompiledSchedule>> compile_schedule(std::shared_ptr<const Schedule> schedule,
                                                           std::shared_ptr<ThreadPool> pool,
                                                           Isa isa) {
  std::vector<KernelFn> kernels;
  for (const Thunk& t : schedule->thunks) {
    const KernelFn fn = find_kernel(std::string_view(t.kernel).substr(0, t.kernel.find("__")));
    if (fn == nullptr) {
      return Error{ErrorKind::kUnsupported,
                   "the CPU device has no kernel `" + t.kernel + "` (" + t.label + ")",
                   {}};
    }
    kernels.push_back(fn);
  }
  return std::unique_ptr<CompiledSchedule>(
      std::make_unique<CpuSchedule>(std::move(schedule), std::move(kernels), std::move(pool), isa));
}

}  // namespace bessemer::cpu
