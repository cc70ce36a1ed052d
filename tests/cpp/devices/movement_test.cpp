// Ops that move elements, from graph to bytes, against index arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/half.h"
#include "run_graph.h"

namespace bessemer {
namespace {

using testing::Bytes;
using testing::from_bytes;
using testing::run_graph;
using testing::RunOptions;
using testing::RunResult;
using testing::to_bytes;
using Ints = std::vector<int64_t>;

int64_t count(const Ints& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}
Shape dims(const Ints& shape) { return Shape(shape.begin(), shape.end()); }

Ints coordinates(int64_t i, const Ints& shape) {
  Ints at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis]) at[axis] = i % shape[axis];
  return at;
}
int64_t index(const Ints& at, const Ints& shape) {
  int64_t i = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) i = i * shape[axis] + at[axis];
  return i;
}

Bytes numbered(DType d, int64_t n) {
  Bytes data(static_cast<size_t>(bytes_of(d, n)));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = i * 0x9e3779b97f4a7c15 % 0x7fffffff + 1;
    std::memcpy(data.data() + bytes_of(d, i), &v, static_cast<size_t>(bytes_of(d, 1)));
  }
  return data;
}

// Where an element of the result comes from: an index into the operand, or -1 for zero.
using Source = std::function<int64_t(const Ints& at)>;

const DType kSizes[] = {DType::kBool, DType::kF16, DType::kF32, DType::kI64};

RunResult run_or_fail(const Graph& g, const std::map<std::string, Bytes>& leaves,
                      const RunOptions& options = {}) {
  auto r = run_graph(g, leaves, options);
  EXPECT_TRUE(r.ok()) << r.error().to_string();
  return r.ok() ? *std::move(r) : RunResult{};
}

// Runs op on a tensor of `shape` in every element size; gives the number of thunks.
size_t check(Op op, const Ints& shape, const Attrs& attrs, const Ints& result, const Source& source,
             int threads = 1) {
  size_t thunks = 0;
  for (const DType d : kSizes) {
    Graph g;
    const Value x = *ops::add_leaf(g, Op::k_input, "x", {d, dims(shape)});
    const auto y = ops::add_node(g, op, {x}, attrs);
    EXPECT_TRUE(y.ok()) << y.error().to_string();
    if (!y.ok()) return 0;
    EXPECT_EQ(g.type(*y).shape, dims(result));
    // A second use, so that the op's own thunks are told from the copy into an output.
    const Value z = *ops::add_node(g, Op::k_expand, {*y}, {{"shape", dims(result)}});
    EXPECT_TRUE(g.add_output("y", z).ok());
    RunOptions options;
    options.threads = threads;
    const Bytes in = numbered(d, count(shape));
    const RunResult run = run_or_fail(g, {{"x", in}}, options);
    const Bytes& out = run.outputs.at("y");
    thunks = 0;
    for (const Thunk& t : run.lowered.thunks) thunks += t.kernel != "copy_bytes" ? 1 : 0;
    const auto bytes = static_cast<size_t>(bytes_of(d, 1));
    for (int64_t i = 0; i < count(result); ++i) {
      const int64_t from = source(coordinates(i, result));
      const std::byte zero[8] = {};
      const std::byte* want = from < 0 ? zero : in.data() + bytes_of(d, from);
      EXPECT_EQ(std::memcmp(out.data() + bytes_of(d, i), want, bytes), 0)
          << to_string(op) << " " << to_string(d) << " element " << i;
      if (::testing::Test::HasFailure()) return thunks;
    }
  }
  return thunks;
}

