#include "run_graph.h"

#include <atomic>
#include <memory>

#include "target/target.h"

namespace bessemer::testing {
namespace {

constexpr std::byte kPoison{0xa5};
constexpr size_t kGuard = 64;

Error failure(std::string message) { return {ErrorKind::kInternal, std::move(message), {}}; }

}  // namespace

Result<RunResult> run_graph(const Graph& graph, const std::map<std::string, Bytes>& leaves,
                            const RunOptions& options) {
  const Target target = cpu_target(options.threads);
  BSM_TRY(ops::verify(graph));
  RunResult result;
  BSM_ASSIGN(result.lowered, ops::lower(graph, target));
  const ExtentValues extents = options.extents.empty() ? graph.extent_maxima() : options.extents;

  std::vector<Bytes> memory;
  for (const VirtualBuffer& b : result.lowered.buffers) {
    const int64_t most = b.bytes.evaluate(graph.extent_maxima());
    memory.emplace_back(static_cast<size_t>(most) + kGuard, kPoison);
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    const VirtualBuffer& b = result.lowered.buffers[i];
    const Bytes* data = nullptr;
    if (b.space == Space::kConstant) {
      uint32_t seen = 0;
      for (const Node& node : graph.nodes()) {
        if (node.op == Op::k_constant && seen++ == b.index) data = node.data.get();
      }
    } else if (b.space != Space::kValue && b.space != Space::kOutput) {
      const auto it = leaves.find(b.label);
      if (it == leaves.end()) return failure("no data for " + b.label);
      data = &it->second;
      if (static_cast<int64_t>(data->size()) != b.bytes.evaluate(extents)) {
        return failure("wrong size of " + b.label);
      }
    }
    if (data != nullptr) std::copy(data->begin(), data->end(), memory[i].begin());
  }

  ThreadPool pool(options.threads);
  std::atomic<uint32_t> fault{0};
  for (const Thunk& thunk : result.lowered.thunks) {
    const cpu::KernelFn kernel = cpu::find_kernel(thunk.kernel);
    if (kernel == nullptr) return failure("no kernel " + thunk.kernel);
    // Params in 64-byte aligned memory.
    std::vector<int64_t> params(thunk.params.size() / 8 + 1);
    std::memcpy(params.data(), thunk.params.data(), thunk.params.size());
    for (const Patch& patch : thunk.patches) {
      const int64_t value = patch.value.evaluate(extents);
      const auto narrow = static_cast<int32_t>(value);
      std::memcpy(
          reinterpret_cast<std::byte*>(params.data()) + patch.byte_offset,
          patch.width == 8 ? static_cast<const void*>(&value) : static_cast<const void*>(&narrow),
          patch.width);
    }
    std::vector<std::byte*> operands;
    for (const Operand& o : thunk.operands) {
      const int64_t offset = o.offset.evaluate(extents);
      const int64_t bytes = o.bytes.evaluate(extents);
      const auto size = static_cast<int64_t>(memory[o.block].size() - kGuard);
      if (offset < 0 || bytes < 0 || offset + bytes > size) {
        return failure("operand outside its buffer: " + to_string(thunk, graph.extents()));
      }
      operands.push_back(memory[o.block].data() + offset);
    }
    cpu::KernelCall call{params.data(), operands.data(), pool, options.threads, options.isa};
    call.fault = &fault;
    kernel(call);
  }
  result.fault = fault.load();

  for (size_t i = 0; i < memory.size(); ++i) {
    const VirtualBuffer& b = result.lowered.buffers[i];
    const auto used = static_cast<size_t>(b.bytes.evaluate(extents));
    for (size_t at = used; at < memory[i].size(); ++at) {
      if (memory[i][at] != kPoison) return failure("wrote past the end of " + b.label);
    }
    Bytes data(memory[i].begin(), memory[i].begin() + static_cast<ptrdiff_t>(used));
    if (b.space == Space::kOutput) result.outputs[b.label] = std::move(data);
    if (b.space == Space::kState) result.states[b.label] = std::move(data);
  }
  return result;
}

}  // namespace bessemer::testing
