#include "base/dim.h"

#include <gtest/gtest.h>

#include "base/half.h"

namespace bessemer {
namespace {

const std::vector<Extent> kExtents = {{"tokens", 512}, {"seqs", 8}};

TEST(Dim, IsAPolynomialInCanonicalForm) {
  const Dim t = Dim::extent(0);
  const Dim s = Dim::extent(1);
  EXPECT_EQ((t + 1) * (t - 1), t * t - 1);
  EXPECT_EQ(t * s - s * t, Dim(0));
  EXPECT_TRUE((t - t).is_constant());
  const std::vector<int64_t> at = {5, 3};
  EXPECT_EQ((2 * t * s + 1).evaluate(at), 31);
}

TEST(Dim, PrintsAndParsesBack) {
  const Dim t = Dim::extent(0);
  const Dim s = Dim::extent(1);
  for (const Dim& d : {Dim(0), Dim(7), t, t * 64, t * s * 2 + 1, t - 3, t * t + s, Dim(-1) * t}) {
    const auto parsed = Dim::parse(d.to_string(kExtents), kExtents);
    ASSERT_TRUE(parsed.ok()) << d.to_string(kExtents);
    EXPECT_EQ(*parsed, d) << d.to_string(kExtents);
  }
  for (const char* bad : {"", "x", "2*", "2 3", "99999999999999999999", "tokens +"}) {
    EXPECT_FALSE(Dim::parse(bad, kExtents).ok()) << bad;
  }
}

TEST(Dim, DividesOnlyExactly) {
  const Dim t = Dim::extent(0);
  Dim q;
  EXPECT_TRUE((t * 576).divide_exactly(64, &q));
  EXPECT_EQ(q, t * 9);
  EXPECT_TRUE((t * 576).divide_exactly(t, &q));
  EXPECT_EQ(q, Dim(576));
  EXPECT_TRUE(((t + 1) * 6).divide_exactly(t + 1, &q));
  EXPECT_EQ(q, Dim(6));
  EXPECT_FALSE((t + 1).divide_exactly(t, &q));
  EXPECT_FALSE((t * 3).divide_exactly(2, &q));
}

TEST(Half, RoundTripsEveryValueAndRoundsToNearestEven) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if (f == f) {
      EXPECT_EQ(f32_to_f16(f), h);
    } else {
      EXPECT_NE(f16_to_f32(f32_to_f16(f)), f16_to_f32(f32_to_f16(f)));
    }
    const float b = bf16_to_f32(static_cast<uint16_t>(h));
    if (b == b) {
      EXPECT_EQ(f32_to_bf16(b), h);
    }
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // halfway above the largest: infinity
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);  // below it: the largest
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // half the smallest subnormal: even, zero
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);    // tie to even
  EXPECT_EQ(f32_to_f16(1.0f + 0x1.8p-10f), 0x3c02);  // tie to even, upwards
}

}  // namespace
}  // namespace bessemer