TEST(Movement, Slice) {
  const auto slice = [](const Ints& shape, const Ints& start, const Ints& stop, const Ints& step,
                        const Ints& result, int threads = 1) {
    return check(
        Op::k_slice, shape, {{"start", dims(start)}, {"stop", dims(stop)}, {"step", step}}, result,
        [&](const Ints& at) {
          Ints from(at.size());
          for (size_t i = 0; i < at.size(); ++i) from[i] = start[i] + at[i] * step[i];
          return index(from, shape);
        },
        threads);
  };
  EXPECT_EQ(slice({9}, {2}, {8}, {3}, {2}), 1u);
  EXPECT_EQ(slice({9}, {8}, {-1}, {-2}, {5}), 1u);
  EXPECT_EQ(slice({4, 6}, {0, 1}, {4, 5}, {1, 1}, {4, 4}), 1u);
  EXPECT_EQ(slice({4, 6}, {3, 5}, {0, 0}, {-1, -2}, {3, 3}), 1u);
  EXPECT_EQ(slice({4, 6}, {2, 0}, {2, 6}, {1, 1}, {0, 6}), 0u);
  EXPECT_EQ(slice({700, 300}, {1, 7}, {699, 290}, {2, 1}, {349, 283}, 2), 1u);
  // Contiguous ranges are views.
  EXPECT_EQ(slice({4, 6}, {1, 0}, {3, 6}, {1, 1}, {2, 6}), 0u);
  EXPECT_EQ(slice({4, 6}, {2, 1}, {3, 4}, {1, 1}, {1, 3}), 0u);
  EXPECT_EQ(slice({1, 4, 6}, {0, 1, 0}, {1, 3, 6}, {1, 1, 1}, {1, 2, 6}), 0u);
  EXPECT_EQ(slice({5}, {4}, {5}, {3}, {1}), 0u);
  EXPECT_EQ(slice({5}, {4}, {2}, {1}, {0}), 0u);  // as Python: nothing
}

TEST(Movement, Transpose) {
  const auto transpose = [](const Ints& shape, const Ints& perm, int threads = 1) {
    Ints result;
    for (const int64_t a : perm) result.push_back(shape[static_cast<size_t>(a)]);
    return check(
        Op::k_transpose, shape, {{"perm", perm}}, result,
        [&](const Ints& at) {
          Ints from(at.size());
          for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(perm[i])] = at[i];
          return index(from, shape);
        },
        threads);
  };
  EXPECT_EQ(transpose({3, 5}, {1, 0}), 1u);
  EXPECT_EQ(transpose({130, 67}, {1, 0}), 1u);
  EXPECT_EQ(transpose({1031, 517}, {1, 0}, 2), 1u);
  EXPECT_EQ(transpose({2, 3, 4}, {1, 2, 0}), 1u);
  EXPECT_EQ(transpose({2, 3, 4, 5}, {0, 2, 1, 3}), 1u);
  EXPECT_EQ(transpose({2, 17, 4, 33}, {3, 0, 2, 1}), 1u);
  EXPECT_EQ(transpose({6, 40, 50, 3}, {0, 2, 1, 3}, 2), 1u);
  EXPECT_EQ(transpose({0, 3}, {1, 0}), 1u);
  EXPECT_EQ(transpose({1, 3, 1, 4}, {1, 2, 0, 3}), 0u);  // only ones move: a view
  EXPECT_EQ(transpose({}, {}), 0u);
}

TEST(Movement, ExpandReverseTile) {
  const auto expand = [](const Ints& shape, const Ints& result) {
    return check(Op::k_expand, shape, {{"shape", dims(result)}}, result, [&](const Ints& at) {
      Ints from(shape.size());
      const size_t lead = result.size() - shape.size();
      for (size_t i = 0; i < shape.size(); ++i) from[i] = shape[i] == 1 ? 0 : at[lead + i];
      return index(from, shape);
    });
  };
  EXPECT_EQ(expand({}, {3}), 1u);
  EXPECT_EQ(expand({1, 4}, {3, 4}), 1u);
  EXPECT_EQ(expand({4, 1}, {4, 3}), 1u);
  EXPECT_EQ(expand({2, 1, 3}, {5, 2, 4, 3}), 1u);
  EXPECT_EQ(expand({2, 3}, {1, 2, 3}), 0u);
  const auto reverse = [](const Ints& shape, const Ints& axes) {
    return check(Op::k_reverse, shape, {{"axes", axes}}, shape, [&](Ints at) {
      for (const int64_t a : axes) {
        const auto axis = static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(shape.size()) : a);
        at[axis] = shape[axis] - 1 - at[axis];
      }
      return index(at, shape);
    });
  };
  EXPECT_EQ(reverse({5}, {0}), 1u);
  EXPECT_EQ(reverse({3, 4}, {-1}), 1u);
  EXPECT_EQ(reverse({2, 3, 4}, {0, 2}), 1u);
  EXPECT_EQ(reverse({1, 3}, {0}), 0u);
  EXPECT_EQ(reverse({0, 3}, {0, 1}), 1u);
  const auto tile = [](const Ints& shape, const Ints& repeats, const Ints& result) {
    return check(Op::k_tile, shape, {{"repeats", repeats}}, result, [&](const Ints& at) {
      Ints from(shape.size());
      const size_t lead = result.size() - shape.size();
      for (size_t i = 0; i < shape.size(); ++i) from[i] = at[lead + i] % shape[i];
      return index(from, shape);
    });
  };
  EXPECT_EQ(tile({3}, {1}, {3}), 0u);
  EXPECT_EQ(tile({2, 3}, {3, 2}, {6, 6}), 1u);
  EXPECT_EQ(tile({2, 3}, {2}, {2, 6}), 1u);
  EXPECT_EQ(tile({3}, {4, 2, 2}, {4, 2, 6}), 1u);
  EXPECT_EQ(tile({2, 3, 4, 5}, {2, 3, 2, 2}, {4, 9, 8, 10}), 1u);
  EXPECT_EQ(tile({2, 3}, {0, 2}, {0, 6}), 1u);
}

