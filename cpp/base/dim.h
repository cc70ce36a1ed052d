// Extents and dims. An Extent is a size that may vary at run time, named and bounded. A Dim is an
// integer polynomial of extents: 2*tokens*heads + 1. Dims are exact: running at a smaller extent
// evaluates the same polynomial at the smaller value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bessemer {

struct Extent {
  std::string name;  // an identifier
  int64_t max = 0;   // the largest value a run may use, >= 1 (the smallest is 0)

  bool operator==(const Extent&) const = default;
};

// Extents are referred to by their index in a graph's extent table.
using ExtentId = uint16_t;

// Values of all extents of a graph, by ExtentId.
using ExtentValues = std::vector<int64_t>;

class Dim {
 public:
  // A monomial: coefficient * product of factors (sorted, repeated for powers).
  struct Term {
    std::vector<ExtentId> factors;
    int64_t coefficient = 0;
    bool operator==(const Term&) const = default;
  };

  Dim() = default;        // 0
  Dim(int64_t constant);  // NOLINT: a size is a dim
  [[nodiscard]] static Dim extent(ExtentId id);

  // Canonical form: sorted by factors, no zero coefficient, so equality is structural.
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  [[nodiscard]] bool is_constant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_[0].factors.empty());
  }
  // Precondition: is_constant().
  [[nodiscard]] int64_t constant() const { return terms_.empty() ? 0 : terms_[0].coefficient; }
  [[nodiscard]] bool is_extent() const {
    return terms_.size() == 1 && terms_[0].coefficient == 1 && terms_[0].factors.size() == 1;
  }
  [[nodiscard]] ExtentId extent_id() const { return terms_[0].factors[0]; }

  // Evaluates with overflow saturating to INT64_MAX / INT64_MIN (callers check against limits).
  [[nodiscard]] int64_t evaluate(std::span<const int64_t> extents) const;

  // If `divisor` divides every coefficient (constant divisor), or is a monomial that divides every
  // term, gives the quotient; otherwise false.
  [[nodiscard]] bool divide_exactly(const Dim& divisor, Dim* quotient) const;

  Dim& operator+=(const Dim& other);
  friend Dim operator+(Dim a, const Dim& b) { return a += b; }
  friend Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }
  friend Dim operator*(const Dim& a, const Dim& b);
  bool operator==(const Dim&) const = default;

  // "0", "64", "tokens", "2*tokens*heads + 1". Names by extent table.
  [[nodiscard]] std::string to_string(std::span<const Extent> extents) const;
  // Parses what to_string prints; every name must be in `extents`.
  [[nodiscard]] static Result<Dim> parse(std::string_view text, std::span<const Extent> extents);

 private:
  void add_term(const Term& term);
  std::vector<Term> terms_;
};

using Shape = std::vector<Dim>;

[[nodiscard]] Dim num_elements(const Shape& shape);
[[nodiscard]] std::string to_string(const Shape& shape,
                                    std::span<const Extent> extents);  // [a, 64]
[[nodiscard]] bool is_static(const Shape& shape);

}  // namespace bessemer
