#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "attention_case.h"

namespace bessemer::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<int32_t> run_of(int32_t first, size_t n) {
  std::vector<int32_t> v(n);
  // Not std::iota, which steps past the last value and may overflow.
  for (size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<int32_t>(i);
  return v;
}

// Tokens [pos, pos + n) of sequence s are added.
void add_tokens(AttentionCase& c, int32_t s, int32_t pos, size_t n) {
  c.seq.insert(c.seq.end(), n, s);
  const std::vector<int32_t> more = run_of(pos, n);
  c.pos.insert(c.pos.end(), more.begin(), more.end());
}

// The answer on every variant and with several threads; all thread counts give the same bits.
void check(const AttentionCase& c) {
  for (cpu::Isa isa : isas()) {
    const Bytes one = c.run(isa, 1);
    const auto difference = compare(c, one);
    EXPECT_FALSE(difference) << to_string(isa) << ": " << difference.value_or("");
    for (int threads : {2, 3, 8}) {
      EXPECT_EQ(one, c.run(isa, threads)) << to_string(isa) << ", " << threads << " threads";
    }
  }
}

// A token's bits do not depend on the other tokens of its run.
void check_batch_invariance(const AttentionCase& c, uint32_t seed) {
  std::mt19937 random(seed);
  for (cpu::Isa isa : isas()) {
    const Bytes whole = c.run(isa, 2);
    const size_t row = whole.size() / static_cast<size_t>(c.tokens());
    for (int round = 0; round < 6; ++round) {
      std::vector<size_t> which;
      if (round == 0) {
        which = {static_cast<size_t>(c.tokens()) - 1};
      } else if (round == 1) {
        which = {0};
      } else {
        for (size_t t = 0; t < static_cast<size_t>(c.tokens()); ++t) {
          if (random() % static_cast<unsigned>(round) == 0) which.push_back(t);
        }
        if (round % 2 == 1) std::reverse(which.begin(), which.end());
      }
      if (which.empty()) continue;
      const Bytes part = c.with_tokens(which).run(isa, 1 + round % 3);
      ASSERT_EQ(part.size(), row * which.size());
      for (size_t i = 0; i < which.size(); ++i) {
        EXPECT_EQ(std::memcmp(part.data() + i * row, whole.data() + which[i] * row, row), 0)
            << to_string(isa) << ", round " << round << ", token " << which[i];
      }
    }
  }
}

TEST(Attention, ChunksOfOneSequence) {
  for (int64_t keys : {1, 2, 15, 16, 17, 127, 128, 129, 300}) {
    AttentionCase c;
    c.keys = keys;
    const auto n = static_cast<size_t>(std::min<int64_t>(keys, 70));
    add_tokens(c, 0, static_cast<int32_t>(keys - static_cast<int64_t>(n)), n);
    c.fill(static_cast<uint32_t>(keys));
    check(c);
  }
}

TEST(Attention, OddSizesAndGroups) {
  struct Sizes {
    int64_t heads, kv_heads, head_dim, v_head_dim;
  };
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1}, Sizes{3, 3, 5, 7}, Sizes{6, 2, 17, 33}, Sizes{9, 3, 64, 64},
        Sizes{5, 1, 80, 16}, Sizes{8, 1, 20, 130}, Sizes{4, 4, 64, 12}, Sizes{13, 1, 3, 65}}) {
    AttentionCase c;
    c.heads = s.heads;
    c.kv_heads = s.kv_heads;
    c.head_dim = s.head_dim;
    c.v_head_dim = s.v_head_dim;
    c.keys = 150;
    c.sequences = 2;
    add_tokens(c, 1, 100, 40);
    add_tokens(c, 0, 3, 2);
    c.fill(7);
    check(c);
    check_batch_invariance(c, 11);
  }
}

TEST(Attention, EveryCombinationOfDtypes) {
  for (DType q : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (DType k : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (DType v : {DType::kF32, DType::kF16, DType::kBF16}) {
        AttentionCase c;
        c.heads = 3;
        c.kv_heads = 1;
        c.head_dim = 24;
        c.v_head_dim = 40;
        c.keys = 140;
        c.q_dtype = q;
        c.k_dtype = k;
        c.v_dtype = v;
        add_tokens(c, 0, 120, 20);
        add_tokens(c, 0, 139, 1);
        c.fill(3);
        check(c);
        check_batch_invariance(c, 5);
      }
    }
  }
}

