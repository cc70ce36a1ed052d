// A Program is the immutable result of a compile: the fused graph and, for each bucket of extents,
// a planned and device-compiled schedule. Any number of sessions and threads may share one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "passes/pipeline.h"
#include "plan/schedule.h"
#include "runtime/device.h"

namespace bessemer {

struct CompileOptions {
  // "default": weights in blocks are multiplied with int8 activations where the target gains by it.
  // "f32": exact products in f32.
  std::string precision = "default";
  // One schedule per listed value of an extent (per combination, for several extents); the
  // extent's bound is added. A run takes the smallest that covers it.
  std::map<std::string, std::vector<int64_t>> specialize;
  std::set<std::string> disabled_passes;
  int opt_level = 1;         // 0: only what lowering needs
  bool reuse_memory = true;  // false: every value has a place of its own (debugging)
  bool validate = false;     // run the independent validators on every schedule
};

// The type of one named leaf or output.
struct Port {
  std::string name;
  Type type;
};

// One schedule of a Program: what runs when every extent is at most `maxima`.
struct Bucket {
  ExtentValues maxima;
  std::shared_ptr<const Schedule> schedule;
  std::unique_ptr<CompiledSchedule> compiled;
};

class Program {
 public:
  // Blocking. Errors name the op and the user's line.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> compile(
      const Graph& graph, const DevicePtr& device, const CompileOptions& options);

  [[nodiscard]] const Graph& graph() const { return graph_; }  // as given
  [[nodiscard]] const Graph& fused() const { return fused_; }  // after the passes
  [[nodiscard]] const DevicePtr& device() const { return device_; }
  [[nodiscard]] const CompileOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<passes::PassReport>& pass_reports() const { return reports_; }
  // In order of increasing size; the last covers the extents' bounds.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  // The smallest bucket that covers the extents. Precondition: they are within the bounds.
  [[nodiscard]] size_t bucket_for(std::span<const int64_t> extents) const;

  [[nodiscard]] const std::vector<Port>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Port>& params() const { return params_; }
  [[nodiscard]] const std::vector<Port>& states() const { return states_; }
  [[nodiscard]] const std::vector<Port>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<BlockPtr>& constants() const { return constants_; }

  // Bytes of each arena block: the largest that any bucket needs.
  [[nodiscard]] const std::vector<int64_t>& arena_block_bytes() const { return arena_block_bytes_; }
  [[nodiscard]] int64_t arena_bytes() const;
  // The largest lower bound of any bucket: no plan of these schedules can be smaller.
  [[nodiscard]] int64_t arena_bound() const;
  [[nodiscard]] double compile_seconds() const { return compile_seconds_; }

 private:
  Program() = default;
  Graph graph_;
  Graph fused_;
  DevicePtr device_;
  CompileOptions options_;
  std::vector<passes::PassReport> reports_;
  std::vector<Bucket> buckets_;
  std::vector<Port> inputs_, params_, states_, outputs_;
  std::vector<BlockPtr> constants_;
  std::vector<int64_t> arena_block_bytes_;
  double compile_seconds_ = 0;
};

// Bytes of a type at given extents.
[[nodiscard]] int64_t bytes_at(const Type& type, std::span<const int64_t> extents);
// "[2, 64]": a run-time shape in messages.
[[nodiscard]] std::string shape_text(std::span<const int64_t> shape);

}  // namespace bessemer
