#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "kernel_abi/attention_params.h"
#include "kernel_abi/gather_params.h"
#include "plan/cost_model.h"
#include "thunk/thunk.h"

namespace bessemer {
namespace {

template <class P>
void set_params(Thunk& thunk, const P& p) {
  thunk.params.resize(sizeof(P));
  std::memcpy(thunk.params.data(), &p, sizeof(P));
}

Operand operand(Access access, int64_t bytes) {
  return {Space::kArena, access, 0, Dim(0), Dim(bytes)};
}

TEST(Traffic, EmbeddingCountsTheRowsItReadsNotTheTable) {
  Thunk thunk;
  thunk.kernel = "embedding";
  abi::EmbeddingParams p{};
  p.rows = 1000;
  p.width = 64;
  p.ids = 3;
  p.table_dtype = static_cast<uint32_t>(DType::kF16);
  set_params(thunk, p);
  thunk.operands = {operand(Access::kRead, 1000 * 64 * 2), operand(Access::kRead, 3 * 4),
                    operand(Access::kWrite, 3 * 64 * 4)};
  const Traffic t = traffic(thunk, {});
  EXPECT_EQ(t.read, 3 * 64 * 2 + 3 * 4);
  EXPECT_EQ(t.written, 3 * 64 * 4);
}

Thunk attention(int64_t tokens, int64_t window) {
  Thunk thunk;
  thunk.kernel = "attention__f32_f16__state";
  abi::AttentionParams p{};
  p.tokens = tokens;
  p.heads = 4;
  p.kv_heads = 2;
  p.head_dim = 16;
  p.v_head_dim = 8;
  p.keys = 1024;
  p.sequences = 1;
  p.window = window;
  p.k_dtype = p.v_dtype = static_cast<uint32_t>(DType::kF16);
  set_params(thunk, p);
  thunk.operands = {
      operand(Access::kRead, tokens * 4 * 16 * 4), operand(Access::kRead, 1024 * 2 * 16 * 2),
      operand(Access::kRead, 1024 * 2 * 8 * 2), operand(Access::kWrite, tokens * 4 * 8 * 4)};
  thunk.flops = 2 * tokens * 4 * (16 + 8) * 1024;
  return thunk;
}

TEST(Traffic, AttentionCountsTheContextThatIsThere) {
  const Thunk thunk = attention(1, 0);
  const int64_t q = 4 * 16 * 4;
  EXPECT_EQ(traffic(thunk, {}).read, q + 1024 * 2 * (16 + 8) * 2);
  EXPECT_EQ(traffic(thunk, {}, 100).read, q + 100 * 2 * (16 + 8) * 2);
  EXPECT_EQ(traffic(thunk, {}, 5000).read, traffic(thunk, {}).read);
  EXPECT_EQ(flops_at(thunk, {}), thunk.flops.constant());
  EXPECT_EQ(flops_at(thunk, {}, 100), 2 * 4 * (16 + 8) * 100);
}

TEST(Traffic, AWindowBoundsTheKeys) {
  const Thunk thunk = attention(3, 10);
  EXPECT_EQ(traffic(thunk, {}, 100).read, 3 * 4 * 16 * 4 + 12 * 2 * (16 + 8) * 2);
}

TEST(CostModel, AddsWhatEachGroupIsBoundBy) {
  Thunk streams;
  streams.kernel = "copy_bytes";
  streams.operands = {operand(Access::kRead, 1 << 20), operand(Access::kWrite, 1 << 20)};
  Thunk computes = streams;
  computes.flops = int64_t{1} << 40;
  Schedule s;
  s.thunks = {streams, streams, computes};
  s.barrier_before = {0, 0, 1};
  const AppleChip chip{"test", 7, 10, 1, 100e9, 1e9};
  CostModel model;
  const ModelledTime t = model_time(s, {}, kWholeContext, chip, model);
  EXPECT_EQ(t.dispatches, 3);
  EXPECT_EQ(t.barriers, 1);
  EXPECT_EQ(t.bytes, 3 << 21);
  const double two = (2 << 21) / (100e9 * model.streaming_share);
  EXPECT_DOUBLE_EQ(t.memory_seconds, two);
  EXPECT_DOUBLE_EQ(t.compute_seconds, std::pow(2.0, 40) / (chip.flops() * model.compute_share));
  EXPECT_DOUBLE_EQ(t.seconds, t.memory_seconds + t.compute_seconds + t.fixed_seconds);
}

TEST(CostModel, AnEmptyScheduleTakesNoTime) {
  const ModelledTime t =
      model_time(Schedule{}, {}, kWholeContext, *find_apple_chip("m1"), CostModel{});
  EXPECT_EQ(t.seconds, 0);
}

}  // namespace
}  // namespace bessemer
