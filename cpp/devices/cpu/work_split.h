// Splits independent items of a kernel that is bound by memory over the pool's workers.
#pragma once

#include <cstdint>

#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

// Calls fn(begin, end) for ranges that cover [0, items), in parallel when `bytes`, the whole work,
// is worth waking a thread.
template <class Fn>
void split_work(const KernelCall& call, int64_t items, int64_t bytes, Fn fn) {
  constexpr int64_t kBytesPerWorker = int64_t{128} << 10;
  if (items <= 0) return;
  int64_t workers = bytes / kBytesPerWorker;
  if (workers > call.threads) workers = call.threads;
  if (workers > items) workers = items;
  if (workers <= 1) {
    fn(int64_t{0}, items);
    return;
  }
  auto part = [&fn, items](int worker, int count) {
    // Without the product items * worker, which may not fit.
    const int64_t each = items / count;
    const int64_t extra = items % count;
    const int64_t begin = each * worker + (worker < extra ? worker : extra);
    fn(begin, begin + each + (worker < extra ? 1 : 0));
  };
  call.pool.run(static_cast<int>(workers), part);
}

}  // namespace bessemer::cpu
