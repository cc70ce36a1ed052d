// A region gives the bits of its ops one by one: random programs, both ways.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernel_abi/elementwise_params.h"
#include "ops/region.h"
#include "run_graph.h"

namespace bessemer {
namespace {

using testing::Bytes;
using testing::from_bytes;
using testing::run_graph;
using testing::RunOptions;
using testing::to_bytes;

const DType kDtypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI32,
                         DType::kU8,  DType::kI64, DType::kBool};

struct Program {
  Graph fused{"fused"};
  Graph plain{"plain"};
  std::map<std::string, Bytes> leaves;
  size_t outputs = 0;
};

// Inputs [t, 1, 7], [5, 1], [7], [t, 5, 7] and scalars.
Program random_program(uint32_t seed, const ExtentValues& extents) {
  std::mt19937 rng(seed);
  Program result;
  const Dim t = Dim::extent(*result.fused.add_extent("t", 40));
  (void)*result.plain.add_extent("t", 40);
  const Shape shapes[] = {{t, 1, 7}, {5, 1}, {7}, {t, 5, 7}, {}};
  ops::RegionProgram program;
  std::vector<Value> fused_inputs;
  std::vector<Value> values;  // in the plain graph
  const size_t inputs = 2 + rng() % 6;
  for (size_t i = 0; i < inputs; ++i) {
    const DType d = kDtypes[rng() % std::size(kDtypes)];
    const Shape& shape = i == 0 ? shapes[3] : shapes[rng() % std::size(shapes)];
    const std::string name = "x" + std::to_string(i);
    program.inputs.push_back(d);
    fused_inputs.push_back(*ops::add_leaf(result.fused, Op::k_input, name, {d, shape}));
    values.push_back(*ops::add_leaf(result.plain, Op::k_input, name, {d, shape}));
    Bytes data(static_cast<size_t>(bytes_of(d, num_elements(shape).evaluate(extents))));
    for (std::byte& b : data) b = static_cast<std::byte>(d == DType::kBool ? rng() % 2 : rng());
    result.leaves[name] = std::move(data);
  }
  const size_t instrs = 1 + rng() % 24;
  while (program.instrs.size() < instrs) {
    const auto any = [&] { return static_cast<int>(rng() % static_cast<uint32_t>(values.size())); };
    if (rng() % 4 == 0) {
      const DType to = kDtypes[rng() % std::size(kDtypes)];
      const int from = any();
      if (!program.append_cast(to, from).ok()) continue;
      values.push_back(*ops::add_node(result.plain, Op::k_cast, {values[static_cast<size_t>(from)]},
                                      {{"dtype", to}}));
      continue;
    }
    const Op op = static_cast<Op>(rng() % static_cast<uint32_t>(op_count()));
    if (!is_elementwise(op)) continue;
    int sources[3] = {any(), any(), any()};
    const std::span<const int> used(sources, static_cast<size_t>(info(op).min_operands));
    if (!program.append(op, used).ok()) continue;
    std::vector<Value> operands;
    for (const int s : used) operands.push_back(values[static_cast<size_t>(s)]);
    values.push_back(*ops::add_node(result.plain, op, operands));
  }
  // Up to 8 results; the last always.
  for (int v = program.value_count() - 1; v >= static_cast<int>(inputs); --v) {
    if (program.outputs.size() < 8 && (program.outputs.empty() || rng() % 3 == 0)) {
      program.outputs.push_back(v);
    }
  }
  const Value region = *ops::add_node(result.fused, Op::k_region, fused_inputs, program.attrs());
  const Shape full = shapes[3];
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const std::string name = "y" + std::to_string(o);
    (void)result.fused.add_output(name, {region.node, static_cast<uint32_t>(o)}).ok();
    const Value v =
        *ops::add_node(result.plain, Op::k_expand,
                       {values[static_cast<size_t>(program.outputs[o])]}, {{"shape", full}});
    (void)result.plain.add_output(name, v).ok();
  }
  result.outputs = program.outputs.size();
  return result;
}

// NaNs of either way may differ in payload only where the hardware says so: compared as NaN.
void expect_same_bits(const Bytes& a, const Bytes& b, DType d, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  const auto is_nan = [&](const Bytes& x, size_t i) {
    if (d == DType::kF32) return std::isnan(from_bytes<float>(x)[i]);
    const uint16_t h = from_bytes<uint16_t>(x)[i];
    return d == DType::kF16 ? (h & 0x7fff) > 0x7c00 : (h & 0x7fff) > 0x7f80;
  };
  if (a == b) return;
  const auto step = static_cast<size_t>(info(d).block_bytes);
  for (size_t i = 0; i * step < a.size(); ++i) {
    const bool same = std::memcmp(a.data() + i * step, b.data() + i * step, step) == 0;
    ASSERT_TRUE(same || (is_float(d) && is_nan(a, i) && is_nan(b, i))) << what << " element " << i;
  }
}

