// Devices as such, and their self-test.
#include <pybind11/stl.h>

#include "bind.h"
#include "runtime/device.h"
#include "runtime/self_test.h"
#include "target/apple_chip.h"

namespace py = pybind11;

namespace bessemer::python {
namespace {

struct PyDevice {
  DevicePtr device;
};

py::dict probe_dict(const PyDevice& d, size_t index) {
  if (index >= probes().size()) {
    raise({ErrorKind::kInvalidArgument,
           "probe " + std::to_string(index) + " of " + std::to_string(probes().size()),
           {}});
  }
  Result<ProbeVerdict> result = [&] {
    const py::gil_scoped_release release;
    return run_probe(probes()[index], d.device);
  }();
  const ProbeVerdict verdict = unwrap(std::move(result));
  py::dict out;
  out["probe"] = verdict.probe;
  out["families"] = verdict.families;
  out["passed"] = verdict.passed;
  out["detail"] = verdict.detail;
  out["worst"] = verdict.worst;
  out["seconds"] = verdict.seconds;
  return out;
}

}  // namespace

void bind_device(py::module_& m) {
  py::class_<PyDevice>(m, "Device", "A device of this build; see `bessemer doctor`.")
      .def(py::init([](const std::string& name, int threads, const std::string& isa) {
             DeviceOptions options;
             options.threads = threads;
             options.isa = isa;
             return PyDevice{unwrap(open_device(name, options))};
           }),
           py::arg("name"), py::arg("threads"), py::arg("isa"))
      .def_property_readonly("name", [](const PyDevice& d) { return d.device->name(); })
      .def_property_readonly("target", [](const PyDevice& d) { return d.device->target().name; })
      .def_property_readonly("facts", [](const PyDevice& d) { return d.device->facts(); })
      .def_property_readonly("disabled", [](const PyDevice& d) { return d.device->disabled(); })
      .def("run_probe", probe_dict, py::arg("index"),
           "Compiles and runs one probe here and on the generic CPU kernels, and compares.");
  m.def("probe_count", [] { return probes().size(); }, "How many probes the self-test has.");
  m.def("device_names", device_names);
  m.def(
      "apple_chips",
      [] {
        std::vector<std::string> names;
        for (const AppleChip& chip : apple_chips()) names.emplace_back(chip.name);
        return names;
      },
      "Names of the chips that `modelled:CHIP` knows.");
}

}  // namespace bessemer::python
