// For the validator: which write each byte of a memory comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bessemer {

// Names the origin of a byte: operand `operand` of thunk `thunk` (index in program order) wrote it,
// as its byte address - start. Bytes that no thunk has written have thunk kBefore (they hold
// what the block `operand` held before the run) or kNever (undefined).
struct Origin {
  static constexpr int32_t kBefore = -1;
  static constexpr int32_t kNever = -2;
  int32_t thunk = kNever;
  uint32_t operand = 0;
  int64_t start = 0;
  bool operator==(const Origin&) const = default;
};

// A stretch of bytes of one origin: [low, high), relative to where the reader asked.
struct OriginRun {
  int64_t low = 0;
  int64_t high = 0;
  Origin origin;  // start is relative, too
  bool operator==(const OriginRun&) const = default;
};

// One block of memory as sorted runs that cover all of [0, INT64_MAX).
class OriginMap {
 public:
  explicit OriginMap(const Origin& initial) : runs_{{0, initial}} {}

  void write(int64_t low, int64_t high, const Origin& origin);
  // Appends the runs of [low, high), neighbours of the same origin joined.
  void read(int64_t low, int64_t high, std::vector<OriginRun>* runs) const;

 private:
  struct Run {
    int64_t low;  // up to the next run's
    Origin origin;
  };
  [[nodiscard]] size_t find(int64_t address) const;  // the run that holds the address

  std::vector<Run> runs_;
};

}  // namespace bessemer
