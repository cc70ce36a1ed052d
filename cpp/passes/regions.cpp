// regions: chains of elementwise ops and casts of one shape become one kernel.
//
// Regions grow backwards from their last op, their root. An op joins the region of its readers if
// all of them are in it; or if one is, and every other reader is younger than the root: then the
// op's value becomes a further result. So everything that reads a region is younger than its root
// and everything that it reads is older: putting each region in the place of its root is an order,
// and no cycle can arise. Ops on smaller shapes, which a region would compute again and again, stay
// out; an op alone stays as it is.
#include <algorithm>

#include "kernel_abi/elementwise_params.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/passes.h"
#include "passes/readers.h"

namespace bessemer::passes {
namespace {

constexpr size_t kMaxInputs = abi::kElementwiseMaxInputs;
constexpr size_t kMaxOutputs = abi::kElementwiseMaxOutputs;
constexpr size_t kMaxInstrs = abi::kElementwiseMaxInstrs;
constexpr size_t kMaxRank = abi::kElementwiseMaxRank;

struct Region {
  std::vector<uint32_t> members;  // youngest first; the first is the root
  std::vector<Value> inputs;      // distinct
  size_t outputs = 0;
};

constexpr uint32_t kNone = UINT32_MAX;

class Grower {
 public:
  explicit Grower(Rewriter& r) : r_(r), readers_(r.graph()), region_of_(r.old_size(), kNone) {}

  void grow() {
    for (uint32_t id = r_.old_size(); id-- > 0;) {
      if (!fusible(id)) continue;
      const uint32_t region = region_to_join(id);
      if (region == kNone) {
        region_of_[id] = static_cast<uint32_t>(regions_.size());
        regions_.push_back({{id}, distinct(r_.node(id).operands), 1});
      }
    }
  }

  Result<int64_t> emit() {
    int64_t count = 0;
    for (Region& region : regions_) {
      if (region.members.size() < 2) continue;
      BSM_TRY(emit(region));
      ++count;
    }
    return count;
  }

 private:
  [[nodiscard]] bool fusible(uint32_t id) const {
    const Node& node = r_.node(id);
    return ops::region_op(node.op) && node.results[0].shape.size() <= kMaxRank;
  }

  static std::vector<Value> distinct(const std::vector<Value>& values) {
    std::vector<Value> out;
    for (const Value& v : values) {
      if (std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
    }
    return out;
  }

  // Joins a reader's region if the rules allow one; which.
  uint32_t region_to_join(uint32_t id) {
    const Value value{id, 0};
    for (const uint32_t reader : readers_.nodes(value)) {
      const uint32_t region = region_of_[reader];
      if (region != kNone && join(regions_[region], region, id)) return region;
    }
    return kNone;
  }

  bool join(Region& region, uint32_t index, uint32_t id) {
    const Node& node = r_.node(id);
    const uint32_t root = region.members[0];
    if (region.members.size() == kMaxInstrs ||
        node.results[0].shape != r_.node(root).results[0].shape) {
      return false;
    }
    bool leaves = readers_.kept({id, 0});
    for (const uint32_t reader : readers_.nodes({id, 0})) {
      if (region_of_[reader] == index) continue;
      if (reader < root) return false;
      leaves = true;
    }
    if (region.outputs + (leaves ? 1 : 0) > kMaxOutputs) return false;
    std::vector<Value> inputs = region.inputs;
    std::erase(inputs, Value{id, 0});
    for (const Value& v : node.operands) {
      if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
    }
    if (inputs.size() > kMaxInputs) return false;
    region.inputs = std::move(inputs);
    region.outputs += leaves ? 1 : 0;
    region.members.push_back(id);
    region_of_[id] = index;
    return true;
  }

  Status emit(const Region& region) {
    const uint32_t root = region.members[0];
    const uint32_t index = region_of_[root];
    // Members from old to young; inputs in the order in which they are first read.
    const std::vector<uint32_t> members(region.members.rbegin(), region.members.rend());
    std::vector<Value> inputs;
    for (const uint32_t id : members) {
      for (const Value& v : r_.node(id).operands) {
        if (v.node < region_of_.size() && region_of_[v.node] == index) continue;
        if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
      }
    }
    ops::RegionProgram program;
    for (const Value& v : inputs) program.inputs.push_back(r_.type(v).dtype);
    std::vector<std::pair<uint32_t, int>> number;  // of members' values
    const auto number_of = [&](Value v) {
      const auto input = std::find(inputs.begin(), inputs.end(), v);
      if (input != inputs.end()) return static_cast<int>(input - inputs.begin());
      return std::find_if(number.begin(), number.end(),
                          [&](const auto& n) { return n.first == v.node; })
          ->second;
    };
    std::vector<uint32_t> results;
    for (const uint32_t id : members) {
      const Node& node = r_.node(id);
      std::vector<int> sources;
      for (const Value& v : node.operands) sources.push_back(number_of(v));
      auto value = node.op == Op::k_cast ? program.append_cast(node.results[0].dtype, sources[0])
                                         : program.append(node.op, sources);
      if (!value) return std::move(value).error();
      number.emplace_back(id, *value);
      const auto readers = readers_.nodes({id, 0});
      const bool leaves = id == root || readers_.kept({id, 0}) ||
                          std::any_of(readers.begin(), readers.end(),
                                      [&](uint32_t reader) { return region_of_[reader] != index; });
      if (!leaves) continue;
      program.outputs.push_back(*value);
      results.push_back(id);
    }
    BSM_ASSIGN(const Value made, r_.add(root, Op::k_region, std::move(inputs), program.attrs()));
    for (uint32_t i = 0; i < results.size(); ++i) r_.replace({results[i], 0}, {made.node, i});
    return {};
  }

  Rewriter& r_;
  Readers readers_;
  std::vector<Region> regions_;
  std::vector<uint32_t> region_of_;  // by old node
};

}  // namespace

Result<int64_t> regions(Rewriter& r, const PassOptions&) {
  Grower grower(r);
  grower.grow();
  return grower.emit();
}

}  // namespace bessemer::passes
