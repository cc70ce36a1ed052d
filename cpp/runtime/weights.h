// The parameters of a program in device blocks. Filled by name, then sealed; sealed weights are
// immutable and may be used by any number of sessions. Filling is for one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "runtime/program.h"

namespace bessemer {

class Weights {
 public:
  explicit Weights(std::shared_ptr<const Program> program);

  // Copies dense data of exactly the param's dtype and shape into a block.
  // kName, kDtype, kShape, kState (sealed), kOutOfMemory.
  [[nodiscard]] Status set(const std::string& name, DType dtype, std::span<const int64_t> shape,
                           const std::byte* data);
  // Uses the memory in place (a mapped file); `keep` keeps it alive.
  [[nodiscard]] Status map(const std::string& name, DType dtype, std::span<const int64_t> shape,
                           const std::byte* data, int64_t bytes, std::shared_ptr<const void> keep);
  // Copies a param out; `into` holds its bytes. kName, kState (no data yet).
  [[nodiscard]] Status read(const std::string& name, std::byte* into) const;

  // kState names the params that have no data.
  [[nodiscard]] Status seal();
  [[nodiscard]] bool sealed() const { return sealed_; }
  [[nodiscard]] Status check_complete() const;
  // Grows with every change; sessions bind again when it differs.
  [[nodiscard]] uint64_t version() const { return version_; }

  [[nodiscard]] const std::vector<BlockPtr>& blocks() const { return blocks_; }
  [[nodiscard]] int64_t bytes() const;         // of all params that have data
  [[nodiscard]] int64_t mapped_bytes() const;  // of those used in place
  [[nodiscard]] const Program& program() const { return *program_; }

 private:
  [[nodiscard]] Result<size_t> check(const std::string& name, DType dtype,
                                     std::span<const int64_t> shape) const;
  std::shared_ptr<const Program> program_;
  std::vector<BlockPtr> blocks_;  // by param; null: no data yet
  std::vector<bool> mapped_;
  bool sealed_ = false;
  uint64_t version_ = 0;
};

}  // namespace bessemer
