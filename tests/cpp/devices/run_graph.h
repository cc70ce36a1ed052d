// Runs a graph on the CPU kernels without planner or runtime: every buffer of the lowering gets
// memory of its own, thunks run in program order. For tests of ops.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "devices/cpu/kernel.h"
#include "ir/graph.h"
#include "ops/lowering.h"

namespace bessemer::testing {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes to_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct RunOptions {
  cpu::Isa isa = cpu::detect_isa();
  int threads = 1;
  ExtentValues extents = {};  // empty: the maxima
};

struct RunResult {
  std::map<std::string, Bytes> outputs;  // at the extents' sizes
  std::map<std::string, Bytes> states;
  uint32_t fault = 0;
  LoweredGraph lowered;
};

// `leaves`: data of inputs, params and states by name, at the extents' sizes. Intermediate values
// and outputs start as 0xa5 bytes, and a write past the extents' need is a failure ("touched").
[[nodiscard]] Result<RunResult> run_graph(const Graph& graph,
                                          const std::map<std::string, Bytes>& leaves,
                                          const RunOptions& options = {});

}  // namespace bessemer::testing