TEST(Movement, TriangularParts) {
  for (const bool upper : {false, true}) {
    for (const int64_t k :
         {int64_t{0}, int64_t{1}, int64_t{-2}, int64_t{9}, INT64_MAX, INT64_MIN}) {
      for (const Ints& shape : {Ints{4, 4}, Ints{2, 3, 5}, Ints{5, 3}, Ints{0, 3}}) {
        check(upper ? Op::k_triu : Op::k_tril, shape, {{"k", k}}, shape, [&](const Ints& at) {
          const int64_t row = at[at.size() - 2];
          const int64_t col = at[at.size() - 1];
          const long double edge = static_cast<long double>(row) + static_cast<long double>(k);
          return (upper ? col >= edge : col <= edge) ? index(at, shape) : -1;
        });
      }
    }
  }
}

TEST(Movement, ReshapeResolvesOneUnknown) {
  EXPECT_EQ(check(Op::k_reshape, {2, 3, 4}, {{"shape", Shape{Dim(-1), Dim(4)}}}, {6, 4},
                  [](const Ints& at) { return at[0] * 4 + at[1]; }),
            0u);
  Graph g;
  const Dim t = Dim::extent(*g.add_extent("t", 16));
  const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {t, 8, 3}});
  const auto shaped = [&](const Shape& s) {
    return ops::add_node(g, Op::k_reshape, {x}, {{"shape", s}});
  };
  EXPECT_EQ(g.type(*shaped({t, Dim(-1)})).shape, (Shape{t, Dim(24)}));
  EXPECT_EQ(g.type(*shaped({Dim(-1), Dim(6)})).shape, (Shape{t * 4, Dim(6)}));
  EXPECT_EQ(g.type(*shaped({t * 24})).shape, (Shape{t * 24}));
  EXPECT_EQ(shaped({Dim(-1), Dim(7)}).error().kind, ErrorKind::kShape);
  EXPECT_EQ(shaped({Dim(-1), Dim(-1)}).error().kind, ErrorKind::kShape);
  EXPECT_EQ(shaped({Dim(-2), Dim(4)}).error().kind, ErrorKind::kShape);
  EXPECT_EQ(shaped({t, Dim(25)}).error().kind, ErrorKind::kShape);
  EXPECT_EQ(shaped({Dim(0), Dim(-1)}).error().kind, ErrorKind::kShape);
}

