#include "runtime/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/gguf_types.h"

namespace bessemer {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read in host byte order");

constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

Error malformed(std::string message) {
  return {ErrorKind::kParse, "GGUF: " + std::move(message), {}};
}

Error unsupported(std::string message) {
  return {ErrorKind::kUnsupported, "GGUF: " + std::move(message), {}};
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

// A cursor over the file. Every read is checked against what is left; what is read is named, so
// that a truncated file says where it ends.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : file_(file) {}

  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] uint64_t left() const { return file_.size() - position_; }

  template <class T>
  Result<T> read(std::string_view what) {
    BSM_ASSIGN(const auto bytes, take(sizeof(T), what));
    return load<T>(bytes.data());
  }

  Result<std::span<const std::byte>> take(uint64_t size, std::string_view what) {
    if (size > left()) {
      return malformed("the file ends inside " + std::string(what) + ": " + std::to_string(size) +
                       " bytes are needed at byte " + std::to_string(position_) + ", " +
                       std::to_string(left()) + " are left");
    }
    const auto bytes = file_.subspan(position_, size);
    position_ += size;
    return bytes;
  }

  Result<std::string_view> text(std::string_view what) {
    BSM_ASSIGN(const uint64_t size, read<uint64_t>(what));
    BSM_ASSIGN(const auto bytes, take(size, what));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // A key or a tensor name.
  Result<std::string_view> name(std::string_view what) {
    const uint64_t at = position_;
    BSM_ASSIGN(const std::string_view found, text(what));
    if (found.empty() || !is_utf8(found)) {
      return malformed(std::string(what) + " at byte " + std::to_string(at) +
                       (found.empty() ? " is empty" : " is not UTF-8"));
    }
    return found;
  }

 private:
  std::span<const std::byte> file_;
  uint64_t position_ = 0;
};

Status check_bools(std::span<const std::byte> bytes, std::string_view what) {
  for (const std::byte b : bytes) {
    if (b > std::byte{1}) {
      return malformed(std::string(what) + " is a bool of value " +
                       std::to_string(std::to_integer<int>(b)) + ", expected 0 or 1");
    }
  }
  return {};
}

Result<GgufValue> read_array(Reader& in, const std::string& what) {
  GgufValue value;
  value.type = GgufType::kArray;
  BSM_ASSIGN(const uint32_t element, in.read<uint32_t>(what));
  BSM_ASSIGN(value.count, in.read<uint64_t>(what));
  if (element > static_cast<uint32_t>(GgufType::kF64)) {
    return malformed(what + " is an array of unknown type " + std::to_string(element));
  }
  value.element = static_cast<GgufType>(element);
  if (value.element == GgufType::kArray) {
    return unsupported(what + " is an array of arrays; expected an array of scalars or strings");
  }
  const size_t least = std::max<size_t>(bytes_of(value.element),
                                        value.element == GgufType::kString ? sizeof(uint64_t) : 1);
  if (value.count > in.left() / least) {
    return malformed(what + " claims " + std::to_string(value.count) + " elements of " +
                     std::string(to_string(value.element)) + " in the " +
                     std::to_string(in.left()) + " bytes that are left");
  }
  if (value.element != GgufType::kString) {
    BSM_ASSIGN(value.data, in.take(value.count * least, what));
    if (value.element == GgufType::kBool) BSM_TRY(check_bools(value.data, what));
    return value;
  }
  Reader ahead = in;
  for (uint64_t i = 0; i < value.count; ++i) {
    if (auto r = ahead.text("a string of an array"); !r) {
      return std::move(r).error().with_note("element " + std::to_string(i) + " of " + what);
    }
  }
  BSM_ASSIGN(value.data, in.take(ahead.position() - in.position(), what));
  return value;
}

Result<GgufValue> read_value(Reader& in, std::string_view key) {
  const std::string what = "metadata " + quoted(key);
  BSM_ASSIGN(const uint32_t type, in.read<uint32_t>(what));
  if (type > static_cast<uint32_t>(GgufType::kF64)) {
    return malformed(what + " has unknown type " + std::to_string(type));
  }
  GgufValue value;
  value.type = value.element = static_cast<GgufType>(type);
  if (value.type == GgufType::kArray) return read_array(in, what);
  if (value.type == GgufType::kString) {
    BSM_ASSIGN(const std::string_view text, in.text(what));
    value.data = std::as_bytes(std::span(text));
    return value;
  }
  BSM_ASSIGN(value.data, in.take(bytes_of(value.type), what));
  if (value.type == GgufType::kBool) BSM_TRY(check_bools(value.data, what));
  return value;
}

// Sizes, type and offset as the file has them; the offset is still relative to the data section.
Result<GgufTensor> read_tensor(Reader& in) {
  GgufTensor tensor;
  BSM_ASSIGN(tensor.name, in.name("a tensor name"));
  const std::string what = "tensor " + quoted(tensor.name);
  BSM_ASSIGN(tensor.rank, in.read<uint32_t>(what));
  if (tensor.rank > GgufTensor::kMaxRank) {
    return malformed(what + " has " + std::to_string(tensor.rank) + " dimensions, expected 0 to " +
                     std::to_string(GgufTensor::kMaxRank));
  }
  uint64_t elements = 1;
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    BSM_ASSIGN(const uint64_t size, in.read<uint64_t>(what));
    if (size == 0) return malformed(what + " has a dimension of 0");
    if (__builtin_mul_overflow(elements, size, &elements) ||
        elements > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return malformed(what + " has more elements than 63 bits can count");
    }
    tensor.sizes[tensor.rank - 1 - d] = static_cast<int64_t>(size);
  }
  BSM_ASSIGN(const uint32_t code, in.read<uint32_t>(what));
  const std::optional<DType> dtype = gguf_dtype(code);
  if (!dtype) {
    return unsupported(what + " has type " + gguf_type_name(code) +
                       ", which this version of bessemer cannot read");
  }
  tensor.dtype = *dtype;
  const DTypeInfo& type = info(tensor.dtype);
  const auto row = static_cast<uint64_t>(tensor.rank == 0 ? 1 : tensor.sizes[tensor.rank - 1]);
  const auto block = static_cast<uint64_t>(type.block_elements);
  if (row % block != 0) {
    return malformed(what + " has rows of " + std::to_string(row) + " elements, which " +
                     std::string(type.name) + " blocks of " + std::to_string(block) +
                     " do not divide");
  }
  if (__builtin_mul_overflow(elements / block, static_cast<uint64_t>(type.block_bytes),
                             &tensor.bytes)) {
    return malformed(what + " has more bytes than 64 bits can count");
  }
  BSM_ASSIGN(tensor.offset, in.read<uint64_t>(what));
  return tensor;
}

