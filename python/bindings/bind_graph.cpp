// Graph construction. Dims cross as ints or PyDim; attributes are converted by the op's own specs.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>

#include "bind.h"
#include "bind_graph.h"
#include "ops/op_impl.h"

namespace py = pybind11;

namespace bessemer::python {
namespace {

Shape to_shape(const PyGraph& g, const py::handle& dims) {
  Shape shape;
  for (const py::handle& d : dims) shape.push_back(to_dim(g, d));
  return shape;
}

Error attr_error(Op op, const std::string& name, const std::string& expected) {
  return {ErrorKind::kInvalidArgument,
          "attribute `" + name + "` of `" + std::string(to_string(op)) + "` must be " + expected,
          {}};
}

AttrValue to_attr(const PyGraph& g, Op op, const ops::AttrSpec& spec, const py::handle& value) {
  struct Visitor {
    const PyGraph& g;
    Op op;
    const char* name;
    py::handle value;
    AttrValue operator()(bool) const {
      if (!py::isinstance<py::bool_>(value)) raise(attr_error(op, name, "a bool"));
      return value.cast<bool>();
    }
    AttrValue operator()(int64_t) const {
      if (!PyIndex_Check(value.ptr()) || py::isinstance<py::bool_>(value)) {
        raise(attr_error(op, name, "an int"));
      }
      return value.cast<int64_t>();
    }
    AttrValue operator()(double) const {
      if (!PyFloat_Check(value.ptr()) && !PyIndex_Check(value.ptr())) {
        raise(attr_error(op, name, "a number"));
      }
      return value.cast<double>();
    }
    AttrValue operator()(const std::string&) const {
      if (!py::isinstance<py::str>(value)) raise(attr_error(op, name, "a string"));
      return value.cast<std::string>();
    }
    AttrValue operator()(const std::vector<int64_t>&) const {
      try {
        return value.cast<std::vector<int64_t>>();
      } catch (const py::cast_error&) {
        raise(attr_error(op, name, "a list of ints"));
      }
    }
    AttrValue operator()(DType) const { return dtype_named(py::str(value).cast<std::string>()); }
    AttrValue operator()(const Shape&) const { return to_shape(g, value); }
  };
  return std::visit(Visitor{g, op, spec.name, value}, spec.example);
}

py::list value_handles(const PyGraph& g, Value node) {
  py::list out;
  for (uint32_t i = 0; i < g.graph->node(node).results.size(); ++i) {
    out.append(py::make_tuple(node.node, i));
  }
  return out;
}

Value to_value(const std::pair<uint32_t, uint32_t>& handle) {
  return {handle.first, handle.second};
}

py::list add_op(PyGraph& g, const std::string& name,
                const std::vector<std::pair<uint32_t, uint32_t>>& operands, const py::dict& attrs,
                std::string where) {
  const auto op = parse_op(name);
  if (!op) raise({ErrorKind::kName, "no op named `" + name + "`", {}});
  std::vector<Value> values;
  for (const auto& o : operands) values.push_back(to_value(o));
  Attrs converted;
  const ops::OpImpl* impl = ops::find_impl(*op);
  for (const auto& [key, value] : attrs) {
    const std::string attr = py::str(key).cast<std::string>();
    const ops::AttrSpec* found = nullptr;
    if (impl != nullptr) {
      for (const ops::AttrSpec& spec : impl->attrs) {
        if (attr == spec.name) found = &spec;
      }
    }
    if (found == nullptr) {
      raise({ErrorKind::kInvalidArgument, "`" + name + "` has no attribute `" + attr + "`", {}});
    }
    converted.set(attr, to_attr(g, *op, *found, value));
  }
  return value_handles(g, unwrap(ops::add_node(*g.graph, *op, std::move(values),
                                               std::move(converted), std::move(where))));
}

std::pair<uint32_t, uint32_t> add_leaf(PyGraph& g, const std::string& kind, std::string name,
                                       const std::string& dtype, const py::list& shape,
                                       std::string where) {
  const auto op = parse_op(kind);
  if (!op) raise({ErrorKind::kInternal, "no leaf kind `" + kind + "`", {}});
  Type type{dtype_named(dtype), to_shape(g, shape)};
  const Value v =
      unwrap(ops::add_leaf(*g.graph, *op, std::move(name), std::move(type), std::move(where)));
  return {v.node, v.result};
}

std::pair<uint32_t, uint32_t> add_constant(PyGraph& g, const std::string& dtype,
                                           const std::vector<int64_t>& shape, const py::bytes& data,
                                           std::string where) {
  const std::string_view view = data;
  std::vector<std::byte> bytes(view.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), view.data(), view.size());
  Type type{dtype_named(dtype), Shape(shape.begin(), shape.end())};
  const Value v =
      unwrap(ops::add_constant(*g.graph, std::move(type), std::move(bytes), std::move(where)));
  return {v.node, v.result};
}

py::tuple type_of(const PyGraph& g, const std::pair<uint32_t, uint32_t>& handle) {
  const Type& type = g.graph->type(to_value(handle));
  py::list dims;
  for (const Dim& d : type.shape) dims.append(from_dim(g, d));
  return py::make_tuple(std::string(to_string(type.dtype)), py::tuple(dims));
}

PyDim combine(const PyDim& a, const py::handle& b, const char op) {
  Dim other;
  if (py::isinstance<PyDim>(b)) {
    const auto& d = b.cast<const PyDim&>();
    if (d.graph.graph != a.graph.graph) {
      raise({ErrorKind::kInvalidArgument, "dims of different graphs do not mix", {}});
    }
    other = d.dim;
  } else {
    other = Dim(b.cast<int64_t>());
  }
  switch (op) {
    case '+':
      return {a.graph, a.dim + other};
    case '-':
      return {a.graph, a.dim - other};
    case '*':
      return {a.graph, a.dim * other};
    default: {
      Dim q;
      if (other == Dim(0) || !a.dim.divide_exactly(other, &q)) {
        raise({ErrorKind::kShape,
               a.dim.to_string(a.graph.graph->extents()) + " is not a multiple of " +
                   other.to_string(a.graph.graph->extents()),
               {}});
      }
      return {a.graph, q};
    }
  }
}

}  // namespace