TEST(Movement, Pad) {
  struct Case {
    Ints shape, before, after;
  };
  for (const Case& c :
       {Case{{3}, {0}, {0}}, Case{{3}, {2}, {1}}, Case{{2, 3}, {1, 0}, {2, 3}},
        Case{{2, 3, 4}, {1, 0, 0}, {0, 0, 0}}, Case{{2, 0, 3}, {0, 2, 1}, {0, 1, 0}},
        Case{{2, 3, 2, 2}, {0, 1, 0, 2}, {1, 1, 0, 0}}, Case{{300, 400}, {1, 2}, {3, 4}}}) {
    Ints result = c.shape;
    for (size_t i = 0; i < result.size(); ++i) result[i] += c.before[i] + c.after[i];
    check(
        Op::k_pad, c.shape, {{"before", dims(c.before)}, {"after", dims(c.after)}, {"value", 0.0}},
        result,
        [&](Ints at) {
          for (size_t i = 0; i < at.size(); ++i) {
            at[i] -= c.before[i];
            if (at[i] < 0 || at[i] >= c.shape[i]) return int64_t{-1};
          }
          return index(at, c.shape);
        },
        2);
  }
}

TEST(Movement, PadValueMustFitTheDtype) {
  const auto pad = [](DType d, double value) {
    Graph g;
    const Value x = *ops::add_leaf(g, Op::k_input, "x", {d, {1}});
    const auto y = ops::add_node(
        g, Op::k_pad, {x}, {{"before", Shape{Dim(1)}}, {"after", Shape{Dim(0)}}, {"value", value}});
    if (!y.ok()) return Result<int64_t>(y.error());
    EXPECT_TRUE(g.add_output("y", *y).ok());
    const RunResult run = run_or_fail(g, {{"x", Bytes(static_cast<size_t>(bytes_of(d, 1)))}});
    int64_t bits = 0;
    std::memcpy(&bits, run.outputs.at("y").data(), static_cast<size_t>(bytes_of(d, 1)));
    return Result<int64_t>(bits);
  };
  EXPECT_EQ(*pad(DType::kF32, -1.5), 0xbfc00000);
  EXPECT_EQ(*pad(DType::kF16, -INFINITY), 0xfc00);
  EXPECT_EQ(*pad(DType::kU8, 255), 255);
  EXPECT_EQ(*pad(DType::kI8, -128), 0x80);
  EXPECT_EQ(*pad(DType::kU32, 4294967295.0), 4294967295);
  EXPECT_EQ(*pad(DType::kI64, -3), -3);
  EXPECT_EQ(*pad(DType::kBool, 1), 1);
  for (const auto& [d, v] : std::vector<std::pair<DType, double>>{{DType::kU8, 256},
                                                                  {DType::kU8, -1},
                                                                  {DType::kI8, 128},
                                                                  {DType::kBool, 2},
                                                                  {DType::kI32, 0.5},
                                                                  {DType::kI32, NAN},
                                                                  {DType::kI64, 1e19},
                                                                  {DType::kU32, 4294967296.0}}) {
    EXPECT_EQ(pad(d, v).error().kind, ErrorKind::kInvalidArgument) << to_string(d) << " " << v;
  }
}

TEST(Movement, ConcatAndSplitAreInverse) {
  struct Case {
    Ints shape;
    int64_t axis;
    Ints sizes;
  };
  Ints forty(40, 3);
  for (const Case& c :
       {Case{{7}, 0, {3, 4}}, Case{{6, 5}, 0, {1, 0, 5}}, Case{{4, 9}, -1, {2, 3, 4}},
        Case{{3, 8, 5}, 1, {1, 7}}, Case{{120}, 0, forty}, Case{{5, 120}, 1, forty},
        Case{{300, 700}, 1, {350, 350}}, Case{{4, 0}, 0, {2, 2}}, Case{{4}, 0, {4}}}) {
    const auto axis = static_cast<size_t>(c.axis < 0 ? c.axis + 2 : c.axis);
    for (const DType d : kSizes) {
      Graph g;
      const Value x = *ops::add_leaf(g, Op::k_input, "x", {d, dims(c.shape)});
      const auto parts =
          ops::add_node(g, Op::k_split, {x}, {{"axis", c.axis}, {"sizes", dims(c.sizes)}});
      ASSERT_TRUE(parts.ok()) << parts.error().to_string();
      std::vector<Value> pieces;
      for (uint32_t i = 0; i < c.sizes.size(); ++i) {
        pieces.push_back({parts->node, i});
        ASSERT_TRUE(g.add_output("p" + std::to_string(i), pieces.back()).ok());
      }
      ASSERT_TRUE(
          g.add_output("y", *ops::add_node(g, Op::k_concat, pieces, {{"axis", c.axis}})).ok());
      const Bytes in = numbered(d, count(c.shape));
      RunOptions options;
      options.threads = 2;
      const RunResult run = run_or_fail(g, {{"x", in}}, options);
      EXPECT_EQ(run.outputs.at("y"), in);
      int64_t start = 0;
      for (size_t p = 0; p < c.sizes.size(); ++p) {
        Ints shape = c.shape;
        shape[axis] = c.sizes[p];
        const Bytes& out = run.outputs.at("p" + std::to_string(p));
        for (int64_t i = 0; i < count(shape); ++i) {
          Ints at = coordinates(i, shape);
          at[axis] += start;
          ASSERT_EQ(
              std::memcmp(out.data() + bytes_of(d, i), in.data() + bytes_of(d, index(at, c.shape)),
                          static_cast<size_t>(bytes_of(d, 1))),
              0);
        }
        start += c.sizes[p];
      }
    }
  }
}

