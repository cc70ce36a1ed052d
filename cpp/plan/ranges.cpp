#include "plan/ranges.h"

#include <algorithm>
#include <limits>

namespace bessemer {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxCornerExtents = 6;

bool all_coefficients_positive(const Dim& dim) {
  return std::all_of(dim.terms().begin(), dim.terms().end(),
                     [](const Dim::Term& t) { return t.coefficient > 0; });
}

// Collects the extents of `dim`; false if one occurs squared or there are too many.
bool linear_in_each(const Dim& dim, std::vector<ExtentId>* ids) {
  for (const Dim::Term& term : dim.terms()) {
    for (size_t i = 0; i < term.factors.size(); ++i) {
      if (i > 0 && term.factors[i] == term.factors[i - 1]) return false;
      if (std::find(ids->begin(), ids->end(), term.factors[i]) == ids->end()) {
        ids->push_back(term.factors[i]);
      }
    }
  }
  return ids->size() <= kMaxCornerExtents;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kMax : std::numeric_limits<int64_t>::min();
}

// Whether a - b - c has no negative coefficient, and so is never negative. Makes no Dim: this is
// what nearly all questions come down to.
bool no_negative_coefficient(const Dim& a, const Dim& b, const Dim& c) {
  const std::vector<Dim::Term>* lists[3] = {&a.terms(), &b.terms(), &c.terms()};
  size_t at[3] = {0, 0, 0};
  while (true) {
    const std::vector<ExtentId>* least = nullptr;
    for (int i = 0; i < 3; ++i) {
      if (at[i] == lists[i]->size()) continue;
      const std::vector<ExtentId>& factors = (*lists[i])[at[i]].factors;
      if (least == nullptr || factors < *least) least = &factors;
    }
    if (least == nullptr) return true;
    int64_t sum = 0;
    const std::vector<ExtentId>& factors = *least;
    for (int i = 0; i < 3; ++i) {
      if (at[i] == lists[i]->size() || (*lists[i])[at[i]].factors != factors) continue;
      const int64_t coefficient = (*lists[i])[at[i]++].coefficient;
      if (i == 0 ? __builtin_add_overflow(sum, coefficient, &sum)
                 : __builtin_sub_overflow(sum, coefficient, &sum)) {
        return false;
      }
    }
    if (sum < 0) return false;
  }
}

// Whether `end` <= `start` of the other range at all extents; end is offset + bytes.
bool always_before(const Operand& first, const Operand& second, std::span<const int64_t> maxima) {
  return no_negative_coefficient(second.offset, first.offset, first.bytes) ||
         bounds(second.offset - first.offset - first.bytes, maxima).low >= 0;
}

bool never_negative(const Dim& dim, std::span<const int64_t> maxima) {
  return bounds(dim, maxima).low >= 0;
}

}  // namespace

DimBounds bounds(const Dim& dim, std::span<const int64_t> maxima) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  if (all_coefficients_positive(dim)) {
    const Dim::Term& first = dim.terms()[0];  // the constant sorts first
    return {first.factors.empty() ? first.coefficient : 0, dim.evaluate(maxima)};
  }
  std::vector<ExtentId> ids;
  if (linear_in_each(dim, &ids)) {
    // Linear along every axis: the extremes lie in corners of the box.
    ExtentValues at(maxima.begin(), maxima.end());
    DimBounds b{kMax, std::numeric_limits<int64_t>::min()};
    for (size_t corner = 0; corner < (size_t{1} << ids.size()); ++corner) {
      for (size_t i = 0; i < ids.size(); ++i) {
        at[ids[i]] = ((corner >> i) & 1) != 0 ? maxima[ids[i]] : 0;
      }
      const int64_t value = dim.evaluate(at);
      b.low = std::min(b.low, value);
      b.high = std::max(b.high, value);
    }
    return b;
  }
  DimBounds b;
  for (const Dim::Term& term : dim.terms()) {
    Dim monomial(term.coefficient);
    for (ExtentId id : term.factors) monomial = monomial * Dim::extent(id);
    const int64_t value = monomial.evaluate(maxima);
    if (term.factors.empty() || value > 0) b.high = saturating_add(b.high, value);
    if (term.factors.empty() || value < 0) b.low = saturating_add(b.low, value);
  }
  return b;
}

