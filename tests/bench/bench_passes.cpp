// Time of the passes over a decoder of L layers:
//   bench_passes [LAYERS] [REPEAT]
// Prints nodes before and after, the median CPU time of whole runs (passes are single-threaded, and
// so a busy machine does not matter), and rewrites and median wall time by pass.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "ops/op_impl.h"
#include "passes/pipeline.h"

namespace bessemer {
namespace {

template <class T>
T take(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::printf("%s\n", result.error().to_string().c_str());
  std::exit(1);
}

class Decoder {
 public:
  explicit Decoder(int layers) : graph_("decoder") {
    tokens_ = Dim::extent(take(graph_.add_extent("tokens", 512)));
    x_ = leaf(Op::k_input, "x", {DType::kF32, {tokens_, Dim(576)}});
    seq_ = leaf(Op::k_input, "seq", {DType::kI32, {tokens_}});
    pos_ = leaf(Op::k_input, "pos", {DType::kI32, {tokens_}});
    for (int i = 0; i < layers; ++i) layer(std::to_string(i));
    if (!graph_.add_output("y", x_).ok()) std::exit(1);
  }
  [[nodiscard]] const Graph& graph() const { return graph_; }

 private:
  Value leaf(Op kind, const std::string& name, Type type) {
    return take(ops::add_leaf(graph_, kind, name, std::move(type)));
  }
  Value op(Op op, std::vector<Value> operands, Attrs attrs = {}) {
    return take(ops::add_node(graph_, op, std::move(operands), std::move(attrs), "decoder.py:250"));
  }
  Value norm(Value x, const std::string& name) {
    const Value weight = leaf(Op::k_param, name, {DType::kF32, {Dim(576)}});
    return op(Op::k_rms_norm, {x, weight}, Attrs{{"epsilon", 1e-5}, {"has_weight", true}});
  }
  Value product(Value x, const std::string& name, int64_t n, int64_t k) {
    const Value weight = leaf(Op::k_param, name, {DType::kQ4_1, {Dim(n), Dim(k)}});
    return op(Op::k_matmul, {x, weight}, Attrs{{"transpose_b", true}});
  }
  Value heads(Value x, int64_t n) {
    return op(Op::k_reshape, {x}, Attrs{{"shape", Shape{tokens_, Dim(n), Dim(64)}}});
  }
  Value rope(Value x) {
    return op(Op::k_rope, {x, pos_},
              Attrs{{"base", 10000.0}, {"n_rot", int64_t{64}}, {"interleaved", true}});
  }
  Value append(Value rows, const std::string& name) {
    const Type type{DType::kF16, {Dim(1), Dim(2048), Dim(3), Dim(64)}};
    const Value state = leaf(Op::k_state, name, type);
    const Value next = op(Op::k_scatter_rows, {state, rows, seq_, pos_});
    if (!graph_.update_state(name, next).ok()) std::exit(1);
    return next;
  }
  void layer(const std::string& i) {
    Value h = norm(x_, "attn_norm" + i);
    const Value q = product(h, "q" + i, 576, 576);
    const Value k = product(h, "k" + i, 192, 576);
    const Value v = product(h, "v" + i, 192, 576);
    const Value keys = append(rope(heads(k, 3)), "keys" + i);
    const Value values = append(heads(v, 3), "values" + i);
    Value a = op(Op::k_attention, {rope(heads(q, 9)), keys, values, seq_, pos_},
                 Attrs{{"causal", true}, {"scale", 0.125}});
    a = op(Op::k_reshape, {a}, Attrs{{"shape", Shape{tokens_, Dim(576)}}});
    x_ = op(Op::k_add, {x_, product(a, "o" + i, 576, 576)});
    h = norm(x_, "ffn_norm" + i);
    const Value gate = product(h, "gate" + i, 1536, 576);
    const Value up = product(h, "up" + i, 1536, 576);
    const Value y = op(Op::k_multiply, {op(Op::k_silu, {gate}), up});
    x_ = op(Op::k_add, {x_, product(y, "down" + i, 576, 1536)});
  }

  Graph graph_;
  Dim tokens_;
  Value x_;
  Value seq_;
  Value pos_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int layers, int repeat) {
  const Decoder decoder(layers);
  std::vector<double> whole;
  std::map<std::string, std::vector<double>> by_pass;
  std::vector<passes::PassReport> reports;
  size_t after = 0;
  for (int i = 0; i < repeat; ++i) {
    const std::clock_t start = std::clock();
    const Graph result = take(passes::run_passes(decoder.graph(), {}, &reports));
    whole.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    for (const passes::PassReport& r : reports) by_pass[r.name].push_back(r.seconds);
    after = result.nodes().size();
  }
  const auto before = decoder.graph().nodes().size();
  std::printf("%zu nodes -> %zu, %.2f ms of CPU, %.2f ms per 1,000 nodes\n", before, after,
              median(whole) * 1e3, median(whole) * 1e6 / static_cast<double>(before));
  for (const passes::PassReport& r : reports) {
    std::printf("  %-22s %5lld  %.3f ms\n", r.name.c_str(), static_cast<long long>(r.rewrites),
                median(by_pass[r.name]) * 1e3);
  }
  return 0;
}

}  // namespace
}  // namespace bessemer

int main(int argc, char** argv) {
  const int layers = argc > 1 ? std::atoi(argv[1]) : 30;
  const int repeat = argc > 2 ? std::atoi(argv[2]) : 20;
  if (layers < 1 || repeat < 1) return 2;
  return bessemer::run(layers, repeat);
}