Result<uint32_t> read_version(Reader& in) {
  BSM_ASSIGN(const auto magic, in.take(4, "the magic"));
  if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
    std::string hex;
    for (const std::byte b : magic) {
      constexpr std::string_view digits = "0123456789abcdef";
      if (!hex.empty()) hex += ' ';
      hex += digits[std::to_integer<size_t>(b >> 4)];
      hex += digits[std::to_integer<size_t>(b & std::byte{15})];
    }
    return malformed("the file begins with " + hex + ", expected 47 47 55 46 (\"GGUF\")");
  }
  BSM_ASSIGN(const uint32_t version, in.read<uint32_t>("the version"));
  if (version != 0 && (version & 0xFFFF) == 0) {
    return unsupported("the file is big endian; expected little endian");
  }
  if (version != 2 && version != 3) {
    return unsupported("the file has version " + std::to_string(version) + "; expected 2 or 3");
  }
  return version;
}

// Indices of `items` in the order of their names; fails on a name that occurs twice.
template <class Item, class Name>
Result<std::vector<uint32_t>> order_by_name(const std::vector<Item>& items, Name name,
                                            std::string_view what) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return name(items[a]) < name(items[b]); });
  const auto twice = std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return name(items[a]) == name(items[b]);
  });
  if (twice != order.end()) {
    return malformed(std::string(what) + " " + quoted(name(items[*twice])) + " occurs twice");
  }
  return order;
}