TEST(Region, GivesTheBitsOfItsOpsOneByOne) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const ExtentValues extents = {static_cast<int64_t>(seed % 5 == 0 ? 40 : seed % 40)};
    Program p = random_program(seed, extents);
    for (const cpu::Isa isa : {cpu::Isa::kGeneric, cpu::detect_isa()}) {
      RunOptions options;
      options.isa = isa;
      options.extents = extents;
      const auto plain = run_graph(p.plain, p.leaves, options);
      ASSERT_TRUE(plain.ok()) << seed << ": " << plain.error().to_string();
      const auto fused = run_graph(p.fused, p.leaves, options);
      ASSERT_TRUE(fused.ok()) << seed << ": " << fused.error().to_string();
      EXPECT_EQ(fused->lowered.thunks.size(), 1u);
      for (size_t o = 0; o < p.outputs; ++o) {
        const std::string name = "y" + std::to_string(o);
        const DType d = p.fused.type(p.fused.outputs()[o].value).dtype;
        expect_same_bits(plain->outputs.at(name), fused->outputs.at(name), d,
                         "seed " + std::to_string(seed) + " " + name + "\n" + to_string(p.fused));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Every in-place hint holds: outputs in the storage of the inputs that they name.
TEST(Region, MayRunInPlace) {
  struct Case {
    const char* program;
    std::vector<DType> inputs;
    std::vector<int64_t> outputs;
  };
  const Case cases[] = {
      {"add 0 1", {DType::kF32, DType::kF32}, {2}},
      {"exp 0; multiply 2 1; add 3 0", {DType::kF32, DType::kF32}, {4}},
      // The first result is in place of x, which a later instruction still reads.
      {"exp 0; add 1 0", {DType::kF32}, {1, 2}},
      {"exp 0; subtract 0 1", {DType::kF32, DType::kF32}, {2, 3}},
      {"multiply 0 1; cast:f16 2", {DType::kF16, DType::kF16}, {2}},
      {"cast:f32 0; square 1", {DType::kI32}, {2}},
      {"cast:i32 0", {DType::kF32}, {1}},
      {"cast:u32 0", {DType::kI32}, {1}},
      {"negative 0; add 2 1", {DType::kI64, DType::kI64}, {2, 3}},
      {"logical_not 0", {DType::kBool}, {1}},
  };
  for (const Case& c : cases) {
    Graph g;
    std::vector<Value> operands;
    std::map<std::string, Bytes> leaves;
    const int64_t n = 1301;
    std::mt19937 rng(1);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      operands.push_back(*ops::add_leaf(g, Op::k_input, name, {c.inputs[i], {n}}));
      Bytes data(static_cast<size_t>(bytes_of(c.inputs[i], n)));
      for (std::byte& b : data) b = static_cast<std::byte>(rng() & 1);
      leaves[name] = std::move(data);
    }
    const Value v = *ops::add_node(g, Op::k_region, operands,
                                   {{"program", std::string(c.program)}, {"outputs", c.outputs}});
    for (uint32_t o = 0; o < c.outputs.size(); ++o) {
      ASSERT_TRUE(g.add_output("y" + std::to_string(o), {v.node, o}).ok());
    }
    const auto apart = run_graph(g, leaves);
    ASSERT_TRUE(apart.ok()) << apart.error().to_string();
    const Thunk& thunk = apart->lowered.thunks.at(0);
    ASSERT_FALSE(thunk.in_place.empty()) << c.program;
    ThreadPool pool(2);
    for (const int threads : {1, 2}) {
      // Each hint alone, and all that fit together.
      for (size_t h = 0; h <= thunk.in_place.size(); ++h) {
        std::vector<Bytes> memory;
        for (size_t i = 0; i < c.inputs.size(); ++i) {
          memory.push_back(leaves["x" + std::to_string(i)]);
        }
        for (size_t o = 0; o < c.outputs.size(); ++o) {
          memory.emplace_back(apart->outputs.at("y" + std::to_string(o)).size());
        }
        std::vector<std::byte*> at;
        for (Bytes& m : memory) at.push_back(m.data());
        std::vector<bool> taken(c.inputs.size(), false);
        for (size_t k = 0; k < thunk.in_place.size(); ++k) {
          const InPlace& hint = thunk.in_place[k];
          const bool moved = at[hint.out] != memory[hint.out].data();
          if ((h == k || h == thunk.in_place.size()) && !taken[hint.in] && !moved) {
            at[hint.out] = at[hint.in];
            taken[hint.in] = true;
          }
        }
        const cpu::KernelCall call{thunk.params.data(), at.data(), pool, threads,
                                   cpu::detect_isa()};
        cpu::find_kernel(thunk.kernel)(call);
        for (size_t o = 0; o < c.outputs.size(); ++o) {
          const Bytes& want = apart->outputs.at("y" + std::to_string(o));
          EXPECT_EQ(std::memcmp(at[c.inputs.size() + o], want.data(), want.size()), 0)
              << c.program << " output " << o << " hint " << h;
        }
      }
    }
  }
}

}  // namespace
}  // namespace bessemer
