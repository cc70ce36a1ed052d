// Writes GGUF bytes for tests: correct by default, and every field can be made wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bessemer::testing {

class GgufBytes {
 public:
  template <class T>
  GgufBytes& put(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    return raw({bytes, sizeof(T)});
  }
  GgufBytes& text(std::string_view s) {
    put<uint64_t>(s.size());
    return raw(s);
  }
  GgufBytes& raw(std::string_view s) {
    bytes_ += s;
    return *this;
  }
  GgufBytes& header(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    return raw("GGUF").put<uint32_t>(version).put<uint64_t>(tensors).put<uint64_t>(entries);
  }
  GgufBytes& u32(std::string_view key, uint32_t value) {
    return text(key).put<uint32_t>(4).put<uint32_t>(value);
  }
  GgufBytes& string(std::string_view key, std::string_view value) {
    return text(key).put<uint32_t>(8).text(value);
  }
  template <class T>
  GgufBytes& array(std::string_view key, uint32_t type, const std::vector<T>& values) {
    text(key).put<uint32_t>(9).put<uint32_t>(type).put<uint64_t>(values.size());
    for (const T& v : values) put<T>(v);
    return *this;
  }
  GgufBytes& strings(std::string_view key, const std::vector<std::string>& values) {
    text(key).put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(values.size());
    for (const std::string& v : values) text(v);
    return *this;
  }
  // Sizes in the file's order: the fastest-varying first.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& sizes, uint32_t type,
                    uint64_t offset) {
    text(name).put<uint32_t>(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t s : sizes) put<uint64_t>(s);
    return put<uint32_t>(type).put<uint64_t>(offset);
  }
  GgufBytes& pad(size_t alignment, size_t then = 0) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + then);
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

}  // namespace bessemer::testing
