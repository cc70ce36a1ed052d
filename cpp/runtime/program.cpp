#include "runtime/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ops/lowering.h"
#include "ops/op_impl.h"
#include "plan/plan.h"

namespace bessemer {
namespace {

constexpr size_t kMaxBuckets = 64;

// Every combination of the listed values, each extent's bound included, in increasing size.
Result<std::vector<ExtentValues>> list_buckets(const Graph& graph, const CompileOptions& options) {
  const std::vector<Extent>& extents = graph.extents();
  for (const auto& [name, values] : options.specialize) {
    const auto it = std::find_if(extents.begin(), extents.end(),
                                 [&n = name](const Extent& e) { return e.name == n; });
    if (it == extents.end()) {
      return Error{ErrorKind::kName, "specialize: no extent named `" + name + "`", {}};
    }
    for (int64_t v : values) {
      if (v < 1 || v > it->max) {
        return Error{ErrorKind::kInvalidArgument,
                     "specialize: extent `" + name + "` = " + std::to_string(v) +
                         " is outside 1.." + std::to_string(it->max),
                     {}};
      }
    }
  }
  std::vector<ExtentValues> buckets = {{}};
  for (const Extent& e : extents) {
    std::vector<int64_t> values = {e.max};
    if (const auto it = options.specialize.find(e.name); it != options.specialize.end()) {
      values.insert(values.end(), it->second.begin(), it->second.end());
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::vector<ExtentValues> longer;
    for (const ExtentValues& prefix : buckets) {
      for (int64_t v : values) {
        longer.push_back(prefix);
        longer.back().push_back(v);
      }
    }
    buckets = std::move(longer);
    if (buckets.size() > kMaxBuckets) {
      return Error{ErrorKind::kInvalidArgument,
                   "specialize: more than " + std::to_string(kMaxBuckets) + " combinations",
                   {}};
    }
  }
  const auto volume = [](const ExtentValues& v) {
    double product = 1;
    for (int64_t x : v) product *= static_cast<double>(x);
    return product;
  };
  std::stable_sort(buckets.begin(), buckets.end(),
                   [&](const auto& a, const auto& b) { return volume(a) < volume(b); });
  return buckets;
}

Error in_bucket(Error error, const Graph& graph, const ExtentValues& maxima) {
  std::string note = "while compiling for";
  for (size_t i = 0; i < maxima.size(); ++i) {
    note += (i > 0 ? ", " : " ") + graph.extents()[i].name + " <= " + std::to_string(maxima[i]);
  }
  if (!maxima.empty()) error.notes.push_back(std::move(note));
  return error;
}

Result<Bucket> compile_bucket(const Graph& fused, Device& device, const CompileOptions& options,
                              const ExtentValues& maxima) {
  BSM_ASSIGN(const LoweredGraph lowered, ops::lower(fused, device.target(), maxima));
  std::vector<Extent> extents = fused.extents();
  for (size_t i = 0; i < extents.size(); ++i) extents[i].max = maxima[i];
  PlanOptions plan_options;
  plan_options.reuse = options.reuse_memory;
  plan_options.validate = options.validate;
  BSM_ASSIGN(Schedule schedule, plan_schedule(lowered, device.target(), extents, plan_options));
  Bucket bucket;
  bucket.maxima = maxima;
  bucket.schedule = std::make_shared<const Schedule>(std::move(schedule));
  BSM_ASSIGN(bucket.compiled, device.compile(bucket.schedule));
  return bucket;
}

}  // namespace

int64_t bytes_at(const Type& type, std::span<const int64_t> extents) {
  const ops::Tensor tensor{0, Dim(0), type.dtype, type.shape};
  return tensor.bytes().evaluate(extents);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<std::shared_ptr<const Program>> Program::compile(const Graph& graph, const DevicePtr& device,
                                                        const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.precision != "default" && options.precision != "f32") {
    return Error{ErrorKind::kInvalidArgument,
                 "precision is `default` or `f32`, got `" + options.precision + "`",
                 {}};
  }
  std::shared_ptr<Program> p(new Program());
  p->graph_ = graph;
  p->device_ = device;
  p->options_ = options;
  BSM_TRY(ops::verify(graph));
  if (graph.outputs().empty() && graph.updates().empty()) {
    return Error{ErrorKind::kInvalidArgument,
                 "graph `" + graph.name() + "` has no outputs and updates no state",
                 {}};
  }
  BSM_ASSIGN(const std::vector<ExtentValues> buckets, list_buckets(graph, options));

  passes::PassOptions pass_options;
  pass_options.opt_level = options.opt_level;
  pass_options.precision = options.precision;
  pass_options.int8_activations = options.precision == "default" && device->target().int8_dot;
  pass_options.disabled = options.disabled_passes;
  BSM_ASSIGN(p->fused_, passes::run_passes(graph, pass_options, &p->reports_));

  for (const Node& node : p->fused_.nodes()) {
    const Port port{node.name, node.results[0]};
    if (node.op == Op::k_input) p->inputs_.push_back(port);
    if (node.op == Op::k_param) p->params_.push_back(port);
    if (node.op == Op::k_state) p->states_.push_back(port);
    if (node.op == Op::k_constant) {
      const auto bytes = static_cast<int64_t>(node.data->size());
      BSM_ASSIGN(BlockPtr block, device->wrap(node.data->data(), bytes, node.data, "constant"));
      p->constants_.push_back(std::move(block));
    }
  }
  for (const NamedValue& o : p->fused_.outputs()) {
    p->outputs_.push_back({o.name, p->fused_.type(o.value)});
  }

  for (const ExtentValues& maxima : buckets) {
    auto bucket = compile_bucket(p->fused_, *device, options, maxima);
    if (!bucket) return in_bucket(std::move(bucket).error(), graph, maxima);
    const std::vector<int64_t>& blocks = bucket->schedule->arena_blocks;
    if (p->arena_block_bytes_.size() < blocks.size()) p->arena_block_bytes_.resize(blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      p->arena_block_bytes_[i] = std::max(p->arena_block_bytes_[i], blocks[i]);
    }
    p->buckets_.push_back(std::move(*bucket));
  }
  p->compile_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::shared_ptr<const Program>(std::move(p));
}

size_t Program::bucket_for(std::span<const int64_t> extents) const {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    bool covers = true;
    for (size_t e = 0; e < extents.size(); ++e) covers &= extents[e] <= buckets_[i].maxima[e];
    if (covers) return i;
  }
  return buckets_.size() - 1;
}

int64_t Program::arena_bytes() const {
  int64_t sum = 0;
  for (int64_t b : arena_block_bytes_) sum += b;
  return sum;
}

int64_t Program::arena_bound() const {
  int64_t bound = 0;
  for (const Bucket& b : buckets_) bound = std::max(bound, b.schedule->arena_bound);
  return bound;
}

}  // namespace bessemer
