// Byte ranges of operands: bounds of dims over all extents up to the bucket's maxima, whether two
// ranges can meet at any of them, and a list of ranges that answers overlap queries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dim.h"
#include "thunk/thunk.h"

namespace bessemer {

// Smallest and largest value of a dim when every extent takes values in [0, its maximum].
// Exact for dims that are linear in each extent (up to 6 of them); otherwise an enclosure.
struct DimBounds {
  int64_t low = 0;
  int64_t high = 0;
};
[[nodiscard]] DimBounds bounds(const Dim& dim, std::span<const int64_t> maxima);

// The bytes that an operand touches, as [low, high) over all extents, with the dims for questions
// that the hull cannot answer. Refers to the operand, which must stay where it is.
struct ByteRange {
  int64_t low = 0;
  int64_t high = 0;  // <= low: touches nothing at any extents
  int64_t low_at_maxima = 0;
  int64_t high_at_maxima = 0;
  bool exact = false;  // offset and bytes are constants: the hull is the range
  const Operand* operand = nullptr;

  [[nodiscard]] bool empty() const { return high <= low; }
};
[[nodiscard]] ByteRange byte_range(const Operand& operand, std::span<const int64_t> maxima);

// False only if no extents make the two ranges, of the same block, share a byte.
[[nodiscard]] bool may_overlap(const ByteRange& a, const ByteRange& b,
                               std::span<const int64_t> maxima);
// True only if `outer` contains `inner` at all extents.
[[nodiscard]] bool covers(const ByteRange& outer, const ByteRange& inner,
                          std::span<const int64_t> maxima);

// Ranges sorted by their low end. A query looks only at entries that can reach into it, so lists of
// many small ranges (the parts of a concatenation) stay cheap.
class RangeList {
 public:
  struct Entry {
    ByteRange range;
    uint32_t owner = 0;
  };

  void add(const ByteRange& range, uint32_t owner);
  void clear();
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  // Calls visit(entry) for entries that may overlap `range`. Stops when visit returns false.
  template <class Visit>
  void visit_overlaps(const ByteRange& range, std::span<const int64_t> maxima, Visit visit) const {
    for (size_t i = first_reaching(range.low);
         i < entries_.size() && entries_[i].range.low < range.high; ++i) {
      if (may_overlap(entries_[i].range, range, maxima) && !visit(entries_[i])) return;
    }
  }
  // Removes the entries that `range` covers.
  void remove_covered(const ByteRange& range, std::span<const int64_t> maxima);

 private:
  [[nodiscard]] size_t first_reaching(int64_t low) const;

  std::vector<Entry> entries_;
  int64_t longest_ = 0;  // no entry is longer
};

}  // namespace bessemer
