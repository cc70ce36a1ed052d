// What the binding files share: one function a subject, and how errors and arrays cross.
#pragma once

#include <pybind11/pybind11.h>

#include "base/dtype.h"
#include "base/error.h"

namespace bessemer::python {

void bind_errors(pybind11::module_& m);
void bind_graph(pybind11::module_& m);
void bind_device(pybind11::module_& m);
void bind_executable(pybind11::module_& m);
void bind_gguf(pybind11::module_& m);

// Raises the bessemer.errors class of the kind, with .kind and .notes. Needs the GIL.
[[noreturn]] void raise(const Error& error);

// The value of a result, or its error raised.
template <class T>
T unwrap(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
inline void unwrap(const Status& status) {
  if (!status) raise(status.error());
}

// "f32" to the dtype; raises InvalidArgumentError for an unknown name.
[[nodiscard]] DType dtype_named(const std::string& name);

}  // namespace bessemer::python
