// Reads GGUF model files (version 2 and 3, little endian) in place: names, metadata and tensor data
// are views of the file's bytes. Opening costs one walk over the header and allocates only for what
// it found there, so a hostile count cannot make it allocate.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/mapped_file.h"

namespace bessemer {

// Values are those of the format.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
[[nodiscard]] std::string_view to_string(GgufType type);  // "u8", "string", "array"
[[nodiscard]] size_t bytes_of(GgufType scalar);           // 0 for strings and arrays

// One metadata value. `data` begins at the value itself (for an array: at its first element) and is
// not aligned. A string's bytes exclude its length.
struct GgufValue {
  GgufType type = GgufType::kU8;  // kArray for arrays
  GgufType element = GgufType::kU8;
  uint64_t count = 1;  // elements of an array
  std::span<const std::byte> data;

  // Each fails with kParse, saying what the value is instead. Integers of every width and sign are
  // accepted where the value fits; as_float accepts f32 and f64.
  [[nodiscard]] Result<int64_t> as_int() const;
  [[nodiscard]] Result<double> as_float() const;
  [[nodiscard]] Result<bool> as_bool() const;
  [[nodiscard]] Result<std::string_view> as_string() const;
};

struct GgufEntry {
  std::string_view key;  // valid UTF-8, not empty
  GgufValue value;
};

struct GgufTensor {
  static constexpr uint32_t kMaxRank = 4;

  std::string_view name;  // valid UTF-8, not empty
  DType dtype = DType::kF32;
  uint32_t rank = 0;
  // Row-major, the slowest-varying size first: the reverse of the file's order. A linear weight is
  // [outputs, inputs], and rows are contiguous. The last size is a multiple of the dtype's block.
  std::array<int64_t, kMaxRank> sizes{};
  uint64_t offset = 0;  // bytes from the start of the file; a multiple of the file's alignment
  uint64_t bytes = 0;   // offset + bytes lies inside the file

  [[nodiscard]] std::span<const int64_t> shape() const { return {sizes.data(), rank}; }
};

// Random access to an array of strings: an offset table over the file's bytes, 8 bytes a string.
class GgufStrings {
 public:
  // Precondition: `value` is an array of strings that GgufIndex::parse accepted.
  explicit GgufStrings(const GgufValue& value);
  GgufStrings() = default;

  [[nodiscard]] size_t size() const { return offsets_.size(); }
  // Precondition: i < size().
  [[nodiscard]] std::string_view operator[](size_t i) const;

 private:
  const std::byte* data_ = nullptr;
  std::vector<uint64_t> offsets_;  // of each string's length field
};

// Strict UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

// What a file holds. Views point into the bytes given to parse, which must outlive the index.
// Immutable, so safe to read from any thread.
class GgufIndex {
 public:
  // Checks the whole header: after success every view and every tensor lies inside `file`, names
  // are unique, and tensor types are ones this build has. kParse for malformed bytes, kUnsupported
  // (naming the tensor, type or version) for well-formed files of another kind.
  [[nodiscard]] static Result<GgufIndex> parse(std::span<const std::byte> file);

  [[nodiscard]] uint32_t version() const { return version_; }
  [[nodiscard]] uint64_t alignment() const { return alignment_; }  // bytes
  [[nodiscard]] uint64_t header_bytes() const { return header_bytes_; }
  [[nodiscard]] std::span<const GgufEntry> entries() const { return entries_; }   // file order
  [[nodiscard]] std::span<const GgufTensor> tensors() const { return tensors_; }  // file order

  // nullptr if there is none of that name. O(log n).
  [[nodiscard]] const GgufValue* find(std::string_view key) const;
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const;

 private:
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  uint64_t header_bytes_ = 0;  // everything before the tensor data, without the padding
  std::vector<GgufEntry> entries_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> entry_order_;   // indices sorted by key
  std::vector<uint32_t> tensor_order_;  // indices sorted by name
};

// A mapped file with its index. Share it: whoever holds weights that point into the mapping keeps
// the file alive.
class GgufFile {
 public:
  // Errors carry the path as a note.
  [[nodiscard]] static Result<std::shared_ptr<const GgufFile>> open(const std::string& path);

  [[nodiscard]] const GgufIndex& index() const { return index_; }
  [[nodiscard]] const MappedFile& file() const { return file_; }
  // The tensor's bytes. Precondition: `tensor` is of this file.
  [[nodiscard]] std::span<const std::byte> data(const GgufTensor& tensor) const {
    return file_.bytes().subspan(tensor.offset, tensor.bytes);
  }

 private:
  GgufFile(MappedFile file, GgufIndex index) : file_(std::move(file)), index_(std::move(index)) {}
  MappedFile file_;
  GgufIndex index_;
};

}  // namespace bessemer
