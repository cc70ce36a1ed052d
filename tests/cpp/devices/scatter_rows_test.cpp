#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "one_op.h"

namespace bessemer::testing {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST(ScatterRows, ConvertsRowsAndLeavesTheRestAlone) {
  for (DType state : kFloats) {
    for (DType from : kFloats) {
      for (int64_t width : {1, 7, 300}) {
        const auto old = rounded(state, normal_values(static_cast<size_t>(5 * width), 1));
        const auto rows = rounded(from, normal_values(static_cast<size_t>(3 * width), 2));
        const std::vector<int64_t> at = {4, 0, 2};
        Build b;
        const Value x = b.input("x", state, {5, width}, encode(state, old));
        const Value r = b.input("rows", from, {3, width}, encode(from, rows));
        const Value i = b.input("at", DType::kI64, {3}, to_bytes(at));
        b.output("y", b.op(Op::k_scatter_rows, {x, r, i}));
        b.output("x_again", b.op(Op::k_reshape, {x}, {{"shape", Shape{5 * width}}}));
        std::vector<double> want = old;
        for (size_t t = 0; t < 3; ++t) {
          std::copy_n(rows.begin() + static_cast<int64_t>(t) * width, width,
                      want.begin() + at[t] * width);
        }
        for (cpu::Isa isa : isas()) {
          const RunResult result = b.run(isa);
          EXPECT_EQ(result.outputs.at("y"), encode(state, want));
          EXPECT_EQ(result.outputs.at("x_again"), encode(state, old));
          EXPECT_EQ(result.fault, cpu::kNoFault);
        }
      }
    }
  }
}

TEST(ScatterRows, TwoIndicesLastWinsFaultsWriteNothing) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  std::vector<int32_t> old(2 * 3 * 4);
  std::iota(old.begin(), old.end(), 1000);
  const std::vector<int32_t> i = {1, 0, 1, 2, -1, 0, 0, kMost, kLeast, 1};
  const std::vector<int32_t> j = {2, 0, 2, 0, 0, 3, -1, 0, 0, kMost};
  std::vector<int32_t> rows(i.size() * 4);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<int32_t> want = old;
  for (size_t t = 0; t < i.size(); ++t) {
    if (i[t] < 0 || i[t] >= 2 || j[t] < 0 || j[t] >= 3) continue;
    for (size_t e = 0; e < 4; ++e) {
      want[static_cast<size_t>((i[t] * 3 + j[t]) * 4) + e] = rows[t * 4 + e];
    }
  }
  Build b;
  const auto n = static_cast<int64_t>(i.size());
  const Value state = b.state("s", DType::kI32, {2, 3, 4}, to_bytes(old));
  const Value next =
      b.op(Op::k_scatter_rows, {state, b.input("rows", DType::kI32, {n, 4}, to_bytes(rows)),
                                b.input("i", DType::kI32, {n}, to_bytes(i)),
                                b.input("j", DType::kI32, {n}, to_bytes(j))});
  b.update("s", next);
  const RunResult result = b.run();
  EXPECT_EQ(from_bytes<int32_t>(result.states.at("s")), want);
  EXPECT_EQ(result.fault, cpu::kIndexOutOfRange);
  // In place: no copy of the state.
  EXPECT_EQ(result.lowered.thunks.size(), 1u);
}

TEST(ScatterRows, NoRowsNoWidth) {
  Build b;
  const Value x = b.input("x", DType::kF32, {2, 3}, encode(DType::kF32, normal_values(6, 1)));
  const Value none = b.input("none", DType::kF32, {0, 3}, {});
  const Value at = b.input("at", DType::kI32, {0}, {});
  b.output("y", b.op(Op::k_scatter_rows, {x, none, at}));
  const Value flat = b.input("flat", DType::kF32, {4, 0}, {});
  const Value rows = b.input("rows", DType::kF32, {2, 0}, {});
  const Value two = b.input("two", DType::kI32, {2}, to_bytes(std::vector<int32_t>{3, 1}));
  b.output("z", b.op(Op::k_scatter_rows, {flat, rows, two}));
  const RunResult result = b.run();
  EXPECT_EQ(result.outputs.at("y"), b.data.at("x"));
  EXPECT_TRUE(result.outputs.at("z").empty());
}

TEST(ScatterRows, RefusesWhatDoesNotFit) {
  Build b;
  const Value x = b.input("x", DType::kF32, {4, 3, 2}, {});
  const Value rows = b.input("rows", DType::kF32, {5, 3, 2}, {});
  const Value narrow = b.input("narrow", DType::kF32, {5, 2}, {});
  const Value ints = b.input("ints", DType::kI32, {5, 3, 2}, {});
  const Value at = b.input("at", DType::kI32, {5}, {});
  const Value at64 = b.input("at64", DType::kI64, {5}, {});
  const Value four = b.input("four", DType::kI32, {4}, {});
  EXPECT_EQ(refusal(b, Op::k_scatter_rows, {x, rows, at}), "");
  EXPECT_EQ(refusal(b, Op::k_scatter_rows, {x, narrow, at, at}), "");
  EXPECT_NE(refusal(b, Op::k_scatter_rows, {x, narrow, at}), "");
  EXPECT_NE(refusal(b, Op::k_scatter_rows, {x, rows, four}), "");
  EXPECT_NE(refusal(b, Op::k_scatter_rows, {x, narrow, at, at64}), "");
  EXPECT_NE(refusal(b, Op::k_scatter_rows, {x, ints, at}), "");
  EXPECT_NE(refusal(b, Op::k_scatter_rows, {x, rows, rows}), "");
}

}  // namespace
}  // namespace bessemer::testing