TEST(Movement, Iota) {
  const auto iota = [](const Ints& shape, int64_t axis, DType d) {
    Graph g;
    const auto y =
        ops::add_node(g, Op::k_iota, {}, {{"shape", dims(shape)}, {"axis", axis}, {"dtype", d}});
    EXPECT_TRUE(y.ok()) << y.error().to_string();
    EXPECT_TRUE(g.add_output("y", *y).ok());
    return run_or_fail(g, {}).outputs.at("y");
  };
  EXPECT_EQ(from_bytes<int32_t>(iota({2, 3}, 1, DType::kI32)),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(from_bytes<int64_t>(iota({2, 3}, 0, DType::kI64)),
            (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(from_bytes<uint8_t>(iota({256}, 0, DType::kU8))[255], 255);
  EXPECT_EQ(from_bytes<double>(iota({3}, -1, DType::kF64)), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(from_bytes<uint16_t>(iota({2050}, 0, DType::kF16))[2049], f32_to_f16(2049.0f));
  EXPECT_TRUE(iota({0}, 0, DType::kF32).empty());
  Graph g;
  const auto too_far =
      ops::add_node(g, Op::k_iota, {}, {{"shape", dims({257})}, {"dtype", DType::kU8}});
  EXPECT_EQ(too_far.error().kind, ErrorKind::kInvalidArgument);
}

TEST(Movement, RefusesWhatDoesNotFit) {
  Graph g;
  const Dim t = Dim::extent(*g.add_extent("t", 16));
  const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {t, 8}});
  const Value q = *ops::add_leaf(g, Op::k_param, "q", {DType::kQ4_0, {4, 32}});
  const Value i = *ops::add_leaf(g, Op::k_input, "i", {DType::kI32, {t, 8}});
  struct Bad {
    Op op;
    std::vector<Value> operands;
    Attrs attrs;
    ErrorKind kind;
  };
  const Ints none;
  const std::vector<Bad> bad = {
      {Op::k_slice, {x}, {{"start", Shape{0}}, {"stop", Shape{1}}}, ErrorKind::kInvalidArgument},
      {Op::k_slice, {x}, {{"start", Shape{0, 0}}, {"stop", Shape{t, 9}}}, ErrorKind::kShape},
      {Op::k_slice, {x}, {{"start", Shape{0, -1}}, {"stop", Shape{t, 8}}}, ErrorKind::kShape},
      {Op::k_slice, {x}, {{"start", Shape{0, 0}}, {"stop", Shape{t + 1, 8}}}, ErrorKind::kShape},
      {Op::k_slice, {x}, {{"start", Shape{0, 0}}, {"stop", Shape{2, 8}}}, ErrorKind::kShape},
      {Op::k_slice,
       {x},
       {{"start", Shape{0, 0}}, {"stop", Shape{t, 8}}, {"step", Ints{1, 0}}},
       ErrorKind::kInvalidArgument},
      {Op::k_slice,
       {x},
       {{"start", Shape{0, 0}}, {"stop", Shape{t, 8}}, {"step", Ints{2, 1}}},
       ErrorKind::kShape},
      {Op::k_split, {x}, {{"axis", int64_t{1}}, {"sizes", Shape{3, 4}}}, ErrorKind::kShape},
      {Op::k_split, {x}, {{"axis", int64_t{1}}, {"sizes", Shape{9, -1}}}, ErrorKind::kShape},
      {Op::k_split, {x}, {{"axis", int64_t{2}}, {"sizes", Shape{8}}}, ErrorKind::kInvalidArgument},
      {Op::k_transpose, {x}, {{"perm", Ints{0, 0}}}, ErrorKind::kInvalidArgument},
      {Op::k_transpose, {x}, {{"perm", Ints{1}}}, ErrorKind::kInvalidArgument},
      {Op::k_expand, {x}, {{"shape", Shape{t, 16}}}, ErrorKind::kShape},
      {Op::k_expand, {x}, {{"shape", Shape{8}}}, ErrorKind::kShape},
      {Op::k_reverse, {x}, {{"axes", Ints{0, -2}}}, ErrorKind::kInvalidArgument},
      {Op::k_tile, {x}, {{"repeats", Ints{1, -1}}}, ErrorKind::kInvalidArgument},
      {Op::k_concat, {x, i}, {{"axis", int64_t{0}}}, ErrorKind::kDtype},
      {Op::k_pad,
       {x},
       {{"before", Shape{0, -1}}, {"after", Shape{0, 0}}, {"value", 0.0}},
       ErrorKind::kShape},
      {Op::k_transpose, {q}, {{"perm", Ints{1, 0}}}, ErrorKind::kDtype},
      {Op::k_gather, {q, i}, {}, ErrorKind::kDtype},
      {Op::k_gather, {x, x}, {}, ErrorKind::kDtype},
      {Op::k_embedding, {i, i}, {}, ErrorKind::kDtype},
      {Op::k_embedding, {q, x}, {}, ErrorKind::kDtype},
      {Op::k_embedding, {q, i}, {{"dtype", DType::kI32}}, ErrorKind::kDtype},
      {Op::k_iota, {}, {{"shape", Shape{4}}, {"dtype", DType::kBool}}, ErrorKind::kDtype},
      {Op::k_cast, {q}, {{"dtype", DType::kF32}}, ErrorKind::kDtype},
      {Op::k_cast, {x}, {}, ErrorKind::kInvalidArgument},
  };
  for (const Bad& b : bad) {
    const auto r = ops::add_node(g, b.op, b.operands, b.attrs);
    ASSERT_FALSE(r.ok()) << to_string(b.op);
    EXPECT_EQ(r.error().kind, b.kind) << r.error().to_string();
  }
  // What is always within bounds is taken.
  for (const auto& [start, stop] :
       std::vector<std::pair<Dim, Dim>>{{t - 1, t}, {0, t - 1}, {1, t}}) {
    const auto r =
        ops::add_node(g, Op::k_slice, {x}, {{"start", Shape{start, 0}}, {"stop", Shape{stop, 8}}});
    EXPECT_TRUE(r.ok()) << r.error().to_string();
  }
}

TEST(Movement, ExtentsGiveWhatFixedSizesGive) {
  for (const int64_t t : {1, 2, 9, 16}) {
    std::map<std::string, Bytes> results[2];
    for (const bool symbolic : {false, true}) {
      Graph g;
      const Dim n = symbolic ? Dim::extent(*g.add_extent("t", 16)) : Dim(t);
      const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {n, 6}});
      const auto out = [&](const char* name, Op op, std::vector<Value> operands, Attrs attrs) {
        const auto v = ops::add_node(g, op, std::move(operands), std::move(attrs));
        EXPECT_TRUE(v.ok()) << v.error().to_string();
        EXPECT_TRUE(g.add_output(name, *v).ok());
        return *v;
      };
      const Value turned = out("transpose", Op::k_transpose, {x}, {{"perm", Ints{1, 0}}});
      out("last", Op::k_slice, {x}, {{"start", Shape{n - 1, 0}}, {"stop", Shape{n, 6}}});
      out("tail", Op::k_slice, {turned}, {{"start", Shape{0, n - 1}}, {"stop", Shape{6, n}}});
      out("reverse", Op::k_reverse, {x}, {{"axes", Ints{0, 1}}});
      out("concat", Op::k_concat, {turned, turned}, {{"axis", int64_t{1}}});
      out("pad", Op::k_pad, {x}, {{"before", Shape{n, 1}}, {"after", Shape{0, 2}}, {"value", 2.5}});
      out("tile", Op::k_tile, {turned}, {{"repeats", Ints{2, 3}}});
      out("tril", Op::k_tril, {x}, {{"k", int64_t{0}}});
      out("iota", Op::k_iota, {}, {{"shape", Shape{3, n}}, {"dtype", DType::kI32}});
      out("sum", Op::k_add,
          {x, *ops::add_node(g, Op::k_slice, {x}, {{"start", Shape{0, 0}}, {"stop", Shape{n, 1}}})},
          {});
      RunOptions options;
      if (symbolic) options.extents = {t};
      results[symbolic] = run_or_fail(g, {{"x", numbered(DType::kF32, t * 6)}}, options).outputs;
    }
    EXPECT_EQ(results[0], results[1]) << t;
  }
}

