#include "ops/region.h"

#include <gtest/gtest.h>

#include "ops/op_impl.h"

namespace bessemer::ops {
namespace {

const std::vector<DType> kTwoFloats = {DType::kF32, DType::kF32};

TEST(RegionProgram, PrintsAndParsesBack) {
  RegionProgram p;
  p.inputs = {DType::kF32, DType::kF32, DType::kF16, DType::kBool};
  const int sources[] = {0, 1};
  EXPECT_EQ(*p.append(Op::k_multiply, sources), 4);
  const int one[] = {4};
  EXPECT_EQ(*p.append(Op::k_silu, one), 5);
  EXPECT_EQ(*p.append_cast(DType::kF16, 5), 6);
  const int three[] = {3, 6, 2};
  EXPECT_EQ(*p.append(Op::k_where, three), 7);
  p.outputs = {5, 7};
  ASSERT_TRUE(p.check().ok());
  EXPECT_EQ(p.to_string(), "multiply 0 1; silu 4; cast:f16 5; where 3 6 2");
  EXPECT_EQ(p.dtype_of(7), DType::kF16);
  const std::vector<int64_t> outputs = {5, 7};
  const auto parsed = RegionProgram::parse(p.to_string(), p.inputs, outputs);
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
  EXPECT_EQ(*parsed, p);
}

TEST(RegionProgram, RefusesWhatIsNotOne) {
  struct Bad {
    const char* text;
    std::vector<int64_t> outputs;
    ErrorKind kind;
  };
  const Bad bad[] = {
      {"add 0 2", {2}, ErrorKind::kParse},   // not known before
      {"add 0 -1", {2}, ErrorKind::kParse},  //
      {"add 0 1x", {2}, ErrorKind::kParse},  //
      {"add 0 99999999999999999999", {2}, ErrorKind::kParse},
      {"add 0", {2}, ErrorKind::kInvalidArgument},       // arity
      {"matmul 0 1", {2}, ErrorKind::kParse},            // not elementwise
      {"nonsense 0", {2}, ErrorKind::kParse},            //
      {"add:f16 0 1", {2}, ErrorKind::kParse},           // only casts carry a dtype
      {"cast 0", {2}, ErrorKind::kParse},                //
      {"cast:q4_0 0", {2}, ErrorKind::kDtype},           //
      {"cast:f16 0; add 2 1", {3}, ErrorKind::kDtype},   // no promotion
      {"bitwise_and 0 1", {2}, ErrorKind::kDtype},       //
      {"add 0 1;;add 0 1", {2}, ErrorKind::kParse},      //
      {"add 0 1", {0}, ErrorKind::kInvalidArgument},     // an input
      {"add 0 1", {3}, ErrorKind::kParse},               //
      {"add 0 1", {}, ErrorKind::kInvalidArgument},      //
      {"add 0 1", {2, 2}, ErrorKind::kInvalidArgument},  //
  };
  for (const Bad& b : bad) {
    const auto r = RegionProgram::parse(b.text, kTwoFloats, b.outputs);
    ASSERT_FALSE(r.ok()) << b.text;
    EXPECT_EQ(r.error().kind, b.kind) << b.text << ": " << r.error().to_string();
  }
}

TEST(RegionProgram, RefusesMoreThanTheKernelTakes) {
  RegionProgram p;
  p.inputs.assign(2, DType::kF32);
  const int sources[] = {0, 1};
  for (int i = 0; i < 33; ++i) ASSERT_TRUE(p.append(Op::k_add, sources).ok());
  p.outputs = {2};
  EXPECT_EQ(p.check().error().kind, ErrorKind::kUnsupported);
  p.instrs.pop_back();
  EXPECT_TRUE(p.check().ok());
  p.outputs = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(p.check().error().kind, ErrorKind::kUnsupported);
}

TEST(RegionNode, TakesItsTypesFromTheProgram) {
  Graph g;
  const ExtentId t = *g.add_extent("t", 9);
  const Value x = *add_leaf(g, Op::k_input, "x", {DType::kF32, {Dim::extent(t), 8}});
  const Value y = *add_leaf(g, Op::k_input, "y", {DType::kF32, {8}});
  const auto r = add_node(g, Op::k_region, {x, y},
                          {{"program", std::string("add 0 1; less 0 1; cast:bf16 2")},
                           {"outputs", std::vector<int64_t>{3, 4}}});
  ASSERT_TRUE(r.ok()) << r.error().to_string();
  const Node& node = g.node(*r);
  ASSERT_EQ(node.results.size(), 2u);
  EXPECT_EQ(node.results[0], (Type{DType::kBool, {Dim::extent(t), 8}}));
  EXPECT_EQ(node.results[1], (Type{DType::kBF16, {Dim::extent(t), 8}}));
  EXPECT_TRUE(verify(g).ok());
  EXPECT_TRUE(identical(*parse_graph(to_string(g)), g));
}

}  // namespace
}  // namespace bessemer::ops
