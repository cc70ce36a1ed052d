#include "plan/plan.h"

#include <gtest/gtest.h>

#include "plan/hazards.h"
#include "plan/random_lowered.h"
#include "plan/ranges.h"
#include "plan/validator.h"

namespace bessemer {
namespace {

using testing::at;
using testing::random_graph;
using testing::RandomGraph;
using testing::RandomShape;
using testing::small_target;
using testing::thunk;

std::vector<ExtentValues> some_extents(const std::vector<Extent>& extents,
                                       std::mt19937_64& random) {
  std::vector<ExtentValues> all(4);
  for (const Extent& e : extents) {
    all[0].push_back(e.max);
    all[1].push_back(0);
    all[2].push_back(1);
    all[3].push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(e.max + 1)));
  }
  return all;
}

PlanOptions random_options(std::mt19937_64& random) {
  PlanOptions o;
  o.reorder = random() % 4 != 0;
  o.reuse = random() % 8 != 0;
  o.merge_groups = random() % 4 != 0;
  o.guard_bytes = random() % 4 == 0;
  o.peak_slack = random() % 4 != 0 ? 0 : 0.25 * static_cast<double>(random() % 9);
  o.arena_budget_s = 0.002;
  o.validate = false;
  return o;
}

// Every random graph, planned in any way and run at any extents, does what program order does.
TEST(Plan, RandomGraphsRunAsProgramOrder) {
  int64_t at_bound = 0;
  constexpr int kGraphs = 3000;
  for (int seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const RandomGraph g = random_graph(random);
    const Target target = small_target(int64_t{1} << (random() % 5));
    const PlanOptions options = random_options(random);
    const auto schedule = plan_schedule(g.lowered, target, g.extents, options);
    ASSERT_TRUE(schedule.ok()) << schedule.error().to_string();
    EXPECT_GE(schedule->arena_bytes(), schedule->arena_bound);
    at_bound += schedule->arena_bytes() == schedule->arena_bound;
    for (const ExtentValues& extents : some_extents(g.extents, random)) {
      const auto valid = validate_schedule(g.lowered, *schedule, target, extents);
      ASSERT_TRUE(valid.ok()) << valid.error().to_string() << "\n" << to_string(*schedule);
      testing::Defined defined;
      const testing::Trace meant = testing::run_graph(g.lowered, extents, &defined);
      for (uint64_t run = 0; run < 3; ++run) {
        ASSERT_EQ(meant, testing::run_schedule(g.lowered, *schedule, extents, defined, run))
            << to_string(*schedule);
      }
    }
  }
  EXPECT_GE(at_bound, kGraphs * 90 / 100);
  RecordProperty("at_bound", static_cast<int>(at_bound));
}

// A bucket may bind smaller maxima than the graph was lowered for.
TEST(Plan, SmallerBucketsNeedLess) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed) + 10000);
    const RandomGraph g = random_graph(random);
    const Target target = small_target(4);
    std::vector<Extent> bucket = g.extents;
    for (Extent& e : bucket)
      e.max = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(e.max));
    const PlanRequest requests[] = {{&g.lowered, g.extents}, {&g.lowered, bucket}};
    const auto schedules = plan_schedules(requests, target);
    ASSERT_TRUE(schedules.ok()) << schedules.error().to_string();
    const std::vector<int64_t> blocks = shared_arena_blocks(*schedules);
    for (const Schedule& s : *schedules) {
      ASSERT_TRUE(validate_schedule(g.lowered, s, target).ok());
      ASSERT_LE(s.arena_blocks.size(), blocks.size());
      for (size_t i = 0; i < s.arena_blocks.size(); ++i) EXPECT_LE(s.arena_blocks[i], blocks[i]);
    }
    const ExtentValues small = (*schedules)[1].extent_maxima();
    const ExtentValues large = (*schedules)[0].extent_maxima();
    EXPECT_TRUE(validate_schedule(g.lowered, (*schedules)[0], target, small).ok());
    if (small != large) {
      EXPECT_FALSE(validate_schedule(g.lowered, (*schedules)[1], target, large).ok());
    }
  }
}

