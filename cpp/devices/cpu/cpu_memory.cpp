#include "devices/cpu/cpu_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace bessemer::cpu {
namespace {

class PagesBlock final : public Block {
 public:
  PagesBlock(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  ~PagesBlock() override {
    if (bytes_ > 0) munmap(data_, static_cast<size_t>(bytes_));
  }
  PagesBlock(const PagesBlock&) = delete;
  PagesBlock& operator=(const PagesBlock&) = delete;
  [[nodiscard]] std::byte* host() const override { return static_cast<std::byte*>(data_); }
  [[nodiscard]] int64_t bytes() const override { return bytes_; }

 private:
  void* data_;
  int64_t bytes_;
};

class BorrowedBlock final : public Block {
 public:
  BorrowedBlock(const std::byte* data, int64_t bytes, std::shared_ptr<const void> keep)
      : data_(data), bytes_(bytes), keep_(std::move(keep)) {}
  // Kernels only read weights; the plan's validator refuses a thunk that writes one.
  [[nodiscard]] std::byte* host() const override { return const_cast<std::byte*>(data_); }
  [[nodiscard]] int64_t bytes() const override { return bytes_; }

 private:
  const std::byte* data_;
  int64_t bytes_;
  std::shared_ptr<const void> keep_;
};

}  // namespace

Result<BlockPtr> allocate(int64_t bytes, std::string_view owner) {
  if (bytes < 0) {
    return Error{ErrorKind::kInvalidArgument,
                 std::string(owner) + " asked for " + std::to_string(bytes) + " bytes",
                 {}};
  }
  if (bytes == 0) return BlockPtr(std::make_shared<PagesBlock>(nullptr, 0));
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Error{
        ErrorKind::kOutOfMemory,
        std::to_string(bytes) + " bytes for " + std::string(owner) + ": " + std::strerror(errno),
        {}};
  }
  return BlockPtr(std::make_shared<PagesBlock>(data, bytes));
}

BlockPtr wrap(const std::byte* data, int64_t bytes, std::shared_ptr<const void> keep) {
  return std::make_shared<BorrowedBlock>(data, bytes, std::move(keep));
}

}  // namespace bessemer::cpu