ByteRange byte_range(const Operand& operand, std::span<const int64_t> maxima) {
  ByteRange range;
  range.operand = &operand;
  range.exact = operand.offset.is_constant() && operand.bytes.is_constant();
  const DimBounds offset = bounds(operand.offset, maxima);
  range.low = offset.low;
  if (operand.offset.is_constant() ||
      (all_coefficients_positive(operand.offset) && all_coefficients_positive(operand.bytes))) {
    range.high = saturating_add(offset.high, bounds(operand.bytes, maxima).high);
  } else {
    range.high = bounds(operand.offset + operand.bytes, maxima).high;
  }
  if (bounds(operand.bytes, maxima).high <= 0) range.high = range.low;
  range.low_at_maxima = range.exact ? range.low : operand.offset.evaluate(maxima);
  range.high_at_maxima = range.exact
                             ? range.high
                             : saturating_add(range.low_at_maxima, operand.bytes.evaluate(maxima));
  return range;
}

bool may_overlap(const ByteRange& a, const ByteRange& b, std::span<const int64_t> maxima) {
  if (a.empty() || b.empty() || a.high <= b.low || b.high <= a.low) return false;
  if (a.exact && b.exact) return true;
  const Operand& x = *a.operand;
  const Operand& y = *b.operand;
  if (x.offset == y.offset) return true;
  // Which of them comes first at the maxima is the only order that can hold at all extents. A range
  // of negative size touches nothing, so that its end may lie before its start.
  if (b.low_at_maxima >= a.high_at_maxima && always_before(x, y, maxima)) return false;
  if (a.low_at_maxima >= b.high_at_maxima && always_before(y, x, maxima)) return false;
  return true;
}

bool covers(const ByteRange& outer, const ByteRange& inner, std::span<const int64_t> maxima) {
  if (inner.empty()) return true;
  if (inner.low < outer.low || inner.high > outer.high) return false;
  if (outer.exact) return true;
  const Operand& x = *outer.operand;
  const Operand& y = *inner.operand;
  if (x.offset == y.offset && x.bytes == y.bytes) return true;
  // At the maxima first: that is cheap, and mostly enough to know that it does not.
  if (inner.low_at_maxima < inner.high_at_maxima &&
      (inner.low_at_maxima < outer.low_at_maxima || inner.high_at_maxima > outer.high_at_maxima)) {
    return false;
  }
  return never_negative(y.offset - x.offset, maxima) &&
         never_negative(x.offset + x.bytes - y.offset - y.bytes, maxima);
}

void RangeList::add(const ByteRange& range, uint32_t owner) {
  if (range.empty()) return;
  longest_ = std::max(longest_, range.high - range.low);
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), range.low,
                                   [](int64_t low, const Entry& e) { return low < e.range.low; });
  entries_.insert(at, {range, owner});
}

void RangeList::clear() {
  entries_.clear();
  longest_ = 0;
}

size_t RangeList::first_reaching(int64_t low) const {
  // An entry that starts at low - longest_ or before ends at low or before.
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), low - longest_,
                                   [](int64_t l, const Entry& e) { return l < e.range.low; });
  return static_cast<size_t>(at - entries_.begin());
}

void RangeList::remove_covered(const ByteRange& range, std::span<const int64_t> maxima) {
  const size_t first = first_reaching(range.low);
  size_t keep = first;
  size_t i = first;
  for (; i < entries_.size() && entries_[i].range.low < range.high; ++i) {
    if (!covers(range, entries_[i].range, maxima)) entries_[keep++] = entries_[i];
  }
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(keep),
                 entries_.begin() + static_cast<std::ptrdiff_t>(i));
  if (entries_.empty()) longest_ = 0;
}

}  // namespace bessemer
