#include "plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>

#include "plan/lifetimes.h"
#include "plan/random_lowered.h"

namespace bessemer {
namespace {

using testing::at;
using testing::RandomGraph;
using testing::RandomShape;

struct Prepared {
  AccessTable accesses;
  DependenceGraph graph;
  ValueTable values;
};

Prepared prepare(const RandomGraph& g) {
  auto accesses = collect_accesses(g.lowered, g.extents);
  EXPECT_TRUE(accesses.ok());
  Prepared p{std::move(*accesses), {}, {}};
  p.graph = find_dependences(p.accesses);
  p.values = collect_values(g.lowered, p.accesses, 1, 0);
  return p;
}

bool respects(const DependenceGraph& graph, const std::vector<uint32_t>& order) {
  std::vector<size_t> position(graph.size(), graph.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (size_t t = 0; t < graph.size(); ++t) {
    if (position[t] == graph.size()) return false;
    for (uint32_t p : graph.predecessors(t)) {
      if (position[p] >= position[t]) return false;
    }
  }
  return order.size() == graph.size();
}

TEST(Order, NeverRaisesThePeak) {
  int lower = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    RandomShape shape;
    shape.max_thunks = 30;
    const RandomGraph g = testing::random_graph(random, shape);
    const Prepared p = prepare(g);
    const ThunkOrder order = choose_order(p.graph, p.values);
    ASSERT_TRUE(respects(p.graph, order.order));
    ASSERT_LE(order.peak, order.program_peak);
    ASSERT_EQ(order.peak, peak_bytes(p.values, order.order));
    lower += order.peak < order.program_peak;
    // Lifetimes agree with the walk that the order was chosen by.
    const Lifetimes l =
        find_lifetimes(p.values, order.order, dependence_groups(p.graph, order.order));
    ASSERT_EQ(l.bound, order.peak) << "seed " << seed;
  }
  EXPECT_GT(lower, 100);
}

TEST(Order, EveryRuleGivesAnOrder) {
  using ordering::Rule;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    RandomShape shape;
    shape.max_thunks = 60;
    const RandomGraph g = testing::random_graph(random, shape);
    const Prepared p = prepare(g);
    for (const bool backwards : {false, true}) {
      for (const Rule rule : {Rule::kLeastGrowth, Rule::kFreeFirst, Rule::kDepthFirst}) {
        std::vector<uint32_t> order = list_schedule(p.graph, p.values, rule, backwards);
        ASSERT_TRUE(respects(p.graph, order));
        const int64_t before = peak_bytes(p.values, order);
        ordering::search_stretches(p.graph, p.values, 4000, &order);
        ASSERT_TRUE(respects(p.graph, order));
        ASSERT_LE(peak_bytes(p.values, order), before);
      }
    }
  }
}

// Against all orders there are, of graphs that are small enough.
TEST(Order, FindsTheLeastPeakOfSmallGraphs) {
  int tried = 0;
  int least = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    RandomShape shape;
    shape.max_thunks = 9;
    const RandomGraph g = testing::random_graph(random, shape);
    const Prepared p = prepare(g);
    const size_t n = p.graph.size();
    if (n > 9) continue;
    int64_t best = INT64_MAX;
    std::vector<uint32_t> order;
    std::vector<uint32_t> waits(n);
    for (size_t t = 0; t < n; ++t) waits[t] = static_cast<uint32_t>(p.graph.predecessors(t).size());
    const std::function<void()> extend = [&] {
      if (order.size() == n) best = std::min(best, peak_bytes(p.values, order));
      for (uint32_t t = 0; t < n; ++t) {
        if (waits[t] != 0 || std::find(order.begin(), order.end(), t) != order.end()) continue;
        order.push_back(t);
        for (uint32_t s : p.graph.successors(t)) --waits[s];
        extend();
        for (uint32_t s : p.graph.successors(t)) ++waits[s];
        order.pop_back();
      }
    };
    extend();
    ++tried;
    const int64_t found = choose_order(p.graph, p.values).peak;
    ASSERT_GE(found, best);
    least += found == best;
  }
  std::cout << least << " of " << tried << " small graphs at the least peak\n";
  EXPECT_GT(tried, 500);
  EXPECT_EQ(least, tried);
}