template <class Item, class Name>
const Item* find_by_name(const std::vector<Item>& items, const std::vector<uint32_t>& order,
                         Name name, std::string_view wanted) {
  const auto at =
      std::lower_bound(order.begin(), order.end(), wanted,
                       [&](uint32_t i, std::string_view w) { return name(items[i]) < w; });
  return at != order.end() && name(items[*at]) == wanted ? &items[*at] : nullptr;
}

constexpr auto kKeyOf = [](const GgufEntry& e) { return e.key; };
constexpr auto kNameOf = [](const GgufTensor& t) { return t.name; };

// Counts are checked against the least that so many items take, so that the index of a small file
// stays small; 32-bit indices then suffice for any file below 52 GB of names alone.
Status check_count(uint64_t count, uint64_t least_bytes, const Reader& in, std::string_view what) {
  if (count > in.left() / least_bytes || count > std::numeric_limits<uint32_t>::max()) {
    return malformed("the file claims " + std::to_string(count) + " " + std::string(what) +
                     " in the " + std::to_string(in.left()) + " bytes that are left");
  }
  return {};
}

// Offsets become absolute; every tensor must lie inside the file.
Status place_tensors(std::vector<GgufTensor>& tensors, uint64_t header, uint64_t alignment,
                     uint64_t file_size) {
  // header <= file_size < 2^63, alignment <= 2^30: no overflow.
  const uint64_t data = (header + alignment - 1) / alignment * alignment;
  for (GgufTensor& t : tensors) {
    if (t.offset % alignment != 0) {
      return malformed("tensor " + quoted(t.name) + " is at offset " + std::to_string(t.offset) +
                       ", expected a multiple of " + std::to_string(alignment));
    }
    uint64_t end = 0;
    if (__builtin_add_overflow(t.offset, data, &t.offset) ||
        __builtin_add_overflow(t.offset, t.bytes, &end) || end > file_size) {
      return malformed("tensor " + quoted(t.name) + " of " + std::to_string(t.bytes) +
                       " bytes reaches past the end of the file of " + std::to_string(file_size) +
                       " bytes");
    }
  }
  return {};
}

std::string describe(const GgufValue& value) {
  std::string text(to_string(value.type));
  if (value.type == GgufType::kArray) {
    text += " of " + std::to_string(value.count) + " " + std::string(to_string(value.element));
  }
  return text;
}

}  // namespace

bool is_utf8(std::string_view text) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  while (i < text.size()) {
    const unsigned char lead = byte(i);
    size_t more = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    if (text.size() - i <= more) return false;
    if (byte(i + 1) < low || byte(i + 1) > high) return false;
    for (size_t k = 2; k <= more; ++k) {
      if (byte(i + k) < 0x80 || byte(i + k) > 0xBF) return false;
    }
    i += more + 1;
  }
  return true;
}

std::string_view to_string(GgufType type) {
  constexpr std::array<std::string_view, 13> names = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                      "i32", "f32", "bool", "string", "array",
                                                      "u64", "i64", "f64"};
  return names[static_cast<size_t>(type)];
}

size_t bytes_of(GgufType scalar) {
  constexpr std::array<size_t, 13> sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[static_cast<size_t>(scalar)];
}

Result<int64_t> GgufValue::as_int() const {
  const std::byte* p = data.data();
  switch (type) {
    case GgufType::kU8:
      return int64_t{load<uint8_t>(p)};
    case GgufType::kI8:
      return int64_t{load<int8_t>(p)};
    case GgufType::kU16:
      return int64_t{load<uint16_t>(p)};
    case GgufType::kI16:
      return int64_t{load<int16_t>(p)};
    case GgufType::kU32:
      return int64_t{load<uint32_t>(p)};
    case GgufType::kI32:
      return int64_t{load<int32_t>(p)};
    case GgufType::kI64:
      return load<int64_t>(p);
    case GgufType::kU64: {
      const auto wide = load<uint64_t>(p);
      if (wide > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return malformed("the integer " + std::to_string(wide) + " does not fit 63 bits");
      }
      return static_cast<int64_t>(wide);
    }
    default:
      return malformed("expected an integer, found " + describe(*this));
  }
}

