// Time and quality of the plan stage on synthetic graphs:
//   bench_plan [--repeat N] [--only TEXT] [--slack X]
// where TEXT picks graphs by their name, X is the part of the peak that may be added for barriers.
// Prints, per graph: thunks, median milliseconds per 1,000 thunks (whole stage, and the validator),
// arena peak over lower bound, what program order would need, barriers and the fewest groups.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/validator.h"

namespace bessemer {
namespace {

class Builder {
 public:
  LoweredGraph graph;

  uint32_t buffer(Space space, const Dim& bytes, const std::string& label) {
    const uint32_t index = space == Space::kValue ? 0 : counts_[static_cast<size_t>(space)]++;
    graph.buffers.push_back({space, index, bytes, label});
    return static_cast<uint32_t>(graph.buffers.size() - 1);
  }
  uint32_t value(const Dim& bytes, const std::string& label) {
    return buffer(Space::kValue, bytes, label);
  }
  Operand whole(uint32_t b, Access access) const {
    return {Space::kValue, access, b, Dim(0), graph.buffers[b].bytes};
  }
  Operand part(uint32_t b, Access access, const Dim& offset, const Dim& bytes) const {
    return {Space::kValue, access, b, offset, bytes};
  }
  void step(const std::string& label, std::vector<Operand> operands,
            std::vector<InPlace> in_place = {}) {
    Thunk t;
    t.kernel = "bench__" + label;
    t.label = label;
    t.operands = std::move(operands);
    t.in_place = std::move(in_place);
    t.params.resize(48);
    t.patches.push_back({0, 8, Dim::extent(0)});
    graph.thunks.push_back(std::move(t));
  }