// Two independent chains: one barrier fewer a pair, if they run side by side and memory allows.
TEST(Order, WidensGroupsWithoutRaisingThePeak) {
  RandomGraph g;
  LoweredGraph& l = g.lowered;
  l.buffers = {{Space::kInput, 0, 8, "x"}};
  const auto value = [&](Space space, int64_t bytes) {
    l.buffers.push_back({space, static_cast<uint32_t>(l.buffers.size()), bytes, ""});
    return static_cast<uint32_t>(l.buffers.size() - 1);
  };
  const auto step = [&](std::vector<uint32_t> from, uint32_t to) {
    std::vector<Operand> operands;
    for (uint32_t b : from) operands.push_back(at(b, Access::kRead, 0, l.buffers[b].bytes));
    operands.push_back(at(to, Access::kWrite, 0, l.buffers[to].bytes));
    l.thunks.push_back(testing::thunk("t", operands));
  };
  uint32_t ends[2];
  for (uint32_t& end : ends) {
    uint32_t from = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t to = value(Space::kValue, 8);
      step({from}, to);
      from = to;
    }
    end = from;
  }
  const uint32_t big = value(Space::kValue, 64);
  step({ends[0], ends[1]}, big);
  step({big}, value(Space::kOutput, 8));
  const Prepared p = prepare(g);
  const ThunkOrder order = choose_order(p.graph, p.values);
  EXPECT_EQ(order.peak, order.program_peak);
  EXPECT_EQ(dependence_groups(p.graph, order.order).back(), 5u);
  EXPECT_EQ(p.graph.critical_path(), 6);
}

TEST(Order, ProgramOrderOnRequest) {
  std::mt19937_64 random(1);
  const RandomGraph g = testing::random_graph(random);
  const Prepared p = prepare(g);
  OrderOptions options;
  options.reorder = false;
  const ThunkOrder order = choose_order(p.graph, p.values, options);
  EXPECT_TRUE(std::is_sorted(order.order.begin(), order.order.end()));
  EXPECT_EQ(order.peak, order.program_peak);
}

// The dependences, closed under transitivity, against every pair of thunks, byte by byte.
TEST(Dependence, ClosureIsThatOfAllConflicts) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    RandomShape shape;
    shape.constant_sizes = true;
    const RandomGraph g = testing::random_graph(random, shape);
    const Prepared p = prepare(g);
    const size_t n = p.graph.size();
    std::vector<std::vector<bool>> meant(n, std::vector<bool>(n, false));
    std::vector<std::vector<bool>> found = meant;
    for (size_t b = 0; b < n; ++b) {
      for (size_t a = 0; a < b; ++a) {
        for (const Operand& x : g.lowered.thunks[a].operands) {
          for (const Operand& y : g.lowered.thunks[b].operands) {
            const int64_t low = std::max(x.offset.constant(), y.offset.constant());
            const int64_t high =
                std::min((x.offset + x.bytes).constant(), (y.offset + y.bytes).constant());
            if (x.block == y.block && (writes(x.access) || writes(y.access)) && low < high) {
              meant[a][b] = true;
            }
          }
        }
      }
      for (uint32_t a : p.graph.predecessors(b)) {
        EXPECT_TRUE(meant[a][b]) << "an edge without a conflict";
        found[a][b] = true;
      }
    }
    for (auto* m : {&meant, &found}) {
      for (size_t k = 0; k < n; ++k) {
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = 0; j < n; ++j) {
            if ((*m)[i][k] && (*m)[k][j]) (*m)[i][j] = true;
          }
        }
      }
    }
    EXPECT_EQ(meant, found) << "seed " << seed;
  }
}

}  // namespace
}  // namespace bessemer
