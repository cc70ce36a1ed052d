#include <gtest/gtest.h>

#include "plan/plan.h"
#include "plan/random_lowered.h"

namespace bessemer {
namespace {

using testing::RandomGraph;
using testing::small_target;

TEST(ScheduleText, RoundTrips) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    RandomGraph g = testing::random_graph(random);
    for (Thunk& t : g.lowered.thunks) {
      for (size_t i = random() % 6; i-- > 0;) t.label += static_cast<char>(random() % 256);
    }
    const auto s = plan_schedule(g.lowered, small_target(4), g.extents);
    ASSERT_TRUE(s.ok());
    const std::string text = to_string(*s);
    const auto parsed = parse_schedule(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string() << "\n" << text;
    EXPECT_TRUE(*parsed == *s) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
}

TEST(ScheduleText, ReadsWell) {
  LoweredGraph g;
  const Dim bytes = Dim(64) * Dim::extent(0);
  g.buffers = {{Space::kInput, 0, bytes, "x"},
               {Space::kValue, 0, bytes, "L0.norm"},
               {Space::kOutput, 0, bytes, "y"}};
  Thunk norm = testing::thunk("L0.norm", {testing::at(0, Access::kRead, 0, bytes),
                                          testing::at(1, Access::kWrite, 0, bytes)});
  norm.kernel = "rms_norm__f32";
  norm.params.resize(10);
  norm.params[0] = std::byte{16};
  norm.patches.push_back({0, 8, Dim::extent(0)});
  norm.launch.grid[0] = Dim::extent(0);
  Thunk exp = testing::thunk(
      "exp", {testing::at(1, Access::kRead, 0, bytes), testing::at(2, Access::kWrite, 0, bytes)},
      {{1, 0}});
  exp.kernel = "exp__f32";
  exp.flops = Dim(16) * Dim::extent(0);
  exp.node = 2;
  g.thunks = {norm, exp};
  const std::vector<Extent> extents = {{"tokens", 16}};
  const auto s = plan_schedule(g, small_target(64), extents);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(to_string(*s),
            "schedule 1\n"
            "extents tokens=16\n"
            "arena 1024 bound 1024 guard 0 critical 2 merges 0 views 0\n"
            "value 1 arena0+0 size 64*tokens of 1024 steps 0..1 \"L0.norm\"\n"
            "step 0 from 0: rms_norm__f32(r input0[0 : 64*tokens], w arena0[0 : 64*tokens])\n"
            "  launch [tokens, 1, 1] x [1, 1, 1] flops 0 node 0 \"L0.norm\"\n"
            "  params 1000000000000000 0000\n"
            "  patch 0 wide 8 = tokens\n"
            "barrier\n"
            "step 1 from 1: exp__f32(r arena0[0 : 64*tokens], w output0[0 : 64*tokens])\n"
            "  launch [1, 1, 1] x [1, 1, 1] flops 16*tokens node 2 \"exp\"\n"
            "  in_place 1=0\n");
}

// Cut short or with a changed byte, text is refused or read as another schedule that prints alike.
TEST(ScheduleText, DamagedTextIsRefusedOrReadExactly) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const RandomGraph g = testing::random_graph(random);
    const auto s = plan_schedule(g.lowered, small_target(4), g.extents);
    ASSERT_TRUE(s.ok());
    std::string text = to_string(*s);
    if (seed % 3 == 0) {
      text.resize(random() % text.size());
    } else {
      for (int i = 0; i < 3; ++i) {
        text[random() % text.size()] = "0123456789 -+*[]()\n\"\\xrwabz,:.="[random() % 32];
      }
    }
    const auto parsed = parse_schedule(text);
    if (!parsed) {
      ++refused;
      EXPECT_EQ(parsed.error().kind, ErrorKind::kParse);
      EXPECT_NE(parsed.error().message.find("line "), std::string::npos);
      continue;
    }
    const auto again = parse_schedule(to_string(*parsed));
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
    EXPECT_TRUE(*again == *parsed);
  }
  EXPECT_GT(refused, 1500);
}

TEST(ScheduleText, RefusesNonsense) {
  for (const char* text :
       {"", "schedule 2\n", "schedule 1\nextents 1a=3\n", "schedule 1\nextents a=3 a=4\n",
        "schedule 1\nextents a=-1\n", "schedule 1\nextents\narena x\n",
        "schedule 1\nextents\narena bound 0 guard 0 critical 0 merges 0 views 0\n"
        "barrier\n",
        "schedule 1\nextents\narena bound 0 guard 0 critical 0 merges 0 views 0\n"
        "step 1 from 0: k()\n"}) {
    const auto parsed = parse_schedule(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kParse);
  }
}

}  // namespace
}  // namespace bessemer
