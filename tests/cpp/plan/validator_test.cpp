#include "plan/validator.h"

#include <gtest/gtest.h>

#include <iostream>

#include "plan/byte_origins.h"
#include "plan/plan.h"
#include "plan/random_lowered.h"

namespace bessemer {
namespace {

using testing::random_graph;
using testing::RandomGraph;
using testing::small_target;

// Damages the schedule in one way; false if there is nothing of the kind to damage. Sets `untrue`
// if what it says of itself is wrong even where a run would not show it.
struct Mutation {
  const char* name;
  bool (*apply)(Schedule*, std::mt19937_64&, bool* untrue);
  bool true_table = false;  // the lifetimes in the table of values follow the damage
};

size_t pick(std::mt19937_64& random, size_t n) { return static_cast<size_t>(random() % n); }

bool shift_operand(Schedule* s, std::mt19937_64& random, bool*) {
  Thunk& t = s->thunks[pick(random, s->thunks.size())];
  if (t.operands.empty()) return false;
  Operand& o = t.operands[pick(random, t.operands.size())];
  o.offset += Dim(random() % 2 != 0 ? 4 : -4);
  return true;
}

// Moves a value and all that address it onto another place.
bool move_value(Schedule* s, std::mt19937_64& random, bool*) {
  if (s->values.empty()) return false;
  ArenaValue& v = s->values[pick(random, s->values.size())];
  const ArenaValue& other = s->values[pick(random, s->values.size())];
  const int64_t offset = random() % 2 != 0 ? other.offset : v.offset + 4;
  if (offset == v.offset) return false;
  const Dim delta(offset - v.offset);
  // Operands of other values at the same offset, too: which are whose does not matter here.
  for (uint32_t step = v.first; step <= v.last; ++step) {
    for (Operand& o : s->thunks[step].operands) {
      if (o.space == Space::kArena && o.block == v.block && o.offset == Dim(v.offset)) {
        o.offset += delta;
      }
    }
  }
  v.offset = offset;
  return true;
}

bool drop_barrier(Schedule* s, std::mt19937_64& random, bool*) {
  std::vector<size_t> barriers;
  for (size_t i = 0; i < s->barrier_before.size(); ++i) {
    if (s->barrier_before[i] != 0) barriers.push_back(i);
  }
  if (barriers.empty()) return false;
  s->barrier_before[barriers[pick(random, barriers.size())]] = 0;
  return true;
}

void swap_steps(Schedule* s, size_t i, size_t j) {
  std::swap(s->thunks[i], s->thunks[j]);
  std::swap(s->original[i], s->original[j]);
}
bool swap_neighbours(Schedule* s, std::mt19937_64& random, bool*) {
  if (s->thunks.size() < 2) return false;
  const size_t i = pick(random, s->thunks.size() - 1);
  swap_steps(s, i, i + 1);
  return true;
}
bool swap_any(Schedule* s, std::mt19937_64& random, bool*) {
  const size_t i = pick(random, s->thunks.size());
  const size_t j = pick(random, s->thunks.size());
  if (i == j) return false;
  swap_steps(s, i, j);
  return true;
}

bool shrink_lifetime(Schedule* s, std::mt19937_64& random, bool* untrue) {
  if (s->values.empty()) return false;
  ArenaValue& v = s->values[pick(random, s->values.size())];
  if (v.first == v.last) return false;
  if (random() % 2 != 0) {
    ++v.first;
  } else {
    --v.last;
  }
  *untrue = true;
  return true;
}

bool shrink_arena(Schedule* s, std::mt19937_64& random, bool* untrue) {
  if (s->arena_blocks.empty()) return false;
  s->arena_blocks[pick(random, s->arena_blocks.size())] -= 4;
  *untrue = true;  // it was no larger than what it holds
  return true;
}

bool forget_a_thunk(Schedule* s, std::mt19937_64& random, bool* untrue) {
  const auto i = static_cast<std::ptrdiff_t>(pick(random, s->thunks.size()));
  s->thunks.erase(s->thunks.begin() + i);
  s->original.erase(s->original.begin() + i);
  s->barrier_before.erase(s->barrier_before.begin() + i);
  *untrue = true;
  return true;
}

bool repeat_a_thunk(Schedule* s, std::mt19937_64& random, bool* untrue) {
  const size_t i = pick(random, s->thunks.size());
  const size_t j = pick(random, s->thunks.size());
  if (i == j) return false;
  s->thunks[i] = s->thunks[j];
  s->original[i] = s->original[j];
  *untrue = true;
  return true;
}

bool change_params(Schedule* s, std::mt19937_64& random, bool* untrue) {
  Thunk& t = s->thunks[pick(random, s->thunks.size())];
  if (t.params.empty()) return false;
  t.params[pick(random, t.params.size())] ^= std::byte{1};
  *untrue = true;
  return true;
}

bool change_access(Schedule* s, std::mt19937_64& random, bool* untrue) {
  Thunk& t = s->thunks[pick(random, s->thunks.size())];
  if (t.operands.empty()) return false;
  Operand& o = t.operands[pick(random, t.operands.size())];
  o.access = o.access == Access::kRead ? Access::kReadWrite : Access::kRead;
  *untrue = true;
  return true;
}

bool name_another_block(Schedule* s, std::mt19937_64& random, bool* untrue) {
  Thunk& t = s->thunks[pick(random, s->thunks.size())];
  if (t.operands.empty()) return false;
  Operand& o = t.operands[pick(random, t.operands.size())];
  if (o.space == Space::kArena) return false;  // may be a value of no bytes
  ++o.block;
  *untrue = true;
  return true;
}

// Makes first and last of every value what the steps say.
void update_lifetimes(const LoweredGraph& lowered, Schedule* s) {
  for (ArenaValue& v : s->values) {
    v.first = static_cast<uint32_t>(s->thunks.size());
    v.last = 0;
    for (uint32_t step = 0; step < s->thunks.size(); ++step) {
      for (const Operand& o : lowered.thunks[s->original[step]].operands) {
        if (o.block != v.buffer) continue;
        v.first = std::min(v.first, step);
        v.last = std::max(v.last, step);
      }
    }
  }
}

constexpr Mutation kMutations[] = {
    {"shift an operand", shift_operand},
    {"move a value", move_value},
    {"drop a barrier", drop_barrier},
    {"swap neighbours", swap_neighbours},
    {"swap any two", swap_any},
    {"swap neighbours, true table", swap_neighbours, true},
    {"swap any two, true table", swap_any, true},
    {"shrink a lifetime", shrink_lifetime},
    {"shrink the arena", shrink_arena},
    {"forget a thunk", forget_a_thunk},
    {"repeat a thunk", repeat_a_thunk},
    {"change params", change_params},
    {"change access", change_access},
    {"name another block", name_another_block},
};

// A mutation matters if some run with it differs from program order. All that matter are caught.
TEST(Validator, CatchesEveryMutationThatMatters) {
  struct Count {
    int applied = 0;
    int matter = 0;
    int caught = 0;   // of those that matter
    int refused = 0;  // of all
  };
  std::map<std::string, Count> counts;
  for (int seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const RandomGraph g = random_graph(random);
    const Target target = small_target(4);
    PlanOptions options;
    options.validate = false;
    options.arena_budget_s = 0.002;
    const auto planned = plan_schedule(g.lowered, target, g.extents, options);
    ASSERT_TRUE(planned.ok()) << planned.error().to_string();
    ExtentValues extents;
    for (const Extent& e : g.extents) extents.push_back(e.max);
    testing::Defined defined;
    const testing::Trace meant = testing::run_graph(g.lowered, extents, &defined);
    for (const Mutation& m : kMutations) {
      Schedule s = *planned;
      bool matters = false;
      if (s.thunks.empty() || !m.apply(&s, random, &matters)) continue;
      if (m.true_table) update_lifetimes(g.lowered, &s);
      if (!matters) {
        for (uint64_t run = 0; run < 8 && !matters; ++run) {
          matters = testing::run_schedule(g.lowered, s, extents, defined, run) != meant;
        }
      }
      const auto valid = validate_schedule(g.lowered, s, target, extents);
      Count& c = counts[m.name];
      ++c.applied;
      c.matter += matters;
      c.refused += !valid.ok();
      if (!matters) continue;
      c.caught += !valid.ok();
      EXPECT_FALSE(valid.ok()) << m.name << ", seed " << seed << "\n" << to_string(s);
    }
  }
  for (const auto& [name, c] : counts) {
    std::cout << name << ": " << c.applied << " applied, " << c.matter << " matter, " << c.caught
              << " of those caught; " << c.refused << " refused in all\n";
    EXPECT_EQ(c.caught, c.matter) << name;
    EXPECT_GT(c.matter, 100) << name;
  }
}

TEST(Validator, NamesThunkOperandAndBytes) {
  LoweredGraph g;
  g.buffers = {{Space::kInput, 0, 8, "x"}, {Space::kValue, 0, 8, "a"}, {Space::kOutput, 0, 8, "y"}};
  g.thunks = {testing::thunk("first", {testing::at(0, Access::kRead, 0, 8),
                                       testing::at(1, Access::kWrite, 0, 8)}),
              testing::thunk("second", {testing::at(1, Access::kRead, 0, 8),
                                        testing::at(2, Access::kWrite, 0, 8)})};
  auto s = plan_schedule(g, small_target(4), {});
  ASSERT_TRUE(s.ok());
  s->barrier_before[1] = 0;
  const auto valid = validate_schedule(g, *s, small_target(4));
  ASSERT_FALSE(valid.ok());
  EXPECT_EQ(valid.error().kind, ErrorKind::kInternal);
  EXPECT_EQ(valid.error().message,
            "schedule: step 1 `second` (test__kernel), operand 0, arena 0 bytes [0, 8): no barrier "
            "between it and step 0 `first` (test__kernel)");
}

TEST(Validator, RefusesExtentsAboveTheBucket) {
  LoweredGraph g;
  const Schedule s = *plan_schedule(g, small_target(4), std::vector<Extent>{{"tokens", 8}});
  EXPECT_TRUE(validate_schedule(g, s, small_target(4), ExtentValues{8}).ok());
  EXPECT_FALSE(validate_schedule(g, s, small_target(4), ExtentValues{9}).ok());
  EXPECT_FALSE(validate_schedule(g, s, small_target(4), ExtentValues{}).ok());
}

// A graph that reads a part that nothing wrote is wrong, even though its buffer was written.
TEST(Validator, FindsBytesThatNothingWrote) {
  LoweredGraph g;
  g.buffers = {{Space::kInput, 0, 8, "x"}, {Space::kValue, 0, 8, "a"}, {Space::kOutput, 0, 8, "y"}};
  g.thunks = {testing::thunk("first", {testing::at(0, Access::kRead, 0, 4),
                                       testing::at(1, Access::kWrite, 0, 4)}),
              testing::thunk("second", {testing::at(1, Access::kRead, 0, 8),
                                        testing::at(2, Access::kWrite, 0, 8)})};
  PlanOptions options;
  options.validate = false;
  const auto s = plan_schedule(g, small_target(4), {}, options);
  ASSERT_TRUE(s.ok());
  const auto valid = validate_schedule(g, *s, small_target(4));
  ASSERT_FALSE(valid.ok());
  EXPECT_NE(valid.error().message.find("bytes [4, 8) of `a`"), std::string::npos)
      << valid.error().message;
}

// The map of origins against one entry a byte.
TEST(OriginMap, AgreesWithOneEntryAByte) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    constexpr int64_t kBytes = 40;
    OriginMap map(Origin{Origin::kBefore, 7, 0});
    std::vector<Origin> bytes(kBytes, Origin{Origin::kBefore, 7, 0});
    for (int i = 0; i < 40; ++i) {
      int64_t low = static_cast<int64_t>(random() % (kBytes + 1));
      int64_t high = static_cast<int64_t>(random() % (kBytes + 1));
      if (low > high) std::swap(low, high);
      if (random() % 2 != 0) {
        const Origin o{static_cast<int32_t>(random() % 5), 0, low};
        map.write(low, high, o);
        std::fill(bytes.begin() + low, bytes.begin() + high, o);
        continue;
      }
      std::vector<OriginRun> runs;
      map.read(low, high, &runs);
      int64_t at = 0;
      for (size_t r = 0; r < runs.size(); ++r) {
        ASSERT_EQ(runs[r].low, at);
        ASSERT_LT(runs[r].low, runs[r].high);
        for (; at < runs[r].high; ++at) {
          Origin o = bytes[static_cast<size_t>(low + at)];
          o.start -= low;
          ASSERT_EQ(o, runs[r].origin);
        }
        ASSERT_TRUE(r == 0 || !(runs[r].origin == runs[r - 1].origin));
      }
      ASSERT_EQ(at, high - low);
    }
  }
}

}  // namespace
}  // namespace bessemer
