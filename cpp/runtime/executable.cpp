#include "runtime/executable.h"

namespace bessemer {

Result<std::unique_ptr<Executable>> Executable::create(const Graph& graph, const DevicePtr& device,
                                                       const CompileOptions& options) {
  std::unique_ptr<Executable> e(new Executable());
  BSM_ASSIGN(e->program_, Program::compile(graph, device, options));
  e->weights_ = std::make_shared<Weights>(e->program_);
  BSM_ASSIGN(e->session_, Session::create(e->program_, e->weights_));
  return e;
}

}  // namespace bessemer
