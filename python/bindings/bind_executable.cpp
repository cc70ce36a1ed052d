// Compile and run. Every call that may take long releases the GIL.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "base/free_memory.h"
#include "bind.h"
#include "bind_graph.h"
#include "plan/arena_csv.h"
#include "plan/cost_model.h"
#include "runtime/executable.h"

namespace py = pybind11;

namespace bessemer::python {
namespace {

std::vector<int64_t> shape_of(const py::array& a) {
  return std::vector<int64_t>(a.shape(), a.shape() + a.ndim());
}

// Dtypes cross as arrays of raw elements: bf16 as uint16. The facade checks what the user gave.
py::dtype carrier(DType d) {
  switch (d) {
    case DType::kF32:
      return py::dtype::of<float>();
    case DType::kF16:
      return py::dtype("float16");
    case DType::kBF16:
      return py::dtype::of<uint16_t>();
    case DType::kF64:
      return py::dtype::of<double>();
    case DType::kI8:
      return py::dtype::of<int8_t>();
    case DType::kI16:
      return py::dtype::of<int16_t>();
    case DType::kI32:
      return py::dtype::of<int32_t>();
    case DType::kI64:
      return py::dtype::of<int64_t>();
    case DType::kU32:
      return py::dtype::of<uint32_t>();
    case DType::kBool:
      return py::dtype::of<bool>();
    default:
      return py::dtype::of<uint8_t>();
  }
}

// Bytes of `array`, which must be C-contiguous and hold exactly `bytes`.
const std::byte* raw(const py::array& array, int64_t bytes, const std::string& what) {
  if ((array.flags() & py::array::c_style) == 0) {
    raise({ErrorKind::kInvalidArgument, what + " must be C-contiguous", {}});
  }
  if (array.nbytes() != bytes) {
    raise(
        {ErrorKind::kShape,
         what + " needs " + std::to_string(bytes) + " bytes, got " + std::to_string(array.nbytes()),
         {}});
  }
  return static_cast<const std::byte*>(array.data());
}

CompileOptions to_options(const py::dict& d) {
  CompileOptions o;
  for (const auto& [key, value] : d) {
    const std::string name = py::str(key).cast<std::string>();
    if (name == "precision") {
      o.precision = value.cast<std::string>();
    } else if (name == "specialize") {
      o.specialize = value.cast<std::map<std::string, std::vector<int64_t>>>();
    } else if (name == "disabled_passes") {
      o.disabled_passes = value.cast<std::set<std::string>>();
    } else if (name == "opt_level") {
      o.opt_level = value.cast<int>();
    } else if (name == "reuse_memory") {
      o.reuse_memory = value.cast<bool>();
    } else if (name == "validate") {
      o.validate = value.cast<bool>();
    } else {
      raise({ErrorKind::kName, "no compile option `" + name + "`", {}});
    }
  }
  return o;
}

py::list ports(const std::vector<Port>& list, std::span<const Extent> extents) {
  py::list out;
  for (const Port& p : list) {
    py::list dims;
    for (const Dim& d : p.type.shape) {
      if (d.is_constant()) {
        dims.append(d.constant());
      } else {
        dims.append(d.to_string(extents));
      }
    }
    out.append(py::make_tuple(p.name, std::string(to_string(p.type.dtype)), py::tuple(dims)));
  }
  return out;
}

py::list run(Executable& e, const std::vector<py::array>& inputs,
             const std::vector<std::pair<std::string, int64_t>>& given,
             const std::vector<std::optional<py::array>>& into) {
  const Program& program = *e.program();
  if (inputs.size() != program.inputs().size() || into.size() != program.outputs().size()) {
    raise({ErrorKind::kInternal, "one array for each input and output", {}});
  }
  std::vector<InputView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs()[i];
    if ((inputs[i].flags() & py::array::c_style) == 0 ||
        inputs[i].itemsize() != info(port.type.dtype).block_bytes) {
      raise({ErrorKind::kInternal, "input `" + port.name + "` is not in its carrier form", {}});
    }
    views.push_back(
        {static_cast<const std::byte*>(inputs[i].data()), port.type.dtype, shape_of(inputs[i])});
  }
  const ExtentValues extents = unwrap(e.session().resolve_extents(views, given));
  py::list results;
  std::vector<std::byte*> pointers;
  for (size_t i = 0; i < into.size(); ++i) {
    const Port& port = program.outputs()[i];
    std::vector<py::ssize_t> shape;
    for (const Dim& d : port.type.shape) shape.push_back(d.evaluate(extents));
    py::array array;
    if (into[i].has_value()) {
      array = *into[i];
      const std::vector<int64_t> got = shape_of(array);
      if (!std::equal(got.begin(), got.end(), shape.begin(), shape.end()) || !array.writeable() ||
          (array.flags() & py::array::c_style) == 0 ||
          array.itemsize() != info(port.type.dtype).block_bytes) {
        raise({ErrorKind::kShape,
               "output `" + port.name + "` is " +
                   shape_text(std::vector<int64_t>(shape.begin(), shape.end())) +
                   " and needs a writeable, C-contiguous array; got " + shape_text(got),
               {}});
      }
    } else {
      array = py::array(carrier(port.type.dtype), shape);
    }
    pointers.push_back(static_cast<std::byte*>(array.mutable_data()));
    results.append(array);
  }
  Status status;
  {
    const py::gil_scoped_release release;
    status = e.session().run(extents, views, pointers);
  }
  unwrap(status);
  return results;
}

// Keeps a Python object alive from C++; released under the GIL.
std::shared_ptr<const void> keep_alive(const py::object& object) {
  return {object.ptr(), [held = new py::object(object)](const void*) {
            const py::gil_scoped_acquire acquire;
            delete held;
          }};
}

py::dict thunk_dict(const Thunk& t, std::span<const Extent> extents, std::span<const int64_t> at,
                    int64_t context) {
  py::dict d;
  d["kernel"] = t.kernel;
  d["label"] = t.label;
  d["node"] = t.node;
  d["flops"] = flops_at(t, at, context);
  const Traffic bytes = traffic(t, at, context);
  d["bytes_read"] = bytes.read;
  d["bytes_written"] = bytes.written;
  d["text"] = to_string(t, extents);
  py::list operands;
  for (const Operand& o : t.operands) {
    py::dict each;
    each["space"] = std::string(to_string(o.space));
    each["access"] = std::string(to_string(o.access));
    each["block"] = o.block;
    each["offset"] = o.offset.evaluate(at);
    each["bytes"] = o.bytes.evaluate(at);
    operands.append(each);
  }
  d["operands"] = operands;
  return d;
}

using GivenExtents = std::optional<std::map<std::string, int64_t>>;

const Bucket& bucket_at(const Executable& e, size_t index) {
  const std::vector<Bucket>& buckets = e.program()->buckets();
  if (index >= buckets.size()) {
    raise({ErrorKind::kInvalidArgument,
           "bucket " + std::to_string(index) + " of " + std::to_string(buckets.size()),
           {}});
  }
  return buckets[index];
}

// The bucket's maxima, but for the extents that are given.
ExtentValues values_at(const Executable& e, const Bucket& bucket, const GivenExtents& at) {
  ExtentValues values = bucket.maxima;
  if (!at) return values;
  const std::vector<Extent>& extents = e.program()->graph().extents();
  for (const auto& [name, value] : *at) {
    const auto it = std::find_if(extents.begin(), extents.end(),
                                 [&n = name](const Extent& x) { return x.name == n; });
    if (it == extents.end()) raise({ErrorKind::kName, "no extent named `" + name + "`", {}});
    const auto i = static_cast<size_t>(it - extents.begin());
    if (value < 0 || value > bucket.maxima[i]) {
      raise({ErrorKind::kInvalidArgument,
             "extent `" + name + "` = " + std::to_string(value) + " is outside 0.." +
                 std::to_string(bucket.maxima[i]),
             {}});
    }
    values[i] = value;
  }
  return values;
}

// How long a run would take on one of Apple's chips, by the cost model.
py::dict modelled(const Executable& e, size_t index, const std::string& chip_name,
                  const GivenExtents& at, int64_t context) {
  const AppleChip* chip = find_apple_chip(chip_name);
  if (chip == nullptr) raise({ErrorKind::kName, "no chip `" + chip_name + "` is modelled", {}});
  const Bucket& bucket = bucket_at(e, index);
  const ModelledTime t = model_time(*bucket.schedule, values_at(e, bucket, at), context, *chip);
  py::dict d;
  d["chip"] = chip_name;
  d["dispatches"] = t.dispatches;
  d["barriers"] = t.barriers;
  d["critical_path"] = t.critical_path;
  d["bytes"] = t.bytes;
  d["flops"] = t.flops;
  d["memory_s"] = t.memory_seconds;
  d["compute_s"] = t.compute_seconds;
  d["fixed_s"] = t.fixed_seconds;
  d["encode_s"] = t.encode_seconds;
  d["seconds"] = t.seconds;
  d["bandwidth_bytes_s"] = chip->bandwidth;
  return d;
}

// One bucket's schedule as plain data; sizes at `extents`, by default the bucket's maxima.
py::dict schedule_dict(const Executable& e, size_t index, const GivenExtents& at, int64_t context) {
  const Program& program = *e.program();
  const Bucket& bucket = bucket_at(e, index);
  const Schedule& s = *bucket.schedule;
  const std::vector<Extent>& extents = program.graph().extents();
  const ExtentValues values = values_at(e, bucket, at);
  py::dict maxima;
  for (size_t i = 0; i < extents.size(); ++i) maxima[py::str(extents[i].name)] = bucket.maxima[i];
  py::dict d;
  d["maxima"] = maxima;
  py::list thunks;
  for (const Thunk& t : s.thunks) thunks.append(thunk_dict(t, extents, values, context));
  d["thunks"] = thunks;
  d["barrier_before"] = std::vector<int>(s.barrier_before.begin(), s.barrier_before.end());
  py::list arena_values;
  for (const ArenaValue& v : s.values) {
    py::dict each;
    each["label"] = v.label;
    each["block"] = v.block;
    each["offset"] = v.offset;
    each["bytes"] = v.max_bytes;
    each["actual_bytes"] = v.bytes.evaluate(values);
    each["first"] = v.first;
    each["last"] = v.last;
    arena_values.append(each);
  }
  d["values"] = arena_values;
  d["arena_bytes"] = s.arena_bytes();
  d["arena_bound"] = s.arena_bound;
  d["barriers"] = s.barriers();
  d["groups"] = s.groups();
  d["critical_path"] = s.critical_path;
  d["in_place_merges"] = s.in_place_merges;
  d["views"] = s.views;
  d["plan_seconds"] = s.seconds;
  d["text"] = to_string(s);
  return d;
}

}  // namespace