TEST(Gather, PicksRowsAlongAnAxis) {
  for (const DType index_dtype :
       {DType::kI32, DType::kI64, DType::kU8, DType::kI8, DType::kI16, DType::kU32}) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      const Ints shape = {3, 5, 4};
      const Ints picks = {2, 0, 1, 2, 1, 0};
      Bytes indices;
      for (const int64_t v : picks) {
        const auto* p = reinterpret_cast<const std::byte*>(&v);
        indices.insert(indices.end(), p, p + bytes_of(index_dtype, 1));
      }
      for (const DType d : kSizes) {
        Graph g;
        const Value x = *ops::add_leaf(g, Op::k_input, "x", {d, dims(shape)});
        const Value i = *ops::add_leaf(g, Op::k_input, "i", {index_dtype, {2, 3}});
        const auto y = ops::add_node(g, Op::k_gather, {x, i}, {{"axis", axis - 3}});
        ASSERT_TRUE(y.ok()) << y.error().to_string();
        ASSERT_TRUE(g.add_output("y", *y).ok());
        Ints result(shape.begin(), shape.begin() + axis);
        result.insert(result.end(), {2, 3});
        result.insert(result.end(), shape.begin() + axis + 1, shape.end());
        ASSERT_EQ(g.type(*y).shape, dims(result));
        const Bytes in = numbered(d, 60);
        const RunResult run = run_or_fail(g, {{"x", in}, {"i", indices}});
        EXPECT_EQ(run.fault, 0u);
        for (int64_t e = 0; e < count(result); ++e) {
          const Ints at = coordinates(e, result);
          Ints from(at.begin(), at.begin() + axis);
          from.push_back(picks[static_cast<size_t>(at[static_cast<size_t>(axis)] * 3 +
                                                   at[static_cast<size_t>(axis) + 1])]);
          from.insert(from.end(), at.begin() + axis + 2, at.end());
          ASSERT_EQ(std::memcmp(run.outputs.at("y").data() + bytes_of(d, e),
                                in.data() + bytes_of(d, index(from, shape)),
                                static_cast<size_t>(bytes_of(d, 1))),
                    0);
        }
      }
    }
  }
}