TEST(Attention, RaggedDecodeOfManySequences) {
  AttentionCase c;
  c.sequences = 5;
  c.keys = 400;
  c.heads = 6;
  c.kv_heads = 2;
  for (int32_t s : {3, 0, 4, 1}) add_tokens(c, s, s * 90 + 7, 1);
  c.fill(1);
  check(c);
  check_batch_invariance(c, 2);
}

TEST(Attention, OneTokenOverManySpans) {
  AttentionCase c;
  c.keys = 1500;
  c.heads = 9;
  c.kv_heads = 3;
  c.head_dim = 64;
  c.v_head_dim = 64;
  c.k_dtype = DType::kF16;
  c.v_dtype = DType::kF16;
  for (int32_t pos : {0, 127, 128, 255, 1024, 1499}) {
    c.seq.clear();
    c.pos.clear();
    add_tokens(c, 0, pos, 1);
    c.fill(17);
    check(c);
  }
}

TEST(Attention, WindowsSoftcapScale) {
  for (bool causal : {true, false}) {
    for (int64_t window : {0, 1, 2, 50, 128, 1000}) {
      AttentionCase c;
      c.keys = 333;
      c.causal = causal;
      c.window = window;
      c.softcap = window % 4 == 2 ? 1.5 : 0;
      c.scale = window == 1 ? 0.3 : 0;
      add_tokens(c, 0, 250, 83);
      add_tokens(c, 0, 0, 2);
      c.fill(static_cast<uint32_t>(window));
      check(c);
      check_batch_invariance(c, 4);
    }
  }
}

TEST(Attention, MasksAndBiases) {
  for (int64_t bias_heads : {0, 1, 4}) {
    for (bool mask : {true, false}) {
      AttentionCase c;
      c.heads = 4;
      c.kv_heads = 2;
      c.keys = 200;
      c.sequences = 2;
      c.mask = mask;
      c.bias_heads = bias_heads;
      add_tokens(c, 1, 150, 50);
      add_tokens(c, 0, 10, 3);
      c.fill(21);
      check(c);
      check_batch_invariance(c, 8);
    }
  }
}

TEST(Attention, FlatTokensOfSeveralSequences) {
  for (bool causal : {true, false}) {
    for (int64_t window : {0, 9}) {
      for (bool mask : {true, false}) {
        AttentionCase c;
        c.sequences = 0;
        c.causal = causal;
        c.window = window;
        c.mask = mask;
        c.heads = 4;
        c.kv_heads = 2;
        add_tokens(c, 4, 0, 60);
        add_tokens(c, -1, 5, 70);
        add_tokens(c, 9, 1000000, 33);
        c.k_seq = c.seq;
        c.k_pos = c.pos;
        c.keys = c.tokens();
        c.fill(31);
        check(c);
        check_batch_invariance(c, 9);
      }
    }
  }
}

TEST(Attention, FlatKeysInAnyOrderAndExtremePositions) {
  AttentionCase c;
  c.sequences = 0;
  c.keys = 300;
  c.window = 3;
  std::mt19937 random(5);
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  for (int i = 0; i < 300; ++i) {
    c.k_seq.push_back(static_cast<int32_t>(random() % 3));
    const int32_t near = static_cast<int32_t>(random() % 6);
    c.k_pos.push_back(i % 3 == 0 ? near : i % 3 == 1 ? kMost - near : kLeast + near);
  }
  for (int32_t s = 0; s < 4; ++s) {
    for (int32_t pos : {0, 3, kMost, kMost - 2, kLeast, kLeast + 2}) add_tokens(c, s, pos, 1);
  }
  for (bool causal : {true, false}) {
    c.causal = causal;
    c.fill(6);
    check(c);
  }
}

