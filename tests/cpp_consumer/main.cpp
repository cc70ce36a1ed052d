// Compiles a small graph with the installed package and checks what a run gives.
#include <bessemer/bessemer.h>

#include <cmath>
#include <cstdio>

namespace bsm = bessemer;

namespace {

// y = x · w, softmax over the last axis.
bsm::Result<bsm::Graph> make_graph() {
  bsm::Graph graph("consumer");
  BSM_ASSIGN(const bsm::ExtentId rows, graph.add_extent("rows", 8));
  BSM_ASSIGN(const bsm::Value x,
             bsm::ops::add_leaf(graph, bsm::Op::k_input, "x",
                                {bsm::DType::kF32, {bsm::Dim::extent(rows), 2}}));
  BSM_ASSIGN(const bsm::Value w,
             bsm::ops::add_leaf(graph, bsm::Op::k_param, "w", {bsm::DType::kF32, {2, 2}}));
  BSM_ASSIGN(const bsm::Value product, bsm::ops::add_node(graph, bsm::Op::k_matmul, {x, w}));
  BSM_ASSIGN(const bsm::Value y, bsm::ops::add_node(graph, bsm::Op::k_softmax, {product}));
  BSM_TRY(graph.add_output("y", y));
  return graph;
}

bsm::Status check() {
  bsm::register_all_devices();
  BSM_ASSIGN(const bsm::Graph graph, make_graph());
  BSM_ASSIGN(const bsm::DevicePtr device, bsm::open_device("cpu"));
  BSM_ASSIGN(const auto exe, bsm::Executable::create(graph, device, {}));
  const float w[] = {1, 0, 0, 1};
  const int64_t w_shape[] = {2, 2};
  BSM_TRY(
      exe->weights()->set("w", bsm::DType::kF32, w_shape, reinterpret_cast<const std::byte*>(w)));
  BSM_TRY(exe->weights()->seal());
  const float x[] = {0, 0, 0, 1};
  float y[4] = {};
  const bsm::InputView input{reinterpret_cast<const std::byte*>(x), bsm::DType::kF32, {2, 2}};
  std::byte* const output = reinterpret_cast<std::byte*>(y);
  BSM_ASSIGN(const bsm::ExtentValues extents, exe->session().resolve_extents({&input, 1}, {}));
  BSM_TRY(exe->session().run(extents, {&input, 1}, {&output, 1}));
  const float e = std::exp(1.0f);
  const float want[] = {0.5f, 0.5f, 1 / (1 + e), e / (1 + e)};
  for (int i = 0; i < 4; ++i) {
    if (std::fabs(y[i] - want[i]) > 1e-6f) {
      return bsm::Error{bsm::ErrorKind::kInternal, "wrong result", {}};
    }
  }
  return {};
}

}  // namespace

int main() {
  if (const bsm::Status status = check(); !status) {
    std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
    return 1;
  }
  std::puts("consumer: the installed package works");
  return 0;
}