TEST(Gather, NegativeIndicesCountFromTheEndAndOthersAreFaults) {
  Graph g;
  const Value x = *ops::add_leaf(g, Op::k_input, "x", {DType::kF32, {3}});
  const Value i = *ops::add_leaf(g, Op::k_input, "i", {DType::kI64, {4}});
  ASSERT_TRUE(g.add_output("y", *ops::add_node(g, Op::k_gather, {x, i})).ok());
  const Bytes data = to_bytes<float>({10, 20, 30});
  const RunResult fine = run_or_fail(g, {{"x", data}, {"i", to_bytes<int64_t>({-1, -3, 2, 0})}});
  EXPECT_EQ(from_bytes<float>(fine.outputs.at("y")), (std::vector<float>{30, 10, 30, 10}));
  EXPECT_EQ(fine.fault, 0u);
  for (const int64_t wrong : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    const RunResult bad = run_or_fail(g, {{"x", data}, {"i", to_bytes<int64_t>({1, wrong, 0, 2})}});
    EXPECT_EQ(from_bytes<float>(bad.outputs.at("y")), (std::vector<float>{20, 0, 10, 30}));
    EXPECT_EQ(bad.fault, static_cast<uint32_t>(cpu::kIndexOutOfRange));
  }
}

TEST(Embedding, ConvertsRows) {
  for (const DType table_dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const DType out_dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const int64_t width = 700;
      std::vector<float> values;
      Bytes table;
      for (int64_t e = 0; e < 5 * width; ++e) {
        const float v = static_cast<float>(e % 251 - 125) * 0.5f;  // exact in all three
        values.push_back(v);
        const uint16_t h = table_dtype == DType::kF16 ? f32_to_f16(v) : f32_to_bf16(v);
        const auto* p = table_dtype == DType::kF32 ? reinterpret_cast<const std::byte*>(&v)
                                                   : reinterpret_cast<const std::byte*>(&h);
        table.insert(table.end(), p, p + bytes_of(table_dtype, 1));
      }
      Graph g;
      const Value t = *ops::add_leaf(g, Op::k_param, "t", {table_dtype, {5, width}});
      const Value i = *ops::add_leaf(g, Op::k_input, "i", {DType::kI32, {2, 2}});
      const auto y = ops::add_node(g, Op::k_embedding, {t, i}, {{"dtype", out_dtype}});
      ASSERT_TRUE(y.ok()) << y.error().to_string();
      EXPECT_EQ(g.type(*y), (Type{out_dtype, {2, 2, width}}));
      ASSERT_TRUE(g.add_output("y", *y).ok());
      RunOptions options;
      options.threads = 2;
      const RunResult run =
          run_or_fail(g, {{"t", table}, {"i", to_bytes<int32_t>({4, 0, 7, -2})}}, options);
      EXPECT_EQ(run.fault, static_cast<uint32_t>(cpu::kIndexOutOfRange));
      const int64_t rows[] = {4, 0, -1, 3};
      for (int64_t e = 0; e < 4 * width; ++e) {
        const int64_t row = rows[e / width];
        const float want = row < 0 ? 0 : values[static_cast<size_t>(row * width + e % width)];
        float got = 0;
        const std::byte* p = run.outputs.at("y").data() + bytes_of(out_dtype, e);
        uint16_t h = 0;
        std::memcpy(&h, p, 2);
        if (out_dtype == DType::kF32) {
          std::memcpy(&got, p, 4);
        } else {
          got = out_dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
        }
        ASSERT_EQ(got, want) << e;
      }
    }
  }
}