TEST(Plan, IsDeterministic) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = random_graph(random);
    const auto a = plan_schedule(g.lowered, small_target(16), g.extents);
    const auto b = plan_schedule(g.lowered, small_target(16), g.extents);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(to_string(*a), to_string(*b));
  }
}

TEST(Plan, LiveBytesNeverExceedTheBoundAndReachItUnlessKeptLonger) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = random_graph(random);
    PlanOptions options;
    options.merge_groups = false;
    const auto s = plan_schedule(g.lowered, small_target(1), g.extents, options);
    ASSERT_TRUE(s.ok());
    const std::vector<int64_t> live = s->live_bytes();
    EXPECT_EQ(*std::max_element(live.begin(), live.end()), s->arena_bound);
  }
}

// x -> a -> b -> y: the chain works in place in one storage.
LoweredGraph chain(int64_t bytes) {
  LoweredGraph g;
  g.buffers = {{Space::kInput, 0, bytes, "x"},
               {Space::kValue, 0, bytes, "a"},
               {Space::kValue, 0, bytes, "b"},
               {Space::kOutput, 0, bytes, "y"}};
  for (uint32_t i = 0; i < 3; ++i) {
    g.thunks.push_back(thunk("t" + std::to_string(i),
                             {at(i, Access::kRead, 0, bytes), at(i + 1, Access::kWrite, 0, bytes)},
                             {{1, 0}}));
  }
  return g;
}

TEST(Plan, ChainsWorkInPlace) {
  const auto s = plan_schedule(chain(100), small_target(64), {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->arena_bytes(), 128);
  EXPECT_EQ(s->arena_bound, 128);
  EXPECT_EQ(s->in_place_merges, 1);
  EXPECT_EQ(s->barriers(), 2);
  EXPECT_EQ(s->groups(), 3);
  EXPECT_EQ(s->critical_path, 3);
  EXPECT_EQ(s->live_bytes(), (std::vector<int64_t>{100, 100, 100}));
}

// Four branches of two steps each: with room for all of them, two groups do.
TEST(Plan, SlackBuysFewerBarriers) {
  LoweredGraph g;
  g.buffers = {{Space::kInput, 0, 64, "x"}};
  for (uint32_t i = 0; i < 4; ++i) {
    const auto big = static_cast<uint32_t>(g.buffers.size());
    g.buffers.push_back({Space::kValue, 0, 1024, "big"});
    g.buffers.push_back({Space::kOutput, i, 64, "y"});
    g.thunks.push_back(
        thunk("widen", {at(0, Access::kRead, 0, 64), at(big, Access::kWrite, 0, 1024)}));
    g.thunks.push_back(
        thunk("narrow", {at(big, Access::kRead, 0, 1024), at(big + 1, Access::kWrite, 0, 64)}));
  }
  PlanOptions options;
  for (const auto& [slack, barriers, bytes] :
       {std::tuple{0.0, 7, 1024}, {1.0, 3, 2048}, {3.0, 1, 4096}, {100.0, 1, 4096}}) {
    options.peak_slack = slack;
    const auto s = plan_schedule(g, small_target(64), {}, options);
    ASSERT_TRUE(s.ok());
    EXPECT_EQ(s->barriers(), barriers) << slack;
    EXPECT_EQ(s->arena_bytes(), bytes) << slack;
  }
  options.peak_slack = -1;
  EXPECT_FALSE(plan_schedule(g, small_target(64), {}, options).ok());
}

TEST(Plan, FreedBytesAreThoseOfTheLastInPlace) {
  LoweredGraph g = chain(100);
  const auto s = plan_schedule(g, small_target(64), {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(freed_bytes(*s), (std::vector<FreedBytes>{{2, 0, 0, 100}}));
}

// Poison what dies, after each step of a run in order: nothing changes.
TEST(Plan, FreedBytesHoldNothingThatIsReadLater) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = random_graph(random);
    const auto s = plan_schedule(g.lowered, small_target(4), g.extents);
    ASSERT_TRUE(s.ok());
    // A thunk that writes them in the step after is a run with poison.
    Schedule poisoned = *s;
    LoweredGraph with_poison = g.lowered;
    const std::vector<FreedBytes> freed = freed_bytes(*s);
    for (size_t i = freed.size(); i-- > 0;) {
      Thunk t = thunk("poison", {{Space::kArena, Access::kWrite, freed[i].block,
                                  Dim(freed[i].offset), Dim(freed[i].bytes)}});
      const auto at = static_cast<std::ptrdiff_t>(freed[i].step) + 1;
      poisoned.thunks.insert(poisoned.thunks.begin() + at, t);
      poisoned.original.insert(poisoned.original.begin() + at,
                               static_cast<uint32_t>(with_poison.thunks.size()));
      with_poison.thunks.push_back(t);
    }
    poisoned.barrier_before.assign(poisoned.thunks.size(), 1);
    const ExtentValues maxima = s->extent_maxima();
    testing::Defined defined;
    const testing::Trace meant = testing::run_graph(g.lowered, maxima, &defined);
    defined.resize(with_poison.thunks.size());
    testing::Trace got = testing::run_schedule(with_poison, poisoned, maxima, defined, seed);
    got.digests.resize(meant.digests.size());
    ASSERT_EQ(meant, got) << "seed " << seed;
  }
}

TEST(Plan, GuardBytesKeepValuesApart) {
  PlanOptions options;
  options.guard_bytes = true;
  const auto s = plan_schedule(chain(100), small_target(64), {}, options);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->guard_bytes, 64);
  EXPECT_EQ(s->arena_bytes(), 192);
}

