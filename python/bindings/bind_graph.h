#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "ir/graph.h"

namespace bessemer::python {

struct PyGraph {
  std::shared_ptr<Graph> graph;
};

struct PyDim {
  PyGraph graph;
  Dim dim;
};

// Python int, str (a polynomial of known extents) or Dim to a Dim, and back (int when constant).
[[nodiscard]] Dim to_dim(const PyGraph& g, const pybind11::handle& value);
[[nodiscard]] pybind11::object from_dim(const PyGraph& g, const Dim& dim);

}  // namespace bessemer::python