Result<double> GgufValue::as_float() const {
  if (type == GgufType::kF32) return double{load<float>(data.data())};
  if (type == GgufType::kF64) return load<double>(data.data());
  return malformed("expected a float, found " + describe(*this));
}

Result<bool> GgufValue::as_bool() const {
  if (type == GgufType::kBool) return load<uint8_t>(data.data()) != 0;
  return malformed("expected a bool, found " + describe(*this));
}

Result<std::string_view> GgufValue::as_string() const {
  if (type != GgufType::kString) {
    return malformed("expected a string, found " + describe(*this));
  }
  return std::string_view(reinterpret_cast<const char*>(data.data()), data.size());
}

GgufStrings::GgufStrings(const GgufValue& value) : data_(value.data.data()) {
  offsets_.reserve(value.count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < value.count; ++i) {
    offsets_.push_back(at);
    at += sizeof(uint64_t) + load<uint64_t>(data_ + at);
  }
}

std::string_view GgufStrings::operator[](size_t i) const {
  const std::byte* at = data_ + offsets_[i];
  return {reinterpret_cast<const char*>(at + sizeof(uint64_t)), load<uint64_t>(at)};
}

Result<GgufIndex> GgufIndex::parse(std::span<const std::byte> file) {
  GgufIndex index;
  Reader in(file);
  BSM_ASSIGN(index.version_, read_version(in));
  BSM_ASSIGN(const uint64_t tensor_count, in.read<uint64_t>("the tensor count"));
  BSM_ASSIGN(const uint64_t entry_count, in.read<uint64_t>("the metadata count"));
  constexpr uint64_t kLeastEntry = 8 + 1 + 4 + 1;       // key length, key, type, value
  constexpr uint64_t kLeastTensor = 8 + 1 + 4 + 4 + 8;  // name length, name, rank, type, offset
  BSM_TRY(check_count(entry_count, kLeastEntry, in, "metadata entries"));
  for (uint64_t i = 0; i < entry_count; ++i) {
    GgufEntry entry;
    BSM_ASSIGN(entry.key, in.name("a metadata key"));
    BSM_ASSIGN(entry.value, read_value(in, entry.key));
    index.entries_.push_back(entry);
  }
  BSM_ASSIGN(index.entry_order_, order_by_name(index.entries_, kKeyOf, "metadata key"));
  if (const GgufValue* given = index.find("general.alignment")) {
    auto alignment = given->as_int();
    if (!alignment) return std::move(alignment).error().with_note("in `general.alignment`");
    const auto value = static_cast<uint64_t>(*alignment);
    if (*alignment < 8 || value > kMaxAlignment || !std::has_single_bit(value)) {
      return malformed("`general.alignment` is " + std::to_string(*alignment) +
                       ", expected a power of two from 8 to 2^30");
    }
    index.alignment_ = value;
  }
  BSM_TRY(check_count(tensor_count, kLeastTensor, in, "tensors"));
  for (uint64_t i = 0; i < tensor_count; ++i) {
    BSM_ASSIGN(const GgufTensor tensor, read_tensor(in));
    index.tensors_.push_back(tensor);
  }
  BSM_ASSIGN(index.tensor_order_, order_by_name(index.tensors_, kNameOf, "tensor"));
  index.header_bytes_ = in.position();
  BSM_TRY(place_tensors(index.tensors_, index.header_bytes_, index.alignment_, file.size()));
  return index;
}

const GgufValue* GgufIndex::find(std::string_view key) const {
  const GgufEntry* entry = find_by_name(entries_, entry_order_, kKeyOf, key);
  return entry == nullptr ? nullptr : &entry->value;
}

const GgufTensor* GgufIndex::find_tensor(std::string_view name) const {
  return find_by_name(tensors_, tensor_order_, kNameOf, name);
}

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::string& path) {
  BSM_ASSIGN(MappedFile file, MappedFile::open(path));
  auto index = GgufIndex::parse(file.bytes());
  if (!index) return std::move(index).error().with_note("in `" + path + "`");
  return std::shared_ptr<const GgufFile>(new GgufFile(std::move(file), std::move(*index)));
}

}  // namespace bessemer
