// Builds a graph of a few ops for run_graph; a mistake in the build is a test failure.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "float_data.h"
#include "ops/op_impl.h"

namespace bessemer::testing {

struct Build {
  Graph graph;
  std::map<std::string, Bytes> data;

  Value leaf(Op kind, const std::string& name, DType dtype, Shape shape, Bytes bytes) {
    data[name] = std::move(bytes);
    auto value = ops::add_leaf(graph, kind, name, {dtype, std::move(shape)});
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : Value{};
  }
  Value input(const std::string& name, DType dtype, Shape shape, Bytes bytes) {
    return leaf(Op::k_input, name, dtype, std::move(shape), std::move(bytes));
  }
  Value state(const std::string& name, DType dtype, Shape shape, Bytes bytes) {
    return leaf(Op::k_state, name, dtype, std::move(shape), std::move(bytes));
  }
  Value op(Op kind, std::vector<Value> operands, Attrs attrs = {}) {
    auto value = ops::add_node(graph, kind, std::move(operands), std::move(attrs));
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : Value{};
  }
  void output(const std::string& name, Value value) { EXPECT_TRUE(graph.add_output(name, value)); }
  void update(const std::string& name, Value value) {
    EXPECT_TRUE(graph.update_state(name, value));
  }
  [[nodiscard]] RunResult run(cpu::Isa isa = cpu::detect_isa(), int threads = 1,
                              ExtentValues extents = {}) const {
    RunOptions options;
    options.isa = isa;
    options.threads = threads;
    options.extents = std::move(extents);
    auto result = run_graph(graph, data, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RunResult{};
  }
};

// The message of the error that making the node gives; empty if it gives none.
inline std::string refusal(Build& b, Op kind, std::vector<Value> operands, Attrs attrs = {}) {
  auto value = ops::add_node(b.graph, kind, std::move(operands), std::move(attrs));
  return value ? std::string() : value.error().message;
}

inline std::vector<double> rounded(DType dtype, const std::vector<double>& values) {
  return decode(dtype, encode(dtype, values));
}

}  // namespace bessemer::testing
