// Model files: what a GGUF file holds, as Python values. bessemer.frontends.gguf puts a mapping
// over the metadata.
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <cstring>
#include <memory>
#include <string>

#include "bind.h"
#include "runtime/bpe_model.h"
#include "runtime/gguf.h"
#include "runtime/sentencepiece_model.h"

namespace py = pybind11;

namespace bessemer::python {
namespace {

using FilePtr = std::shared_ptr<const GgufFile>;

py::str decode(std::string_view text, const std::string& key) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (decoded == nullptr) {
    PyErr_Clear();
    raise({ErrorKind::kParse, "GGUF: a string of metadata `" + key + "` is not UTF-8", {}});
  }
  return py::reinterpret_steal<py::str>(decoded);
}

// The type code of Python's array module; nullptr for what is not a number.
const char* array_code(GgufType type) {
  switch (type) {
    case GgufType::kU8:
      return "B";
    case GgufType::kI8:
      return "b";
    case GgufType::kU16:
      return "H";
    case GgufType::kI16:
      return "h";
    case GgufType::kU32:
      return "I";
    case GgufType::kI32:
      return "i";
    case GgufType::kU64:
      return "Q";
    case GgufType::kI64:
      return "q";
    case GgufType::kF32:
      return "f";
    case GgufType::kF64:
      return "d";
    default:
      return nullptr;
  }
}

py::object array_value(const GgufValue& value, const std::string& key) {
  if (value.element == GgufType::kString) {
    const GgufStrings strings(value);
    py::list list(strings.size());
    for (size_t i = 0; i < strings.size(); ++i) list[i] = decode(strings[i], key);
    return list;
  }
  if (value.element == GgufType::kBool) {
    py::list list(value.data.size());
    for (size_t i = 0; i < value.data.size(); ++i)
      list[i] = py::bool_(value.data[i] != std::byte{0});
    return list;
  }
  const py::bytes bytes(reinterpret_cast<const char*>(value.data.data()), value.data.size());
  return py::module_::import("array").attr("array")(array_code(value.element), bytes);
}

py::object scalar_value(const GgufValue& value, const std::string& key) {
  switch (value.type) {
    case GgufType::kBool:
      return py::bool_(unwrap(value.as_bool()));
    case GgufType::kString:
      return decode(unwrap(value.as_string()), key);
    case GgufType::kF32:
    case GgufType::kF64:
      return py::float_(unwrap(value.as_float()));
    case GgufType::kU64: {  // the one integer type that as_int may refuse
      uint64_t wide = 0;
      std::memcpy(&wide, value.data.data(), sizeof wide);
      return py::int_(wide);
    }
    default:
      return py::int_(unwrap(value.as_int()));
  }
}

const GgufValue& find(const GgufFile& file, const std::string& key) {
  const GgufValue* value = file.index().find(key);
  if (value == nullptr) {
    raise({ErrorKind::kName, "no metadata `" + key + "`", {"in `" + file.file().path() + "`"}});
  }
  return *value;
}

// One tensor's description; keeps its file mapped.
struct TensorInfo {
  FilePtr file;
  const GgufTensor* tensor;

  [[nodiscard]] py::typing::Tuple<py::int_, py::ellipsis> shape() const {
    py::tuple sizes(tensor->rank);
    for (uint32_t d = 0; d < tensor->rank; ++d) sizes[d] = py::int_(tensor->sizes[d]);
    return sizes;
  }
  [[nodiscard]] py::memoryview data() const {
    const py::memoryview whole(py::cast(std::const_pointer_cast<GgufFile>(file)));
    const py::slice range(static_cast<py::ssize_t>(tensor->offset),
                          static_cast<py::ssize_t>(tensor->offset + tensor->bytes), 1);
    return whole[range];
  }
  [[nodiscard]] std::string text() const {
    return "TensorInfo(" + std::string(tensor->name) + ", " +
           std::string(to_string(tensor->dtype)) + ", shape=" + std::string(py::str(shape())) + ")";
  }
};

// An array of strings read by index, so that a vocabulary of 262,144 costs 2 MiB and no objects.
struct StringTable {
  FilePtr file;
  GgufStrings strings;

  [[nodiscard]] py::bytes at(int64_t i) const {
    if (i < 0 || static_cast<uint64_t>(i) >= strings.size()) throw py::index_error();
    const std::string_view text = strings[static_cast<size_t>(i)];
    return {text.data(), text.size()};
  }
};

FilePtr open(const py::object& path) {
  const auto name = py::reinterpret_steal<py::object>(PyOS_FSPath(path.ptr()));
  if (!name) throw py::error_already_set();
  const auto encoded = py::module_::import("os").attr("fsencode")(name).cast<std::string>();
  auto opened = [&] {
    const py::gil_scoped_release release;
    return GgufFile::open(encoded);
  }();
  return unwrap(std::move(opened));
}

}  // namespace

