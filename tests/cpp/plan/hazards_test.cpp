#include "plan/hazards.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan.h"
#include "plan/random_lowered.h"

namespace bessemer {
namespace {

using testing::RandomGraph;
using testing::RandomShape;
using testing::small_target;

// Byte by byte, whether two thunks may not run at once.
bool conflict(const Thunk& a, const Thunk& b, std::span<const int64_t> extents) {
  for (const Operand& x : a.operands) {
    for (const Operand& y : b.operands) {
      if (x.space != y.space || x.block != y.block) continue;
      if (!writes(x.access) && !writes(y.access)) continue;
      const int64_t x0 = x.offset.evaluate(extents);
      const int64_t y0 = y.offset.evaluate(extents);
      for (int64_t i = 0; i < x.bytes.evaluate(extents); ++i) {
        for (int64_t j = 0; j < y.bytes.evaluate(extents); ++j) {
          if (x0 + i == y0 + j) return true;
        }
      }
    }
  }
  return false;
}

bool safe(const std::vector<Thunk>& thunks, const std::vector<uint8_t>& barriers,
          std::span<const int64_t> extents) {
  for (size_t i = 0; i < thunks.size(); ++i) {
    for (size_t j = i; j-- > 0 && barriers[j + 1] == 0;) {
      if (conflict(thunks[j], thunks[i], extents)) return false;
    }
  }
  return true;
}

// All choices of barriers are tried: none that is safe has fewer.
TEST(Hazards, FewestBarriers) {
  RandomShape shape;
  shape.max_thunks = 8;
  shape.constant_sizes = true;
  int tried = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = random_graph(random, shape);
    const auto s = plan_schedule(g.lowered, small_target(4), {});
    ASSERT_TRUE(s.ok());
    const size_t n = s->thunks.size();
    if (n < 2 || n > 11) continue;
    ++tried;
    ASSERT_TRUE(safe(s->thunks, s->barrier_before, {}));
    int64_t fewest = static_cast<int64_t>(n);
    std::vector<uint8_t> barriers(n, 0);
    for (size_t choice = 0; choice < (size_t{1} << (n - 1)); ++choice) {
      for (size_t i = 1; i < n; ++i) barriers[i] = (choice >> (i - 1)) & 1;
      const int64_t count = std::count(barriers.begin(), barriers.end(), 1);
      if (count < fewest && safe(s->thunks, barriers, {})) fewest = count;
    }
    EXPECT_EQ(s->barriers(), fewest) << "seed " << seed;
    EXPECT_GE(s->groups(), s->critical_path);
  }
  EXPECT_GT(tried, 400);
}

TEST(Hazards, BarriersHoldAtEveryExtent) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = testing::random_graph(random);
    const auto s = plan_schedule(g.lowered, small_target(4), g.extents);
    ASSERT_TRUE(s.ok());
    ExtentValues at(g.extents.size(), 0);
    while (true) {
      ASSERT_TRUE(safe(s->thunks, s->barrier_before, at)) << "seed " << seed;
      size_t i = 0;
      while (i < at.size() && ++at[i] > g.extents[i].max) at[i++] = 0;
      if (i == at.size()) break;
    }
  }
}

Thunk touch(Space space, Access access, const Dim& offset, const Dim& bytes) {
  Thunk t;
  t.operands.push_back({space, access, 0, offset, bytes});
  return t;
}

TEST(Hazards, ReadersAndDisjointWritersShareAGroup) {
  const std::vector<Thunk> thunks = {
      touch(Space::kArena, Access::kRead, 0, 64),      touch(Space::kArena, Access::kRead, 0, 64),
      touch(Space::kArena, Access::kWrite, 64, 64),    touch(Space::kState, Access::kWrite, 0, 64),
      touch(Space::kArena, Access::kWrite, 128, 0),    touch(Space::kArena, Access::kWrite, 32, 8),
      touch(Space::kArena, Access::kReadWrite, 40, 8), touch(Space::kArena, Access::kRead, 47, 1)};
  EXPECT_EQ(find_barriers(thunks, {}), (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 0, 1}));
}

// Parts of a concatenation whose border moves with the extent touch at no extent.
TEST(Hazards, PartsWithAMovingBorderAreDisjoint) {
  const Dim tokens = Dim::extent(0);
  const std::vector<Thunk> thunks = {
      touch(Space::kArena, Access::kWrite, 0, Dim(4) * tokens),
      touch(Space::kArena, Access::kWrite, Dim(4) * tokens, 16),
      touch(Space::kArena, Access::kWrite, Dim(4) * tokens + Dim(16), Dim(8) * tokens)};
  EXPECT_EQ(find_barriers(thunks, ExtentValues{100}), (std::vector<uint8_t>{0, 0, 0}));
}

// Apart at the maxima, but not below them.
TEST(Hazards, RangesThatMeetAtSmallerExtentsNeedABarrier) {
  const std::vector<Thunk> thunks = {
      touch(Space::kArena, Access::kWrite, 0, 64),
      touch(Space::kArena, Access::kRead, Dim(4) * Dim::extent(0), 16)};
  EXPECT_EQ(find_barriers(thunks, ExtentValues{100}), (std::vector<uint8_t>{0, 1}));
}

}  // namespace
}  // namespace bessemer
