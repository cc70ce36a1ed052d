// A file mapped read-only into memory: weights are used where they lie, without a copy, and the
// pages are shared by every process that maps the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace bessemer {

// Owns the mapping; movable, not copyable. Reading is safe from any thread. The mapping outlives a
// rename or removal of the file, but not a truncation of it by another program: reading a page that
// no longer has bytes behind it ends the process (SIGBUS), as with every mapped file.
class MappedFile {
 public:
  // Maps the whole of the regular file at `path` (UTF-8). Fails with kInvalidArgument if it cannot
  // be opened, is not a regular file, or is empty; with kOutOfMemory if there is no address space.
  [[nodiscard]] static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Valid until the MappedFile is destroyed or moved into; moving from it keeps the address.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Asks the system to read the range ahead, in the background. A hint: out-of-range is clipped.
  void prefetch(size_t offset, size_t size) const;
  // Takes the range's whole pages out of this process's resident set; the data stays readable and
  // comes back from the page cache. A hint, as above.
  void release(size_t offset, size_t size) const;

 private:
  MappedFile(const std::byte* data, size_t size, std::string path)
      : data_(data), size_(size), path_(std::move(path)) {}
  void unmap() noexcept;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;  // bytes
  std::string path_;
};

}  // namespace bessemer