TEST(Attention, NothingToDo) {
  AttentionCase none;
  none.fill(1);
  EXPECT_TRUE(none.run(cpu::detect_isa(), 2).empty());

  AttentionCase no_keys;  // zeros
  no_keys.sequences = 0;
  no_keys.keys = 0;
  add_tokens(no_keys, 0, 0, 5);
  no_keys.fill(1);
  check(no_keys);

  AttentionCase unseen;  // no key of that sequence
  unseen.sequences = 0;
  unseen.keys = 30;
  add_tokens(unseen, 0, 0, 20);
  unseen.k_seq.assign(30, 1);
  unseen.k_pos.assign(30, 0);
  unseen.fill(1);
  check(unseen);
}

TEST(Attention, OutOfRangeGivesZerosAndAFault) {
  AttentionCase c;
  c.sequences = 2;
  c.keys = 130;
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  add_tokens(c, 0, 100, 20);
  for (int32_t bad : {-1, 2, kMost, kLeast}) add_tokens(c, bad, 5, 1);
  for (int32_t bad : {-1, 130, kMost, kLeast}) add_tokens(c, 1, bad, 1);
  add_tokens(c, 1, 0, 15);
  c.fill(3);
  check(c);
  uint32_t fault = 0;
  (void)c.run(cpu::detect_isa(), 2, &fault);
  EXPECT_EQ(fault, cpu::kIndexOutOfRange);
  AttentionCase one = c.with_tokens({20});
  check(one);
  (void)one.run(cpu::detect_isa(), 2, &fault);
  EXPECT_EQ(fault, cpu::kIndexOutOfRange);
  (void)c.with_tokens({0, 40}).run(cpu::detect_isa(), 2, &fault);
  EXPECT_EQ(fault, cpu::kNoFault);
}

TEST(Attention, NanGoesWhereItIsSeenAndNowhereElse) {
  AttentionCase c;
  c.heads = 4;
  c.kv_heads = 2;
  c.keys = 200;
  add_tokens(c, 0, 120, 60);
  c.fill(5);
  // Key 150 of kv head 1, value 140 of kv head 0, and everything past the last token.
  c.k[static_cast<size_t>((150 * 2 + 1) * 16 + 3)] = kNan;
  c.v[static_cast<size_t>((140 * 2 + 0) * 16 + 2)] = kNan;
  for (size_t i = 180 * 2 * 16; i < c.k.size(); ++i) c.k[i] = c.v[i] = kNan;
  c.q[static_cast<size_t>((10 * 4 + 0) * 16)] = kNan;
  check(c);
  check_batch_invariance(c, 3);
}

TEST(Attention, InfinitiesAndExtremeScores) {
  AttentionCase c;
  c.bias_heads = 2;
  c.keys = 140;
  add_tokens(c, 0, 125, 15);
  c.fill(5);
  const auto bias_at = [&](int64_t head, int64_t token, int64_t key) -> double& {
    return c.bias[static_cast<size_t>((head * c.tokens() + token) * c.keys + key)];
  };
  for (int64_t j = 0; j < 140; ++j) {
    bias_at(0, 0, j) = -kInf;                               // nothing is left: zeros
    bias_at(1, 1, j) = j == 7 ? 0.0 : -kInf;                // one key
    bias_at(0, 2, j) = -std::numeric_limits<float>::max();  // uniform
    bias_at(1, 3, j) = j % 2 == 0 ? 1e30 : -1e30;
    bias_at(0, 4, j) = j < 128 ? -200.0 : 200.0;  // a span that vanishes
    bias_at(0, 5, j) = j < 128 ? 200.0 : -200.0;
  }
  bias_at(1, 6, 3) = kInf;  // infinity minus itself: NaN
  bias_at(0, 7, 3) = kNan;
  bias_at(0, 8, 139) = kNan;  // not seen
  check(c);
  check_batch_invariance(c, 3);
}

TEST(Attention, LargeScoresKeepTheirOrder) {
  AttentionCase c;
  c.keys = 300;
  c.scale = 100.0;
  add_tokens(c, 0, 200, 40);
  c.fill(12);
  for (double& x : c.q) x = std::round(x * 4) / 4;
  for (double& x : c.k) x = std::round(x * 4) / 4;
  check(c);
}

}  // namespace
}  // namespace bessemer::testing