TEST(Plan, WithoutReuseEveryValueHasItsPlace) {
  PlanOptions options;
  options.reuse = false;
  const auto s = plan_schedule(chain(100), small_target(64), {}, options);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->arena_bytes(), 256);
  EXPECT_EQ(s->in_place_merges, 0);
}

TEST(Plan, EmptyGraph) {
  const auto s = plan_schedule({}, small_target(64), {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->groups(), 0);
  EXPECT_EQ(s->arena_bytes(), 0);
  EXPECT_TRUE(validate_schedule({}, *s, small_target(64)).ok());
  const auto parsed = parse_schedule(to_string(*s));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, *s);
}

TEST(Plan, ZeroSizedValuesTakeNoStorage) {
  const auto s = plan_schedule(chain(0), small_target(64), {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->arena_bytes(), 0);
  EXPECT_EQ(s->barriers(), 0);
  EXPECT_TRUE(validate_schedule(chain(0), *s, small_target(64)).ok());
}

// Merging would let y = g(x) overwrite what z = f(x) reads: it would cost a barrier.
TEST(Plan, DoesNotMergeWhereItCostsABarrierAndSavesNothing) {
  LoweredGraph g;
  g.buffers = {{Space::kInput, 0, 64, "in"},   {Space::kValue, 0, 64, "x"},
               {Space::kValue, 0, 64, "z"},    {Space::kValue, 0, 64, "y"},
               {Space::kValue, 0, 256, "big"}, {Space::kOutput, 0, 64, "out"}};
  const auto r = [](uint32_t b, int64_t n) { return at(b, Access::kRead, 0, n); };
  const auto w = [](uint32_t b, int64_t n) { return at(b, Access::kWrite, 0, n); };
  g.thunks = {thunk("x", {r(0, 64), w(1, 64)}), thunk("z", {r(1, 64), w(2, 64)}),
              thunk("y", {r(1, 64), w(3, 64)}, {{1, 0}}),
              thunk("big", {r(2, 64), r(3, 64), w(4, 256)}), thunk("out", {r(4, 256), w(5, 64)})};
  const auto s = plan_schedule(g, small_target(64), {});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->in_place_merges, 0);
  EXPECT_EQ(s->barriers(), 3);
  EXPECT_EQ(s->arena_bytes(), 384);
}

