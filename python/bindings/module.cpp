// The extension module: lists what each subject binds.
#include <pybind11/pybind11.h>

#include "bind.h"
#include "devices/register_devices.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "Native core of bessemer; use the bessemer package.";
  m.attr("__version__") = BESSEMER_VERSION;
  bessemer::register_all_devices();
  bessemer::python::bind_errors(m);
  bessemer::python::bind_graph(m);
  bessemer::python::bind_device(m);
  bessemer::python::bind_executable(m);
  bessemer::python::bind_gguf(m);
}