TEST(Embedding, DequantisesRows) {
  // q8_0: an f16 scale and 32 int8 values a block.
  const int64_t width = 64;
  Bytes table;
  for (int row = 0; row < 3; ++row) {
    for (int block = 0; block < 2; ++block) {
      const uint16_t scale = f32_to_f16(0.25f * static_cast<float>(row + 1));
      const auto* p = reinterpret_cast<const std::byte*>(&scale);
      table.insert(table.end(), p, p + 2);
      for (int e = 0; e < 32; ++e) table.push_back(static_cast<std::byte>(e * (block + 1) - 16));
    }
  }
  Graph g;
  const Value t = *ops::add_leaf(g, Op::k_param, "t", {DType::kQ8_0, {3, width}});
  const Value i = *ops::add_leaf(g, Op::k_input, "i", {DType::kU8, {2}});
  const auto y = ops::add_node(g, Op::k_embedding, {t, i});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  ASSERT_TRUE(g.add_output("y", *y).ok());
  const RunResult run = run_or_fail(g, {{"t", table}, {"i", to_bytes<uint8_t>({2, 0})}});
  const auto out = from_bytes<float>(run.outputs.at("y"));
  for (size_t e = 0; e < out.size(); ++e) {
    const float scale = e < 64 ? 0.75f : 0.25f;
    const auto q = static_cast<int8_t>(static_cast<int>(e % 32) * (e % 64 < 32 ? 1 : 2) - 16);
    ASSERT_EQ(out[e], scale * static_cast<float>(q)) << e;
  }
}

}  // namespace
}  // namespace bessemer