Dim to_dim(const PyGraph& g, const py::handle& value) {
  if (py::isinstance<PyDim>(value)) {
    const auto& d = value.cast<const PyDim&>();
    if (d.graph.graph != g.graph) {
      raise({ErrorKind::kInvalidArgument, "a dim of another graph", {}});
    }
    return d.dim;
  }
  if (py::isinstance<py::str>(value)) {
    return unwrap(Dim::parse(value.cast<std::string>(), g.graph->extents()));
  }
  if (!PyIndex_Check(value.ptr()) || py::isinstance<py::bool_>(value)) {
    raise({ErrorKind::kInvalidArgument,
           "a dim is an int, an extent or a Dim, got " + py::repr(value).cast<std::string>(),
           {}});
  }
  return Dim(value.cast<int64_t>());
}

py::object from_dim(const PyGraph& g, const Dim& dim) {
  if (dim.is_constant()) return py::int_(dim.constant());
  return py::cast(PyDim{g, dim});
}

void bind_graph(py::module_& m) {
  py::class_<PyDim>(m, "Dim", "A size: an integer polynomial of a graph's extents.")
      .def("__add__", [](const PyDim& a, const py::object& b) { return combine(a, b, '+'); })
      .def("__radd__", [](const PyDim& a, const py::object& b) { return combine(a, b, '+'); })
      .def("__sub__", [](const PyDim& a, const py::object& b) { return combine(a, b, '-'); })
      .def("__mul__", [](const PyDim& a, const py::object& b) { return combine(a, b, '*'); })
      .def("__rmul__", [](const PyDim& a, const py::object& b) { return combine(a, b, '*'); })
      .def("__floordiv__", [](const PyDim& a, const py::object& b) { return combine(a, b, '/'); })
      .def("__eq__",
           [](const PyDim& a, const py::object& b) {
             return py::isinstance<PyDim>(b) &&
                    b.cast<const PyDim&>().graph.graph == a.graph.graph &&
                    b.cast<const PyDim&>().dim == a.dim;
           })
      .def("__hash__",
           [](const PyDim& a) {
             return py::hash(py::str(a.dim.to_string(a.graph.graph->extents())));
           })
      .def("__repr__", [](const PyDim& a) { return a.dim.to_string(a.graph.graph->extents()); });

  py::class_<PyGraph>(m, "Graph", "A graph under construction; bessemer.Graph wraps it.")
      .def(py::init(
               [](std::string name) { return PyGraph{std::make_shared<Graph>(std::move(name))}; }),
           py::arg("name"))
      .def_static(
          "parse",
          [](const std::string& text) {
            Graph graph = unwrap(parse_graph(text));
            unwrap(ops::verify(graph));
            return PyGraph{std::make_shared<Graph>(std::move(graph))};
          },
          py::arg("text"))
      .def_property_readonly("name", [](const PyGraph& g) { return g.graph->name(); })
      .def(
          "extent",
          [](PyGraph& g, const std::string& name, int64_t max) {
            return PyDim{g, Dim::extent(unwrap(g.graph->add_extent(name, max)))};
          },
          py::arg("name"), py::arg("max"))
      .def("extents",
           [](const PyGraph& g) {
             py::dict out;
             for (const Extent& e : g.graph->extents()) out[py::str(e.name)] = e.max;
             return out;
           })
      .def("leaf", add_leaf, py::arg("kind"), py::arg("name"), py::arg("dtype"), py::arg("shape"),
           py::arg("where"))
      .def("constant", add_constant, py::arg("dtype"), py::arg("shape"), py::arg("data"),
           py::arg("where"))
      .def("op", add_op, py::arg("name"), py::arg("operands"), py::arg("attrs"), py::arg("where"))
      .def("type_of", type_of, py::arg("value"))
      .def(
          "output",
          [](PyGraph& g, const std::string& name, std::pair<uint32_t, uint32_t> value) {
            unwrap(g.graph->add_output(name, to_value(value)));
          },
          py::arg("name"), py::arg("value"))
      .def(
          "update",
          [](PyGraph& g, const std::string& name, std::pair<uint32_t, uint32_t> value) {
            unwrap(g.graph->update_state(name, to_value(value)));
          },
          py::arg("name"), py::arg("value"))
      .def("nodes", [](const PyGraph& g) { return g.graph->nodes().size(); })
      .def("verify", [](const PyGraph& g) { unwrap(ops::verify(*g.graph)); })
      .def("identical",
           [](const PyGraph& a, const PyGraph& b) { return identical(*a.graph, *b.graph); })
      .def("text", [](const PyGraph& g) { return to_string(*g.graph); });

  m.def(
      "op_table",
      [] {
        py::list rows;
        static constexpr const char* kClasses[] = {"leaf", "elementwise", "structured", "fused"};
        static constexpr const char* kRules[] = {"",        "float", "numeric", "bits",
                                                 "logical", "test",  "compare", "select"};
        for (int i = 0; i < op_count(); ++i) {
          const OpInfo& o = info(static_cast<Op>(i));
          py::dict row;
          row["name"] = py::str(std::string(o.name));
          row["class"] = kClasses[static_cast<int>(o.op_class)];
          row["rule"] = kRules[static_cast<int>(o.rule)];
          row["min_operands"] = o.min_operands;
          row["max_operands"] = o.max_operands;
          row["float"] = o.has_float_expr;
          row["int"] = o.has_int_expr;
          row["doc"] = py::str(std::string(o.doc));
          row["example"] = py::str(std::string(o.example));
          rows.append(row);
        }
        return rows;
      },
      "The op table: one dict a row.");
}

}  // namespace bessemer::python
