#include "plan/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace bessemer {
namespace {

Dim random_dim(std::mt19937_64& random, int64_t low) {
  Dim d;
  for (int i = static_cast<int>(random() % 4); i-- > 0;) {
    Dim term(low + static_cast<int64_t>(random() % 9));
    for (int f = static_cast<int>(random() % 3); f-- > 0;) {
      term = term * Dim::extent(static_cast<ExtentId>(random() % 2));
    }
    d += term;
  }
  return d;
}

template <class Visit>
void for_each_extents(const ExtentValues& maxima, Visit visit) {
  for (int64_t a = 0; a <= maxima[0]; ++a) {
    for (int64_t b = 0; b <= maxima[1]; ++b) visit(ExtentValues{a, b});
  }
}

TEST(Bounds, EncloseAllValuesAndAreTightForLinearDims) {
  const ExtentValues maxima = {4, 3};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const Dim d = random_dim(random, -4);
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for_each_extents(maxima, [&](const ExtentValues& at) {
      low = std::min(low, d.evaluate(at));
      high = std::max(high, d.evaluate(at));
    });
    const DimBounds b = bounds(d, maxima);
    EXPECT_LE(b.low, low);
    EXPECT_GE(b.high, high);
    const bool linear = std::none_of(d.terms().begin(), d.terms().end(), [](const Dim::Term& t) {
      return t.factors.size() == 2 && t.factors[0] == t.factors[1];
    });
    if (linear) {
      EXPECT_EQ(b.low, low);
      EXPECT_EQ(b.high, high);
    }
  }
}

TEST(ByteRange, OverlapAndCoverHoldAtEveryExtent) {
  const ExtentValues maxima = {4, 3};
  int apart = 0;
  int covered = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    const Operand x{Space::kArena, Access::kRead, 0, random_dim(random, 0), random_dim(random, -1)};
    Operand y{Space::kArena, Access::kRead, 0, random_dim(random, 0), random_dim(random, -1)};
    if (seed % 3 == 0) y.offset = x.offset + x.bytes;
    const ByteRange a = byte_range(x, maxima);
    const ByteRange b = byte_range(y, maxima);
    const bool meet = may_overlap(a, b, maxima);
    const bool cover = covers(a, b, maxima);
    EXPECT_EQ(meet, may_overlap(b, a, maxima));
    apart += !meet;
    covered += cover;
    for_each_extents(maxima, [&](const ExtentValues& at) {
      const int64_t x0 = x.offset.evaluate(at);
      const int64_t x1 = x0 + std::max<int64_t>(x.bytes.evaluate(at), 0);
      const int64_t y0 = y.offset.evaluate(at);
      const int64_t y1 = y0 + std::max<int64_t>(y.bytes.evaluate(at), 0);
      if (x0 < x1) {
        EXPECT_LE(a.low, x0);
        EXPECT_GE(a.high, x1);
      }
      EXPECT_TRUE(meet || std::max(x0, y0) >= std::min(x1, y1)) << seed;
      EXPECT_TRUE(!cover || y0 >= y1 || (x0 <= y0 && y1 <= x1)) << seed;
    });
  }
  EXPECT_GT(apart, 3000);
  EXPECT_GT(covered, 1000);
}

TEST(RangeList, FindsAndRemovesWhatALinearScanDoes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Operand> operands(60);
    for (Operand& o : operands) {
      o.offset = Dim(static_cast<int64_t>(random() % 100));
      o.bytes = Dim(static_cast<int64_t>(random() % 20));
    }
    RangeList list;
    std::vector<uint32_t> kept;
    for (uint32_t i = 0; i < operands.size(); ++i) {
      const ByteRange r = byte_range(operands[i], {});
      std::vector<uint32_t> found;
      list.visit_overlaps(r, {}, [&](const RangeList::Entry& e) {
        found.push_back(e.owner);
        return true;
      });
      std::sort(found.begin(), found.end());
      std::vector<uint32_t> meant;
      for (uint32_t k : kept) {
        if (may_overlap(byte_range(operands[k], {}), r, {})) meant.push_back(k);
      }
      ASSERT_EQ(found, meant);
      if (random() % 4 == 0) {
        list.remove_covered(r, {});
        std::erase_if(kept, [&](uint32_t k) { return covers(r, byte_range(operands[k], {}), {}); });
      }
      list.add(r, i);
      if (!r.empty()) kept.push_back(i);
    }
  }
}

}  // namespace
}  // namespace bessemer
