// A fork-join pool for data-parallel kernels. One pool may be shared by many sessions; calls from
// different threads are serialised, so that the machine is never oversubscribed.
#pragma once

#include <cstdint>
#include <memory>

namespace bessemer {

// A non-owning reference to a callable: `void(int worker, int workers)`. The callee outlives the
// call because ThreadPool::run blocks.
class WorkerFn {
 public:
  template <class F>
  WorkerFn(F& f)  // NOLINT: implicit by design
      : object_(&f), call_([](void* o, int w, int n) { (*static_cast<F*>(o))(w, n); }) {}
  void operator()(int worker, int workers) const { call_(object_, worker, workers); }

 private:
  void* object_;
  void (*call_)(void*, int, int);
};

class ThreadPool {
 public:
  // threads <= 0: as many as this process may use (affinity mask and cgroup quota).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;

  // Calls fn(worker, workers) once on each of `workers` = min(max_workers, size()) workers, the
  // caller being worker 0, and returns when all have returned. max_workers <= 1 costs nothing.
  // fn must not throw and must not call run() on the same pool.
  void run(int max_workers, WorkerFn fn);

  // Callable only from inside fn: waits until all workers of the current run() have arrived.
  void barrier();

  // CPUs that this process may use: min(affinity, cgroup quota rounded up), at least 1.
  [[nodiscard]] static int usable_cpus();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bessemer