void bind_gguf(py::module_& m) {
  py::class_<TensorInfo>(m, "GgufTensor", "Where a tensor lies in a GGUF file, and what it is.")
      .def_property_readonly("name", [](const TensorInfo& t) { return py::str(t.tensor->name); })
      .def_property_readonly(
          "dtype", [](const TensorInfo& t) { return py::str(to_string(t.tensor->dtype)); },
          "Name of the element type: \"f32\", \"q4_1\".")
      .def_property_readonly("shape", &TensorInfo::shape,
                             "Sizes, row-major: a linear weight is (outputs, inputs).")
      .def_property_readonly(
          "offset", [](const TensorInfo& t) { return t.tensor->offset; },
          "Bytes from the start of the file.")
      .def_property_readonly("nbytes", [](const TensorInfo& t) { return t.tensor->bytes; })
      .def("data", &TensorInfo::data, "Its bytes: a read-only view into the mapping, not a copy.")
      .def("__repr__", &TensorInfo::text);

  py::class_<StringTable>(m, "GgufStrings",
                          "An array of strings of a GGUF file, as bytes by index.")
      .def("__len__", [](const StringTable& t) { return t.strings.size(); })
      .def("__getitem__", &StringTable::at, py::arg("index"));

  // pybind11 holds no pointers to const; nothing bound here changes the file.
  py::class_<GgufFile, std::shared_ptr<GgufFile>>(
      m, "GgufFile", py::buffer_protocol(),
      "A memory-mapped GGUF file. Immutable; safe to use "
      "from any thread. Its buffer is the whole file.")
      .def(py::init([](const py::object& path) {
             return std::const_pointer_cast<GgufFile>(open(path));
           }),
           py::arg("path"))
      .def_buffer([](GgufFile& f) {
        const auto bytes = f.file().bytes();
        return py::buffer_info(const_cast<std::byte*>(bytes.data()), 1, "B", 1, {bytes.size()}, {1},
                               /*readonly=*/true);
      })
      .def_property_readonly(
          "path",
          [](const GgufFile& f) {
            return py::module_::import("os").attr("fsdecode")(py::bytes(f.file().path()));
          })
      .def_property_readonly(
          "nbytes", [](const GgufFile& f) { return f.file().bytes().size(); }, "Size of the file.")
      .def_property_readonly(
          "header_nbytes", [](const GgufFile& f) { return f.index().header_bytes(); },
          "Bytes before the tensor data.")
      .def_property_readonly(
          "data_address",
          [](const GgufFile& f) { return reinterpret_cast<uintptr_t>(f.file().bytes().data()); },
          "Address of the file's first byte, valid while this object lives.")
      .def_property_readonly("version", [](const GgufFile& f) { return f.index().version(); })
      .def_property_readonly(
          "alignment", [](const GgufFile& f) { return f.index().alignment(); },
          "Of tensor data, in bytes.")
      .def(
          "keys",
          [](const GgufFile& f) {
            py::typing::List<py::str> keys;
            for (const GgufEntry& e : f.index().entries()) keys.append(py::str(e.key));
            return keys;
          },
          "Keys of the metadata, in file order.")
      .def(
          "__contains__",
          [](const GgufFile& f, const std::string& key) { return f.index().find(key) != nullptr; },
          py::arg("key"))
      .def(
          "value",
          [](const GgufFile& f, const std::string& key) -> py::object {
            const GgufValue& value = find(f, key);
            return value.type == GgufType::kArray ? array_value(value, key)
                                                  : scalar_value(value, key);
          },
          py::arg("key"),
          "One metadata value: int, float, bool, str, list[str], list[bool] or array.array.\n\n"
          "Raises UnknownNameError for an unknown key, ParseError for text that is not UTF-8.")
      .def(
          "strings",
          [](const std::shared_ptr<GgufFile>& f, const std::string& key) {
            const GgufValue& value = find(*f, key);
            if (value.type != GgufType::kArray || value.element != GgufType::kString) {
              raise({ErrorKind::kParse,
                     "GGUF: metadata `" + key + "` is not an array of strings",
                     {"in `" + f->file().path() + "`"}});
            }
            return StringTable{f, GgufStrings(value)};
          },
          py::arg("key"), "An array of strings, read by index as bytes without a copy of the rest.")
      .def(
          "tensors",
          [](const std::shared_ptr<GgufFile>& f) {
            py::typing::Dict<py::str, TensorInfo> tensors;
            for (const GgufTensor& t : f->index().tensors()) {
              tensors[py::str(t.name)] = py::cast(TensorInfo{f, &t});
            }
            return tensors;
          },
          "All tensors by name, in file order; a new dict at each call.")
      .def(
          "sentencepiece_model",
          [](const GgufFile& f) {
            const auto model = unwrap(sentencepiece_model(f.index()));
            return py::bytes(model);
          },
          "The vocabulary as a serialised SentencePiece ModelProto; see "
          "runtime/sentencepiece_model.h.")
      .def(
          "bpe_tokenizer_json",
          [](const GgufFile& f, bool ignore_merges) {
            const auto json = unwrap(bpe_tokenizer_json(f.index(), ignore_merges));
            return py::bytes(json);
          },
          py::arg("ignore_merges"),
          "The byte-level BPE vocabulary as the `tokenizers` library loads it (JSON, UTF-8); see "
          "runtime/bpe_model.h.")
      .def(
          "release_header",
          [](const GgufFile& f) { f.file().release(0, f.index().header_bytes()); },
          "Takes the header's pages out of this process's resident memory until read again.");
}

}  // namespace bessemer::python
