// What a CPU kernel is: a function over resolved pointers. Kernels know nothing of graphs, plans or
// arenas; they are found by name in a table (kernel_table.cpp) when a Program is built.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/thread_pool.h"

namespace bessemer::cpu {

// SIMD families in rising order of preference on their own architecture. kGeneric is portable C++
// and runs anywhere.
enum class Isa : uint8_t { kGeneric, kAvx2, kAvx512, kAvx512Vnni, kNeon };

[[nodiscard]] std::string_view to_string(Isa isa);
// The best family that this machine runs and this build contains.
[[nodiscard]] Isa detect_isa();
[[nodiscard]] bool isa_available(Isa isa);

// What a kernel found wrong with its data. It finishes in bounds all the same (rows of zeros,
// nothing written); the runtime turns the fault into an error of the run.
enum Fault : uint32_t { kNoFault = 0, kIndexOutOfRange = 1 };

struct KernelCall {
  const void* params;          // a kernel_abi struct
  std::byte* const* operands;  // in the order that the kernel's params struct documents
  ThreadPool& pool;
  int threads;  // workers this call may use, <= pool.size()
  Isa isa;
  std::atomic<uint32_t>* fault = nullptr;  // where to report; may be null

  void report(Fault f) const {
    if (fault != nullptr) fault->store(f, std::memory_order_relaxed);
  }
};

using KernelFn = void (*)(const KernelCall& call);

// "linear", "attention", ...; nullptr when there is none. Thunk names may carry a suffix of grammar
// after "__" (dtypes, tile): the part before it names the function.
[[nodiscard]] KernelFn find_kernel(std::string_view name);

}  // namespace bessemer::cpu
