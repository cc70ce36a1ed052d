#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cpu_quota.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace bessemer {
namespace {

// Two cache lines: adjacent lines are prefetched in pairs.
constexpr size_t kLine = 128;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `word` differs from `old`: spins for `spin_us`, then sleeps in the kernel.
void wait_while(const std::atomic<uint32_t>& word, uint32_t old, int spin_us) {
  using Clock = std::chrono::steady_clock;
  if (spin_us > 0) {
    for (int i = 0; i < 64; ++i) {
      if (word.load(std::memory_order_acquire) != old) return;
      pause();
    }
    const auto end = Clock::now() + std::chrono::microseconds(spin_us);
    do {
      for (int i = 0; i < 32; ++i) {
        if (word.load(std::memory_order_acquire) != old) return;
        pause();
      }
    } while (Clock::now() < end);
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

// Counts the forks between the first process and this one. A pool made before a fork has no worker
// threads in the child; its run() sees that the count has moved on.
std::atomic<uint32_t> g_forks{0};

void watch_forks() {
#if defined(__unix__) || defined(__APPLE__)
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
#endif
}

// Workers of the run() that this thread is inside of; barrier() needs it, and two threads may be
// inside runs of the same pool (one of them alone) at once.
thread_local int t_workers = 1;

}  // namespace

struct ThreadPool::Impl {
  // One a worker, so that a run wakes those it needs and no other.
  struct alignas(kLine) Slot {
    std::atomic<uint32_t> ticket{0};  // bumped to hand out a job
    std::thread thread;
  };

  int size = 1;
  int spin_us = 0;
  uint32_t forks = 0;
  std::vector<Slot> slots;  // slots[w - 1] is worker w

  std::mutex run_mutex;
  // The current job: written by run() before the tickets, read by workers after them.
  const WorkerFn* job = nullptr;
  int workers = 0;
  std::atomic<bool> stop{false};

  alignas(kLine) std::atomic<uint32_t> unfinished{0};
  alignas(kLine) std::atomic<uint32_t> arrived{0};
  alignas(kLine) std::atomic<uint32_t> barrier_phase{0};

  explicit Impl(int threads) : size(threads), slots(static_cast<size_t>(threads - 1)) {}

  void work(int worker) {
    Slot& slot = slots[static_cast<size_t>(worker - 1)];
    uint32_t seen = 0;
    while (true) {
      wait_while(slot.ticket, seen, spin_us);
      seen = slot.ticket.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_relaxed)) return;
      t_workers = workers;
      (*job)(worker, workers);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_one();
    }
  }

  void wake(Slot& slot) {
    slot.ticket.fetch_add(1, std::memory_order_release);
    slot.ticket.notify_one();
  }
};

ThreadPool::ThreadPool(int threads) {
  watch_forks();
  const int cpus = usable_cpus();
  const int size = threads > 0 ? threads : cpus;
  impl_ = std::make_unique<Impl>(size);
  impl_->forks = g_forks.load(std::memory_order_relaxed);
  // With more threads than CPUs a spinning worker keeps a working one from running.
  impl_->spin_us = size <= cpus ? 60 : 0;
  for (int w = 1; w < size; ++w) {
    impl_->slots[static_cast<size_t>(w - 1)].thread =
        std::thread([impl = impl_.get(), w] { impl->work(w); });
  }
}

ThreadPool::~ThreadPool() {
  if (impl_->forks != g_forks.load(std::memory_order_relaxed)) {
    // The threads stayed in the parent: there is nothing to join, and a std::thread cannot be told
    // so.
    (void)impl_.release();
    return;
  }
  impl_->stop.store(true, std::memory_order_relaxed);
  for (Impl::Slot& slot : impl_->slots) impl_->wake(slot);
  for (Impl::Slot& slot : impl_->slots) slot.thread.join();
}

int ThreadPool::size() const { return impl_->size; }

void ThreadPool::run(int max_workers, WorkerFn fn) {
  Impl& impl = *impl_;
  const int workers = std::min(max_workers, impl.size);
  const int outer = t_workers;
  if (workers <= 1 || impl.forks != g_forks.load(std::memory_order_relaxed)) {
    t_workers = 1;
    fn(0, 1);
    t_workers = outer;
    return;
  }
  const std::lock_guard lock(impl.run_mutex);
  impl.job = &fn;
  impl.workers = workers;
  impl.unfinished.store(static_cast<uint32_t>(workers - 1), std::memory_order_relaxed);
  for (int w = 1; w < workers; ++w) impl.wake(impl.slots[static_cast<size_t>(w - 1)]);
  t_workers = workers;
  fn(0, workers);
  t_workers = outer;
  for (uint32_t left; (left = impl.unfinished.load(std::memory_order_acquire)) != 0;) {
    wait_while(impl.unfinished, left, impl.spin_us);
  }
}

void ThreadPool::barrier() {
  const auto workers = static_cast<uint32_t>(t_workers);
  if (workers <= 1) return;
  Impl& impl = *impl_;
  const uint32_t phase = impl.barrier_phase.load(std::memory_order_acquire);
  if (impl.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == workers) {
    impl.arrived.store(0, std::memory_order_relaxed);
    impl.barrier_phase.fetch_add(1, std::memory_order_release);
    impl.barrier_phase.notify_all();
  } else {
    wait_while(impl.barrier_phase, phase, impl.spin_us);
  }
}

int ThreadPool::usable_cpus() {
  int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#if defined(__linux__)
  // The mask grows with the machine: ask again until the kernel's fits.
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(bits));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(bits));
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    if (ok) cpus = std::max(1, CPU_COUNT_S(bytes, set));
    CPU_FREE(set);
    if (ok) break;
  }
  if (const auto quota = cgroup_cpu_quota()) {
    if (*quota < cpus) cpus = std::max(1, static_cast<int>(std::ceil(*quota)));
  }
#endif
  return cpus;
}

}  // namespace bessemer
