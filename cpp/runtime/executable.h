// The facade that most callers want: a program, its weights and one session.
#pragma once

#include <memory>

#include "runtime/program.h"
#include "runtime/session.h"
#include "runtime/weights.h"

namespace bessemer {

class Executable {
 public:
  // Compiles for the device and allocates arena and states. Weights are still to be filled.
  [[nodiscard]] static Result<std::unique_ptr<Executable>> create(const Graph& graph,
                                                                  const DevicePtr& device,
                                                                  const CompileOptions& options);

  [[nodiscard]] const std::shared_ptr<const Program>& program() const { return program_; }
  [[nodiscard]] const std::shared_ptr<Weights>& weights() const { return weights_; }
  [[nodiscard]] Session& session() const { return *session_; }

 private:
  Executable() = default;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Weights> weights_;
  std::unique_ptr<Session> session_;
};

}  // namespace bessemer