 private:
  uint32_t counts_[8] = {};
};

constexpr Access R = Access::kRead;
constexpr Access W = Access::kWrite;
constexpr Access RW = Access::kReadWrite;

// A decoder of `layers`, unfused as an imported graph is, over an extent of tokens.
LoweredGraph transformer(int layers, bool fused) {
  Builder b;
  const Dim tokens = Dim::extent(0);
  const Dim hidden = Dim(4 * 576) * tokens;
  const Dim inner = Dim(4 * 1536) * tokens;
  const Dim kv = Dim(4 * 192) * tokens;
  uint32_t x = b.value(hidden, "embed");
  b.step("embed", {b.whole(b.buffer(Space::kInput, Dim(4) * tokens, "ids"), R), b.whole(x, W)});
  const auto weight = [&](int64_t bytes) { return b.buffer(Space::kWeights, bytes, "w"); };
  const auto unary = [&](const char* name, uint32_t in) {
    const uint32_t out = b.value(b.graph.buffers[in].bytes, name);
    b.step(name, {b.whole(in, R), b.whole(out, W)}, {{1, 0}});
    return out;
  };
  const auto binary = [&](const char* name, uint32_t l, uint32_t r) {
    const uint32_t out = b.value(b.graph.buffers[l].bytes, name);
    b.step(name, {b.whole(l, R), b.whole(r, R), b.whole(out, W)}, {{2, 0}, {2, 1}});
    return out;
  };
  const auto linear = [&](const char* name, uint32_t in, const Dim& bytes) {
    const uint32_t out = b.value(bytes, name);
    b.step(name, {b.whole(in, R), b.whole(weight(1 << 20), R), b.whole(out, W)});
    return out;
  };
  for (int i = 0; i < layers; ++i) {
    const uint32_t keys = b.buffer(Space::kState, 1 << 22, "keys");
    const uint32_t values = b.buffer(Space::kState, 1 << 22, "values");
    const uint32_t norm = unary("norm", x);
    const uint32_t attended = b.value(hidden, "attended");
    const uint32_t scratch = b.value(Dim(1 << 16), "partials");
    if (fused) {
      const uint32_t qkv = linear("qkv", norm, hidden + kv + kv);
      const uint32_t q = b.value(hidden, "q");
      b.step("rope_append",
             {b.whole(qkv, R), b.whole(q, W), b.whole(keys, RW), b.whole(values, RW)});
      b.step("attention", {b.whole(q, R), b.whole(keys, R), b.whole(values, R),
                           b.whole(attended, W), b.whole(scratch, W)});
    } else {
      const uint32_t q = unary("rope_q", linear("q", norm, hidden));
      const uint32_t k = unary("rope_k", linear("k", norm, kv));
      const uint32_t v = linear("v", norm, kv);
      b.step("append", {b.whole(k, R), b.whole(keys, RW)});
      b.step("append", {b.whole(v, R), b.whole(values, RW)});
      b.step("attention", {b.whole(q, R), b.whole(keys, R), b.whole(values, R),
                           b.whole(attended, W), b.whole(scratch, W)});
    }
    const uint32_t attention = binary("add", linear("o", attended, hidden), x);
    const uint32_t norm2 = unary("norm", attention);
    if (fused) {
      const uint32_t gate_up = linear("gate_up", norm2, inner + inner);
      const uint32_t act = b.value(inner, "act");
      b.step("swiglu",
             {b.part(gate_up, R, 0, inner), b.part(gate_up, R, inner, inner), b.whole(act, W)});
      x = binary("add", linear("down", act, hidden), attention);
    } else {
      const uint32_t gate = unary("silu", linear("gate", norm2, inner));
      const uint32_t act = binary("mul", gate, linear("up", norm2, inner));
      x = binary("add", linear("down", act, hidden), attention);
    }
  }
  const uint32_t logits = b.buffer(Space::kOutput, Dim(4 * 49152), "logits");
  b.step("head", {b.whole(x, R), b.whole(weight(1 << 20), R), b.whole(logits, W)});
  return std::move(b.graph);
}

// A net of branches that are concatenated, as an image model has.
LoweredGraph branches(int blocks, int width) {
  Builder b;
  const Dim unit = Dim(4 * 64) * Dim::extent(0);
  uint32_t x = b.buffer(Space::kInput, unit, "image");
  for (int i = 0; i < blocks; ++i) {
    const uint32_t joined = b.value(unit * Dim(width), "joined");
    for (int j = 0; j < width; ++j) {
      const uint32_t wide = b.value(unit * Dim(1 + j % 3), "wide");
      b.step("conv", {b.whole(x, R), b.whole(wide, W)});
      const uint32_t narrow = b.value(unit, "narrow");
      b.step("conv", {b.whole(wide, R), b.whole(narrow, W)});
      b.step("copy", {b.whole(narrow, R), b.part(joined, W, unit * Dim(j), unit)});
    }
    const uint32_t out = b.value(unit, "out");
    b.step("conv", {b.whole(joined, R), b.whole(out, W)});
    x = out;
  }
  b.step("out", {b.whole(x, R), b.whole(b.buffer(Space::kOutput, unit, "y"), W)});
  return std::move(b.graph);
}

// Random reads of recent values: long skips, odd sizes, no bottlenecks.
LoweredGraph random_graph(int thunks, uint64_t seed) {
  Builder b;
  std::mt19937_64 random(seed);
  std::vector<uint32_t> values = {b.buffer(Space::kInput, 4096, "x")};
  for (int i = 0; i < thunks; ++i) {
    std::vector<Operand> operands;
    for (int r = 1 + static_cast<int>(random() % 3); r-- > 0;) {
      const size_t back = std::min<size_t>(values.size(), random() % 8 == 0 ? 64 : 6);
      operands.push_back(b.whole(values[values.size() - 1 - random() % back], R));
    }
    const int64_t size = 64 << (random() % 12);
    const uint32_t out = b.value(Dim(size + static_cast<int64_t>(random() % 64) * 64), "v");
    operands.push_back(b.whole(out, W));
    values.push_back(out);
    b.step("op", std::move(operands));
  }
  b.step("out", {b.whole(values.back(), R), b.whole(b.buffer(Space::kOutput, 64, "y"), W)});
  return std::move(b.graph);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int run(int repeat, const std::string& only, double slack) {
  struct Case {
    std::string name;
    LoweredGraph graph;
    int64_t tokens;
  };
  std::vector<Case> cases;
  for (const int64_t tokens : {1, 512}) {
    cases.push_back(
        {"decoder 30 fused, tokens " + std::to_string(tokens), transformer(30, true), tokens});
    cases.push_back(
        {"decoder 30 unfused, tokens " + std::to_string(tokens), transformer(30, false), tokens});
  }
  cases.push_back({"decoder 200 unfused", transformer(200, false), 64});
  cases.push_back({"branches 40 x 8", branches(40, 8), 64});
  cases.push_back({"one block of 400 branches", branches(1, 400), 64});
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    cases.push_back({"random 1000, seed " + std::to_string(seed), random_graph(1000, seed), 1});
  }
  std::printf("%-32s %7s %9s %9s %7s %9s %9s %7s\n", "graph", "thunks", "plan", "validate", "peak/",
              "program/", "barriers", "chain");
  std::printf("%-32s %7s %9s %9s %7s %9s %9s %7s\n", "", "", "ms/1000", "ms/1000", "bound", "peak",
              "", "");
  std::erase_if(cases, [&](const Case& c) { return c.name.find(only) == std::string::npos; });
  if (cases.empty()) {
    std::fprintf(stderr, "no graph has `%s` in its name\n", only.c_str());
    return 2;
  }
  std::vector<double> all;
  const Target target = cpu_target(1);
  for (const Case& c : cases) {
    const std::vector<Extent> extents = {{"tokens", c.tokens}};
    const double thousands = static_cast<double>(c.graph.thunks.size()) / 1000.0;
    PlanOptions options;
    options.validate = false;
    options.peak_slack = slack;
    std::vector<double> plan_ms;
    std::vector<double> validate_ms;
    Schedule schedule;
    for (int i = 0; i < repeat; ++i) {
      auto planned = plan_schedule(c.graph, target, extents, options);
      if (!planned) {
        std::fprintf(stderr, "%s\n", planned.error().to_string().c_str());
        return 1;
      }
      schedule = std::move(*planned);
      plan_ms.push_back(schedule.seconds * 1e3 / thousands);
      const auto start = std::chrono::steady_clock::now();
      const auto valid = validate_schedule(c.graph, schedule, target);
      validate_ms.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3 /
          thousands);
      if (!valid) {
        std::fprintf(stderr, "%s\n", valid.error().to_string().c_str());
        return 1;
      }
    }
    options.reorder = false;
    const auto program = plan_schedule(c.graph, target, extents, options);
    const PlanStats stats = plan_stats(schedule);
    all.push_back(median(plan_ms));
    std::printf(
        "%-32s %7lld %9.3f %9.3f %7.4f %9.3f %9lld %7lld\n", c.name.c_str(),
        static_cast<long long>(stats.thunks), median(plan_ms), median(validate_ms), stats.ratio,
        static_cast<double>(program->arena_bound) / static_cast<double>(stats.peak),
        static_cast<long long>(stats.barriers), static_cast<long long>(stats.critical_path));
  }
  std::printf("median over graphs: %.3f ms per 1000 thunks\n", median(all));
  return 0;
}

}  // namespace
}  // namespace bessemer

int main(int argc, char** argv) {
  int repeat = 9;
  std::string only;
  double slack = 0;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 < argc && std::strcmp(argv[i], "--repeat") == 0) {
      repeat = std::atoi(argv[++i]);
    } else if (i + 1 < argc && std::strcmp(argv[i], "--only") == 0) {
      only = argv[++i];
    } else if (i + 1 < argc && std::strcmp(argv[i], "--slack") == 0) {
      slack = std::atof(argv[++i]);
    } else {
      repeat = 0;
    }
  }
  if (repeat < 1) {
    std::fprintf(stderr, "usage: bench_plan [--repeat N] [--only TEXT] [--slack X], N >= 1\n");
    return 2;
  }
  return bessemer::run(repeat, only, slack);
}