void bind_executable(py::module_& m) {
  py::class_<Executable>(m, "Executable", "Program, weights and session; see bessemer.Executable.")
      .def(py::init([](const PyGraph& g, const std::string& device, const py::dict& options,
                       int threads, const std::string& isa) {
             const CompileOptions o = to_options(options);
             const DevicePtr d = unwrap(open_device(device, {threads, isa}));
             const Graph graph = *g.graph;
             py::gil_scoped_release release;
             auto result = Executable::create(graph, d, o);
             py::gil_scoped_acquire acquire;
             return unwrap(std::move(result));
           }),
           py::arg("graph"), py::arg("device"), py::arg("options"), py::arg("threads"),
           py::arg("isa"))
      .def("run", run, py::arg("inputs"), py::arg("extents"), py::arg("into"))
      .def("inputs",
           [](const Executable& e) {
             return ports(e.program()->inputs(), e.program()->graph().extents());
           })
      .def("outputs",
           [](const Executable& e) {
             return ports(e.program()->outputs(), e.program()->graph().extents());
           })
      .def("params",
           [](const Executable& e) {
             return ports(e.program()->params(), e.program()->graph().extents());
           })
      .def("states",
           [](const Executable& e) {
             return ports(e.program()->states(), e.program()->graph().extents());
           })
      .def(
          "set_weight",
          [](Executable& e, const std::string& name, const std::string& dtype,
             const std::vector<int64_t>& shape, const py::array& data) {
            const DType d = dtype_named(dtype);
            int64_t elements = 1;
            for (int64_t n : shape) elements *= n;
            const std::byte* bytes = raw(data, bytes_of(d, elements), "param `" + name + "`");
            unwrap(e.weights()->set(name, d, shape, bytes));
          },
          py::arg("name"), py::arg("dtype"), py::arg("shape"), py::arg("data"))
      .def(
          "map_weight",
          [](Executable& e, const std::string& name, const std::string& dtype,
             const std::vector<int64_t>& shape, const py::array& data) {
            raw(data, data.nbytes(), "param `" + name + "`");
            unwrap(e.weights()->map(name, dtype_named(dtype), shape,
                                    static_cast<const std::byte*>(data.data()), data.nbytes(),
                                    keep_alive(data)));
          },
          py::arg("name"), py::arg("dtype"), py::arg("shape"), py::arg("data"),
          "Uses the array's memory in place and keeps the array alive.")
      .def(
          "read_weight",
          [](const Executable& e, const std::string& name) {
            for (const Port& p : e.program()->params()) {
              if (p.name != name) continue;
              py::array out(carrier(p.type.dtype),
                            std::vector<py::ssize_t>{static_cast<py::ssize_t>(
                                bytes_at(p.type, {}) / carrier(p.type.dtype).itemsize())});
              unwrap(e.weights()->read(name, static_cast<std::byte*>(out.mutable_data())));
              return out;
            }
            raise({ErrorKind::kName, "no param named `" + name + "`", {}});
          },
          py::arg("name"), "A copy, flat, in carrier elements.")
      .def("seal", [](Executable& e) { unwrap(e.weights()->seal()); })
      .def("sealed", [](const Executable& e) { return e.weights()->sealed(); })
      .def(
          "read_state",
          [](Executable& e, const std::string& name) {
            for (const Port& p : e.program()->states()) {
              if (p.name != name) continue;
              std::vector<py::ssize_t> shape;
              for (const Dim& d : p.type.shape) shape.push_back(d.constant());
              py::array out(carrier(p.type.dtype), shape);
              unwrap(e.session().read_state(name, static_cast<std::byte*>(out.mutable_data()),
                                            out.nbytes()));
              return out;
            }
            raise({ErrorKind::kName, "no state named `" + name + "`", {}});
          },
          py::arg("name"))
      .def(
          "write_state",
          [](Executable& e, const std::string& name, const py::array& data) {
            unwrap(e.session().write_state(name, raw(data, data.nbytes(), "state `" + name + "`"),
                                           data.nbytes()));
          },
          py::arg("name"), py::arg("data"))
      .def(
          "fill_states",
          [](Executable& e, uint8_t value) {
            unwrap(e.session().fill_states(static_cast<std::byte>(value)));
          },
          py::arg("value"))
      .def(
          "poison_arena",
          [](Executable& e, uint8_t value) {
            unwrap(e.session().poison_arena(static_cast<std::byte>(value)));
          },
          py::arg("value"))
      .def("read_arena",
           [](Executable& e) {
             const std::vector<std::byte> bytes = unwrap(e.session().read_arena());
             return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def(
          "set_profiling", [](Executable& e, bool on) { unwrap(e.session().set_profiling(on)); },
          py::arg("on"))
      .def("times",
           [](Executable& e) {
             std::vector<std::vector<std::pair<double, int64_t>>> out;
             for (const auto& bucket : unwrap(e.session().times())) {
               auto& list = out.emplace_back();
               for (const ThunkTime& t : bucket) list.emplace_back(t.seconds, t.calls);
             }
             return out;
           })
      .def("buckets",
           [](const Executable& e) {
             std::vector<std::map<std::string, int64_t>> out;
             for (const Bucket& b : e.program()->buckets()) {
               auto& map = out.emplace_back();
               for (size_t i = 0; i < b.maxima.size(); ++i) {
                 map[e.program()->graph().extents()[i].name] = b.maxima[i];
               }
             }
             return out;
           })
      .def("schedule", schedule_dict, py::arg("bucket"), py::arg("extents") = py::none(),
           py::arg("context") = kWholeContext)
      .def("modelled", modelled, py::arg("bucket"), py::arg("chip"),
           py::arg("extents") = py::none(), py::arg("context") = kWholeContext)
      .def("graph_text", [](const Executable& e) { return to_string(e.program()->graph()); })
      .def("fused_text", [](const Executable& e) { return to_string(e.program()->fused()); })
      .def("passes",
           [](const Executable& e) {
             std::vector<std::tuple<std::string, int64_t, double>> out;
             for (const passes::PassReport& r : e.program()->pass_reports()) {
               out.emplace_back(r.name, r.rewrites, r.seconds);
             }
             return out;
           })
      .def("memory",
           [](const Executable& e) {
             std::map<std::string, int64_t> out;
             out["weights"] = e.weights()->bytes();
             out["weights_mapped"] = e.weights()->mapped_bytes();
             out["states"] = e.session().state_bytes();
             out["arena"] = e.session().arena_bytes();
             out["arena_bound"] = e.program()->arena_bound();
             return out;
           })
      .def_property_readonly("compile_seconds",
                             [](const Executable& e) { return e.program()->compile_seconds(); })
      .def_property_readonly("device",
                             [](const Executable& e) { return e.program()->device()->name(); })
      .def_property_readonly(
          "target", [](const Executable& e) { return e.program()->device()->target().name; });
  m.def(
      "solve_arena_csv",
      [](const std::string& text, int64_t capacity, double budget_s, int threads) {
        py::gil_scoped_release release;
        auto result = solve_arena_csv(text, capacity, budget_s, threads);
        py::gil_scoped_acquire acquire;
        const ArenaCsvReport report = unwrap(std::move(result));
        py::dict d;
        d["found"] = report.found;
        d["proven_impossible"] = report.proven;
        d["peak"] = report.peak;
        d["bound"] = report.bound;
        d["seconds"] = report.seconds;
        d["csv"] = report.csv;
        return d;
      },
      py::arg("text"), py::arg("capacity"), py::arg("budget_s"), py::arg("threads"),
      "Packs a static allocation problem; see cpp/plan/arena_csv.h.");
  m.def("pass_names", passes::pass_names, "Names of all passes in their order.");
  m.def("release_free_memory", release_free_memory, py::call_guard<py::gil_scoped_release>(),
        "Gives memory that the allocator holds unused back to the system.");
}

}  // namespace bessemer::python
