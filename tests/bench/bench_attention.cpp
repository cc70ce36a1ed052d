// The `attention` kernel on the shapes of real models: microseconds a call, key and value bytes per
// second for decode, multiply-adds per second for prefill.
//
//   bench_attention [--isa NAME] [--threads N] [--kv f16|f32|bf16] [--model NAME] [--tokens N]
//                   [--depth N]
//
// Prefill is causal over an empty context; decode is one token at a depth. Keys and values of each
// case are spread over as many copies as a model has layers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "devices/cpu/kernel.h"
#include "kernel_abi/attention_params.h"

namespace {

using namespace bessemer;

struct Model {
  const char* name;
  int64_t heads, kv_heads, head_dim;
  int64_t layers;
};

struct Case {
  const Model& model;
  int64_t tokens;
  int64_t depth;  // tokens before them
};

std::vector<std::byte> random_rows(DType dtype, int64_t n) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(static_cast<size_t>(bytes_of(dtype, n)));
  for (int64_t i = 0; i < n; ++i) {
    const float f = static_cast<float>(random() % 2048) / 1024.0f - 1.0f;
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + 4 * i, &f, 4);
    } else {
      const uint16_t h = dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
      std::memcpy(bytes.data() + 2 * i, &h, 2);
    }
  }
  return bytes;
}

// Seconds: of this thread's CPU time when it works alone, so that a shared machine does not spoil
// the figure, and of the clock on the wall otherwise.
double now(int threads) {
  timespec t{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void bench(const Case& c, DType kv, cpu::Isa isa, ThreadPool& pool, int threads) {
  abi::AttentionParams p{};
  p.tokens = c.tokens;
  p.heads = c.model.heads;
  p.kv_heads = c.model.kv_heads;
  p.head_dim = p.v_head_dim = c.model.head_dim;
  p.keys = c.tokens + c.depth;
  p.sequences = 1;
  p.bias_heads = 1;
  p.workers = pool.size();
  p.tile_tokens =
      std::clamp<int64_t>(abi::kAttentionTileRows / (p.heads / p.kv_heads), 1, c.tokens);
  p.split_tokens = std::min<int64_t>(c.tokens, 2 * pool.size());
  p.split_keys = p.keys;
  p.causal = 1;
  p.k_dtype = p.v_dtype = static_cast<uint32_t>(kv);
  p.scale = 0.125f;
  const int64_t state = p.keys * p.kv_heads * p.head_dim;
  auto k = random_rows(kv, state * c.model.layers);
  auto v = random_rows(kv, state * c.model.layers);
  auto q = random_rows(DType::kF32, c.tokens * p.heads * p.head_dim);
  std::vector<int32_t> seq(static_cast<size_t>(c.tokens), 0);
  std::vector<int32_t> pos;
  for (int64_t t = 0; t < c.tokens; ++t) pos.push_back(static_cast<int32_t>(c.depth + t));
  std::vector<std::byte> out(q.size());
  std::vector<std::byte> scratch(static_cast<size_t>(abi::attention_scratch_bytes(p)) + 64);
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  const cpu::KernelFn kernel = cpu::find_kernel("attention");
  std::vector<double> times;
  for (int repeat = 0; repeat < 8; ++repeat) {
    for (int64_t layer = 0; layer < c.model.layers; ++layer) {
      const int64_t at = layer * bytes_of(kv, state);
      std::byte* operands[] = {q.data(),
                               k.data() + at,
                               v.data() + at,
                               reinterpret_cast<std::byte*>(seq.data()),
                               reinterpret_cast<std::byte*>(pos.data()),
                               out.data(),
                               aligned};
      const double start = now(threads);
      kernel({&p, operands, pool, threads, isa});
      times.push_back(now(threads) - start);
    }
  }
  std::sort(times.begin(), times.end());
  const double best = times[times.size() / 10];
  const double keys_seen = static_cast<double>(c.tokens) *
                           (static_cast<double>(c.depth) + (static_cast<double>(c.tokens) + 1) / 2);
  const double products =
      keys_seen * static_cast<double>(p.heads) * static_cast<double>(2 * p.head_dim);
  std::printf("%-10s %-5s %-10s threads=%d tokens=%-4lld depth=%-5lld %9.1f us  %7.2f GMAC/s",
              c.model.name, std::string(to_string(kv)).c_str(), std::string(to_string(isa)).c_str(),
              threads, static_cast<long long>(c.tokens), static_cast<long long>(c.depth),
              best * 1e6, products / best * 1e-9);
  if (c.tokens == 1) {
    std::printf("  %6.2f GB/s of keys and values",
                static_cast<double>(2 * bytes_of(kv, state)) / best * 1e-9);
  }
  std::printf("  (scratch %lld KiB)\n", static_cast<long long>(scratch.size() / 1024));
}

}  // namespace

int main(int argc, char** argv) {
  DType kv = DType::kF16;
  cpu::Isa isa = cpu::detect_isa();
  int only_threads = 0;
  std::string only_model;
  int64_t only_tokens = -1;
  int64_t only_depth = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--model") only_model = argv[i + 1];
    if (flag == "--tokens") only_tokens = std::atoll(argv[i + 1]);
    if (flag == "--depth") only_depth = std::atoll(argv[i + 1]);
    if (flag == "--threads") only_threads = std::atoi(argv[i + 1]);
    if (flag == "--kv") kv = parse_dtype(argv[i + 1]).value_or(DType::kF16);
    if (flag == "--isa") {
      for (cpu::Isa each : {cpu::Isa::kGeneric, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
        if (to_string(each) == argv[i + 1]) isa = each;
      }
    }
  }
  ThreadPool pool(only_threads);
  const Model smollm2{"smollm2", 9, 3, 64, 30};
  const Model gemma3{"gemma3", 4, 1, 256, 18};
  const Model mha{"mha", 8, 8, 64, 8};
  for (int threads : {1, pool.size()}) {
    if (only_threads != 0 && threads != only_threads) continue;
    for (const Model* m : {&smollm2, &gemma3, &mha}) {
      for (const Case& c : {Case{*m, 512, 0}, Case{*m, 32, 0}, Case{*m, 128, 2048}, Case{*m, 1, 64},
                            Case{*m, 1, 512}, Case{*m, 1, 4000}}) {
        if (!only_model.empty() && only_model != m->name) continue;
        if (only_tokens >= 0 && only_tokens != c.tokens) continue;
        if (only_depth >= 0 && only_depth != c.depth) continue;
        bench(c, kv, isa, pool, threads);
      }
    }
    if (threads == pool.size()) break;
  }
  return 0;
}
