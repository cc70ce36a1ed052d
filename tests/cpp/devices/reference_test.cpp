// Constant folding gives the bits of the kernels: random ops over random data, both ways.
#include "ops/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/op_impl.h"
#include "run_graph.h"

namespace bessemer {
namespace {

using testing::Bytes;
using testing::run_graph;

const DType kDtypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,
                         DType::kI8,  DType::kU8,  DType::kI16,  DType::kI32,
                         DType::kI64, DType::kU32, DType::kBool};

bool nan_at(DType d, const std::byte* p) {
  uint64_t bits = 0;
  std::memcpy(&bits, p, static_cast<size_t>(bytes_of(d, 1)));
  switch (d) {
    case DType::kF32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case DType::kF16:
      return (bits & 0x7fff) > 0x7c00;
    case DType::kBF16:
      return (bits & 0x7fff) > 0x7f80;
    case DType::kF64:
      return (bits & INT64_MAX) > 0x7ff0000000000000;
    default:
      return false;
  }
}

int checked = 0;

void check(Op op, const std::vector<Type>& types, const Attrs& attrs, uint32_t seed) {
  Graph g;
  std::mt19937 rng(seed);
  std::vector<Value> operands;
  std::map<std::string, Bytes> leaves;
  std::vector<std::span<const std::byte>> data;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    operands.push_back(*ops::add_leaf(g, Op::k_input, name, types[i]));
    Bytes& bytes = leaves[name];
    bytes.resize(
        static_cast<size_t>(bytes_of(types[i].dtype, num_elements(types[i].shape).constant())));
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(types[i].dtype == DType::kBool ? rng() & 1 : rng());
    if (types[i].dtype == DType::kF32 && rng() % 2 == 0) {
      for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        const float v = static_cast<float>(static_cast<int32_t>(rng())) * 3e-9f;
        std::memcpy(bytes.data() + at, &v, 4);
      }
    }
  }
  for (size_t i = 0; i < types.size(); ++i) data.emplace_back(leaves["x" + std::to_string(i)]);
  const auto v = ops::add_node(g, op, operands, attrs);
  if (!v.ok()) return;  // not for these dtypes
  ASSERT_TRUE(g.add_output("y", *v).ok());
  ASSERT_TRUE(ops::can_evaluate(g, g.node(*v)));
  const auto folded = ops::evaluate(g, g.node(*v), data);
  ASSERT_TRUE(folded.ok()) << folded.error().to_string();
  const auto run = run_graph(g, leaves);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  const Bytes& out = run->outputs.at("y");
  ASSERT_EQ(out.size(), folded->size());
  const DType d = g.type(*v).dtype;
  const int64_t bytes = bytes_of(d, 1);
  for (int64_t e = 0; e < static_cast<int64_t>(out.size()); e += bytes) {
    const bool same =
        std::memcmp(out.data() + e, folded->data() + e, static_cast<size_t>(bytes)) == 0;
    ASSERT_TRUE(same || (nan_at(d, out.data() + e) && nan_at(d, folded->data() + e)))
        << to_string(g) << " element " << e / bytes;
  }
  ++checked;
}

TEST(Reference, GivesTheBitsOfTheKernels) {
  uint32_t seed = 0;
  for (int i = 0; i < op_count(); ++i) {
    const Op op = static_cast<Op>(i);
    if (!is_elementwise(op)) continue;
    for (const DType d : kDtypes) {
      const bool select = info(op).rule == TypeRule::kSelect;
      const Type a{select ? DType::kBool : d, {5, 1, 40}};
      const Type b{d, {13, 40}};
      const Type c{d, {}};
      const Type all[] = {a, b, c};
      check(op, std::vector<Type>(all, all + info(op).min_operands), {}, ++seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(checked, 200);
  for (const DType from : kDtypes) {
    for (const DType to : kDtypes) {
      check(Op::k_cast, {{from, {777}}}, {{"dtype", to}}, ++seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
    const std::vector<int64_t> ints = {2, 0, 1};
    const Type x{from, {3, 4, 5}};
    check(Op::k_reshape, {x}, {{"shape", Shape{-1, 10}}}, ++seed);
    check(Op::k_transpose, {x}, {{"perm", ints}}, ++seed);
    check(Op::k_expand, {{from, {4, 1}}}, {{"shape", Shape{2, 4, 3}}}, ++seed);
    check(Op::k_reverse, {x}, {{"axes", std::vector<int64_t>{0, -1}}}, ++seed);
    check(Op::k_tile, {x}, {{"repeats", std::vector<int64_t>{2, 1, 1, 3}}}, ++seed);
    check(Op::k_slice, {x},
          {{"start", Shape{2, 0, 4}},
           {"stop", Shape{-1, 4, 0}},
           {"step", std::vector<int64_t>{-1, 2, -3}}},
          ++seed);
    check(Op::k_concat, {x, {from, {3, 0, 5}}, {from, {3, 2, 5}}}, {{"axis", int64_t{1}}}, ++seed);
    check(Op::k_pad, {x}, {{"before", Shape{1, 0, 2}}, {"after", Shape{0, 3, 0}}, {"value", 1.0}},
          ++seed);
    check(Op::k_tril, {x}, {{"k", int64_t{1}}}, ++seed);
    check(Op::k_triu, {x}, {{"k", int64_t{-1}}}, ++seed);
    if (from != DType::kBool) {
      check(Op::k_iota, {}, {{"shape", Shape{3, 20}}, {"axis", int64_t{1}}, {"dtype", from}},
            ++seed);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Reference, RefusesWhatItDoesNotTake) {
  Graph g;
  const Dim t = Dim::extent(*g.add_extent("t", 4));
  const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {t}});
  const Value y = *ops::add_leaf(g, Op::k_input, "y", {DType::kF32, {2, 2}});
  const Value a = *ops::add_node(g, Op::k_exp, {x});
  const Value b = *ops::add_node(g, Op::k_exp, {y});
  EXPECT_FALSE(ops::can_evaluate(g, g.node(a)));
  const Bytes wrong(15);
  const std::span<const std::byte> data[] = {wrong};
  EXPECT_EQ(ops::evaluate(g, g.node(a), data).error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(ops::evaluate(g, g.node(b), data).error().kind, ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace bessemer