TEST(Plan, ReadingWhatNothingWroteIsAnError) {
  LoweredGraph g = chain(8);
  g.thunks.erase(g.thunks.begin());
  const auto s = plan_schedule(g, small_target(64), {});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().kind, ErrorKind::kInternal);
  EXPECT_NE(s.error().message.find("`a`, which nothing has written"), std::string::npos)
      << s.error().message;
}

TEST(Plan, RefusesOperandsOutsideOfTheirBuffer) {
  LoweredGraph g = chain(8);
  g.thunks[1].operands[1].offset = Dim(4);
  const auto s = plan_schedule(g, small_target(64), {});
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message.find("reaches past `b`"), std::string::npos) << s.error().message;
  g = chain(8);
  g.thunks[1].operands[0].block = 17;
  EXPECT_FALSE(plan_schedule(g, small_target(64), {}).ok());
}

TEST(Plan, RefusesToWriteWeights) {
  LoweredGraph g = chain(8);
  g.buffers[0].space = Space::kWeights;
  g.thunks[1].operands.push_back(at(0, Access::kWrite, 0, 8));
  EXPECT_FALSE(plan_schedule(g, small_target(64), {}).ok());
}

TEST(Plan, SpreadsOverArenaBlocksWhereOneIsTooSmall) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = random_graph(random);
    Target target = small_target(4);
    int64_t largest = 4;
    ExtentValues maxima;
    for (const Extent& e : g.extents) maxima.push_back(e.max);
    for (const VirtualBuffer& b : g.lowered.buffers) {
      largest = std::max(largest, bounds(b.bytes, maxima).high);
    }
    target.max_block_bytes = (largest + 3) / 4 * 4;
    target.max_offset = target.max_block_bytes + 1;  // parts of no bytes may start at the end
    const auto s = plan_schedule(g.lowered, target, g.extents);
    ASSERT_TRUE(s.ok()) << s.error().to_string();
    for (int64_t bytes : s->arena_blocks) EXPECT_LE(bytes, target.max_block_bytes);
    const auto valid = validate_schedule(g.lowered, *s, target);
    ASSERT_TRUE(valid.ok()) << valid.error().to_string();
    testing::Defined defined;
    const testing::Trace meant = testing::run_graph(g.lowered, maxima, &defined);
    ASSERT_EQ(meant, testing::run_schedule(g.lowered, *s, maxima, defined, seed));
  }
}

TEST(Plan, NamesATensorThatIsTooLarge) {
  Target target = small_target(64);
  target.max_block_bytes = 64;
  const auto s = plan_schedule(chain(100), target, {});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(s.error().message.find("`x` takes 100"), std::string::npos) << s.error().message;
}

// A value above the offset limit lies at the start of a block of its own.
TEST(Plan, LargeValuesHaveABlockOfTheirOwn) {
  Target target = small_target(64);
  target.max_offset = 256;
  target.max_block_bytes = 4096;
  LoweredGraph g = chain(1024);
  for (Thunk& t : g.thunks) t.in_place.clear();
  const auto s = plan_schedule(g, target, {});
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  EXPECT_EQ(s->arena_blocks, (std::vector<int64_t>{1024, 1024}));
  EXPECT_TRUE(validate_schedule(g, *s, target).ok());
  // But an operand far inside of it cannot be addressed.
  g.thunks[1].operands[0].offset = Dim(512);
  g.thunks[1].operands[0].bytes = Dim(512);
  const auto far = plan_schedule(g, target, {});
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(far.error().message.find("`a`"), std::string::npos) << far.error().message;
}

TEST(Plan, StatsTellWhatTheScheduleSays) {
  const auto s = plan_schedule(chain(100), small_target(64), {});
  ASSERT_TRUE(s.ok());
  const PlanStats stats = plan_stats(*s);
  EXPECT_EQ(stats.peak, 128);
  EXPECT_EQ(stats.bound, 128);
  EXPECT_EQ(stats.ratio, 1.0);
  EXPECT_EQ(stats.thunks, 3);
  EXPECT_EQ(stats.values, 2);
  EXPECT_EQ(stats.groups, 3);
  EXPECT_GT(stats.seconds, 0);
}

}  // namespace
}  // namespace bessemer
