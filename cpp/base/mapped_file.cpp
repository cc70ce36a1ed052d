#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace bessemer {
namespace {

Error cannot(std::string_view what, const std::string& path, int code) {
  std::string message("cannot ");
  message.append(what).append(" `").append(path).append("`: ");
  message.append(std::generic_category().message(code));
  return {code == ENOMEM ? ErrorKind::kOutOfMemory : ErrorKind::kInvalidArgument, message, {}};
}

// Closes on every way out; the mapping stays valid without the descriptor.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// The whole pages that touch the range (outward) or lie inside it (inward), clipped to the file.
void advise(std::span<const std::byte> file, size_t offset, size_t size, bool inward, int advice) {
  if (offset >= file.size()) return;
  size = std::min(size, file.size() - offset);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = offset + size;
  const size_t first = inward ? (offset + page - 1) / page * page : offset / page * page;
  // The last page of a file may be partly filled; it belongs to the range that ends there.
  const size_t last = (inward && end < file.size()) ? end / page * page : end;
  if (first >= last) return;
  ::madvise(const_cast<std::byte*>(file.data() + first), last - first, advice);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return Error{ErrorKind::kInvalidArgument, "a path cannot contain a NUL character", {}};
  }
  // O_NONBLOCK: opening a FIFO that nobody writes to must fail below, not wait here.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return cannot("open", path, errno);
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) return cannot("examine", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::kInvalidArgument,
                 "cannot map `" + path + "`: it is " +
                     (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"),
                 {}};
  }
  if (status.st_size <= 0) {
    return Error{ErrorKind::kInvalidArgument, "cannot map `" + path + "`: it is empty", {}};
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED) return cannot("map", path, errno);
  return MappedFile(static_cast<const std::byte*>(data), size, path);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    path_ = std::move(other.path_);
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

void MappedFile::unmap() noexcept {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
}

void MappedFile::prefetch(size_t offset, size_t size) const {
  advise(bytes(), offset, size, /*inward=*/false, MADV_WILLNEED);
}

void MappedFile::release(size_t offset, size_t size) const {
  // A read-only shared mapping has nothing to lose: the pages come back from the file.
  advise(bytes(), offset, size, /*inward=*/true, MADV_DONTNEED);
}

}  // namespace bessemer
