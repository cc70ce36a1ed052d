// The only place that raises: errors of the core become bessemer.errors classes.
#include <pybind11/stl.h>

#include "bind.h"

namespace py = pybind11;

namespace bessemer::python {
namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "InvalidArgumentError";
    case ErrorKind::kShape:
      return "ShapeError";
    case ErrorKind::kDtype:
      return "DtypeError";
    case ErrorKind::kName:
      return "UnknownNameError";
    case ErrorKind::kParse:
      return "ParseError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    case ErrorKind::kOutOfMemory:
      return "OutOfMemoryError";
    case ErrorKind::kState:
      return "StateError";
    case ErrorKind::kBusy:
      return "BusyError";
    case ErrorKind::kCancelled:
      return "CancelledError";
    case ErrorKind::kInternal:
      return "InternalError";
  }
  return "InternalError";
}

}  // namespace

void raise(const Error& error) {
  const py::object cls = py::module_::import("bessemer.errors").attr(class_name(error.kind));
  const py::object exception = cls(error.message, py::cast(error.notes));
  PyErr_SetObject(cls.ptr(), exception.ptr());
  throw py::error_already_set();
}

DType dtype_named(const std::string& name) {
  const auto dtype = parse_dtype(name);
  if (!dtype) raise({ErrorKind::kInvalidArgument, "unknown dtype `" + name + "`", {}});
  return *dtype;
}

void bind_errors(py::module_& m) {
  // A hook for tests: every kind crosses the border as its own class.
  m.def(
      "_raise",
      [](int kind, const std::string& message) {
        raise({static_cast<ErrorKind>(kind), message, {"a note"}});
      },
      py::arg("kind"), py::arg("message"), "Raises the error of a kind (for tests).");
}

}  // namespace bessemer::python
