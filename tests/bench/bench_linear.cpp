// The `linear` kernel on the shapes of real models: weight bytes per second for single rows,
// against the read bandwidth measured in the same process, and multiply-adds per second for
// batches.
//
//   bench_linear [--isa NAME] [--threads N] [--type q4_1] [--shape NxK] [--m M] [--f32]
//
// Weights of each case are spread over enough copies to exceed `--set-mb` (default 256), as the
// layers of a model are, so that no case is served from a small cache.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "devices/cpu/kernel.h"
#include "kernel_abi/linear_params.h"

namespace {

using namespace bessemer;

// The time of one call at the 10th percentile of `repeats`: what the machine can do when nothing
// else runs, also on one that is shared.
double seconds_of(const std::function<void()>& work, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 10];
}

// Bytes per second that `threads` workers read from `memory`.
double read_bandwidth(ThreadPool& pool, int threads, const std::vector<uint8_t>& memory) {
  static volatile uint64_t sink = 0;
  auto read = [&](int worker, int workers) {
    const size_t share = memory.size() / static_cast<size_t>(workers) / 64 * 64;
    const auto* p =
        reinterpret_cast<const uint64_t*>(memory.data() + static_cast<size_t>(worker) * share);
    uint64_t sums[16] = {};
    for (size_t i = 0; i + 16 <= share / 8; i += 16) {
      for (size_t j = 0; j < 16; ++j) sums[j] += p[i + j];
    }
    for (const uint64_t s : sums) sink = sink + s;
  };
  return static_cast<double>(memory.size()) / seconds_of([&] { pool.run(threads, read); }, 15);
}

struct Shape {
  int64_t n;
  int64_t k;
};

struct Options {
  std::string isa;
  std::string type;
  int threads = 0;
  int64_t m = 0;
  Shape shape{0, 0};
  bool f32 = false;
  int64_t set_mb = 256;
};

void bench(const Options& options, ThreadPool& pool, cpu::Isa isa, DType dtype, Shape shape,
           int64_t m, int threads, double bandwidth) {
  const int64_t bytes = bytes_of(dtype, shape.n * shape.k);
  const int64_t copies = std::clamp<int64_t>((options.set_mb << 20) / bytes, 1, 512);
  std::mt19937 random(1);
  std::vector<uint8_t> one(static_cast<size_t>(bytes));
  // Every 16-bit word below 0x3000: as f16 scales, small and finite in every format.
  for (size_t i = 0; i < one.size(); ++i)
    one[i] = static_cast<uint8_t>(random() % (i % 2 ? 0x30 : 256));
  std::vector<uint8_t> weights;
  for (int64_t i = 0; i < copies; ++i) weights.insert(weights.end(), one.begin(), one.end());
  std::vector<float> x(static_cast<size_t>(m * shape.k), 0.5f);
  std::vector<float> norm(static_cast<size_t>(shape.k), 1.0f);
  std::vector<float> out(static_cast<size_t>(m * shape.n));

  abi::LinearParams p{};
  p.m = m;
  p.k = shape.k;
  p.n[0] = shape.n;
  p.n_weights = 1;
  p.weight_dtype[0] = static_cast<uint32_t>(dtype);
  p.norm = abi::kNormRms;
  p.norm_epsilon = 1e-5f;
  p.int8_activations = options.f32 ? 0 : 1;
  auto* scratch = static_cast<std::byte*>(
      std::aligned_alloc(64, static_cast<size_t>(abi::linear_scratch_bytes(p) / 64 * 64 + 64)));
  const cpu::KernelFn linear = cpu::find_kernel("linear");
  int64_t next = 0;
  const auto call = [&] {
    std::byte* const operands[] = {reinterpret_cast<std::byte*>(x.data()),
                                   reinterpret_cast<std::byte*>(norm.data()),
                                   reinterpret_cast<std::byte*>(weights.data() + next * bytes),
                                   reinterpret_cast<std::byte*>(out.data()), scratch};
    next = (next + 1) % copies;
    linear({&p, operands, pool, threads, isa});
  };
  const double macs = static_cast<double>(m * shape.n * shape.k);
  const int calls = static_cast<int>(std::clamp(2e10 / macs, 20.0, 2000.0));
  for (int i = 0; i < calls / 10; ++i) call();
  const double seconds = seconds_of(call, calls);
  std::printf(
      "%-10s %-5s n=%-6lld k=%-5lld m=%-4lld threads=%d %10.1f us %7.2f GB/s (%3.0f %%) %8.1f "
      "GOP/s\n",
      std::string(cpu::to_string(isa)).c_str(), std::string(to_string(dtype)).c_str(),
      static_cast<long long>(shape.n), static_cast<long long>(shape.k), static_cast<long long>(m),
      threads, seconds * 1e6, static_cast<double>(bytes) / seconds * 1e-9,
      100.0 * static_cast<double>(bytes) / seconds / bandwidth, 2 * macs / seconds * 1e-9);
  std::fflush(stdout);
  std::free(scratch);
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_linear [--isa generic|avx2|avx512|avx512vnni] [--threads N] "
               "[--type DTYPE] [--shape NxK] [--m M] [--f32] [--set-mb MB]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--f32") {
      options.f32 = true;
      continue;
    }
    if (i + 1 == argc) return usage();
    const std::string value = argv[++i];
    if (flag == "--isa")
      options.isa = value;
    else if (flag == "--type")
      options.type = value;
    else if (flag == "--threads")
      options.threads = std::atoi(value.c_str());
    else if (flag == "--m")
      options.m = std::atoll(value.c_str());
    else if (flag == "--set-mb")
      options.set_mb = std::atoll(value.c_str());
    else if (flag == "--shape" && value.find('x') != std::string::npos) {
      options.shape = {std::atoll(value.c_str()), std::atoll(value.c_str() + value.find('x') + 1)};
    } else
      return usage();
  }
  cpu::Isa isa = cpu::detect_isa();
  if (!options.isa.empty()) {
    bool known = false;
    for (const cpu::Isa candidate :
         {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAvx512Vnni}) {
      if (cpu::to_string(candidate) == options.isa && cpu::isa_available(candidate)) {
        isa = candidate;
        known = true;
      }
    }
    if (!known) return usage();
  }
  ThreadPool pool;
  std::vector<DType> types = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                              DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kF16};
  if (!options.type.empty()) {
    const auto type = parse_dtype(options.type);
    if (!type) return usage();
    types = {*type};
  }
  // 576 and 1536: SmolLM2-135M; 2048: a multiple of the 256-element blocks for all formats.
  std::vector<Shape> shapes = {{1536, 576}, {576, 1536}, {2048, 2048}};
  if (options.shape.n > 0) shapes = {options.shape};
  std::vector<int64_t> ms = {1, 8, 64, 512};
  if (options.m > 0) ms = {options.m};

  std::vector<uint8_t> memory(static_cast<size_t>(options.set_mb) << 20, uint8_t{1});
  for (int threads = 1; threads <= pool.size(); threads *= 2) {
    if (options.threads > 0 && threads != options.threads) continue;
    const double bandwidth = read_bandwidth(pool, threads, memory);
    std::printf("threads=%d reads %.1f GB/s\n", threads, bandwidth * 1e-9);
    for (const DType type : types) {
      for (const Shape& shape : shapes) {
        if (shape.k % info(type).block_elements != 0) continue;
        for (const int64_t m : ms) bench(options, pool, isa, type, shape, m, threads, bandwidth);
      }
    }
  }
  return 0;
}
