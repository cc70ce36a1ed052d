#include "base/dim.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace bessemer {
namespace {

int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t r;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min();
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t r;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace

Dim::Dim(int64_t constant) {
  if (constant != 0) terms_.push_back({{}, constant});
}

Dim Dim::extent(ExtentId id) {
  Dim d;
  d.terms_.push_back({{id}, 1});
  return d;
}

int64_t Dim::evaluate(std::span<const int64_t> extents) const {
  int64_t sum = 0;
  for (const Term& term : terms_) {
    int64_t product = term.coefficient;
    for (ExtentId id : term.factors) product = saturating_mul(product, extents[id]);
    sum = saturating_add(sum, product);
  }
  return sum;
}

void Dim::add_term(const Term& term) {
  auto it = std::lower_bound(terms_.begin(), terms_.end(), term,
                             [](const Term& a, const Term& b) { return a.factors < b.factors; });
  if (it != terms_.end() && it->factors == term.factors) {
    it->coefficient = saturating_add(it->coefficient, term.coefficient);
    if (it->coefficient == 0) terms_.erase(it);
  } else if (term.coefficient != 0) {
    terms_.insert(it, term);
  }
}

Dim& Dim::operator+=(const Dim& other) {
  if (&other == this) return *this = *this * Dim(2);
  for (const Term& term : other.terms_) add_term(term);
  return *this;
}

Dim operator*(const Dim& a, const Dim& b) {
  Dim product;
  for (const Dim::Term& x : a.terms_) {
    for (const Dim::Term& y : b.terms_) {
      Dim::Term term;
      term.coefficient = saturating_mul(x.coefficient, y.coefficient);
      term.factors.resize(x.factors.size() + y.factors.size());
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                 term.factors.begin());
      product.add_term(term);
    }
  }
  return product;
}

bool Dim::divide_exactly(const Dim& divisor, Dim* quotient) const {
  if (divisor.terms_.size() != 1) {
    // A sum only divides itself or its constant multiples: try by the leading coefficient.
    if (divisor.terms_.empty() || terms_.size() != divisor.terms_.size()) return false;
    if (terms_[0].coefficient % divisor.terms_[0].coefficient != 0) return false;
    const Dim candidate(terms_[0].coefficient / divisor.terms_[0].coefficient);
    if (!(divisor * candidate == *this)) return false;
    *quotient = candidate;
    return true;
  }
  const Term& by = divisor.terms_[0];
  Dim result;
  for (const Term& term : terms_) {
    if (term.coefficient % by.coefficient != 0) return false;
    if (!std::includes(term.factors.begin(), term.factors.end(), by.factors.begin(),
                       by.factors.end())) {
      return false;
    }
    Term q;
    q.coefficient = term.coefficient / by.coefficient;
    std::set_difference(term.factors.begin(), term.factors.end(), by.factors.begin(),
                        by.factors.end(), std::back_inserter(q.factors));
    result.add_term(q);
  }
  *quotient = result;
  return true;
}

std::string Dim::to_string(std::span<const Extent> extents) const {
  if (terms_.empty()) return "0";
  std::string text;
  // Highest degree first reads naturally; terms_ is sorted with the constant first.
  for (auto it = terms_.rbegin(); it != terms_.rend(); ++it) {
    int64_t coefficient = it->coefficient;
    if (!text.empty()) {
      text += coefficient < 0 ? " - " : " + ";
      if (coefficient < 0 && coefficient != std::numeric_limits<int64_t>::min()) {
        coefficient = -coefficient;
      }
    }
    const bool show = it->factors.empty() || coefficient != 1;
    if (show) text += std::to_string(coefficient);
    for (size_t i = 0; i < it->factors.size(); ++i) {
      if (i > 0 || show) text += "*";
      text += extents[it->factors[i]].name;
    }
  }
  return text;
}

Result<Dim> Dim::parse(std::string_view text, std::span<const Extent> extents) {
  const auto fail = [&](const std::string& why) {
    return Error{ErrorKind::kParse, "bad dim `" + std::string(text) + "`: " + why, {}};
  };
  Dim sum;
  size_t i = 0;
  const auto skip = [&] {
    while (i < text.size() && text[i] == ' ') ++i;
  };
  bool first = true;
  while (true) {
    skip();
    int64_t sign = 1;
    if (!first) {
      if (i >= text.size()) break;
      if (text[i] != '+' && text[i] != '-') return fail("expected + or -");
      if (text[i] == '-') sign = -1;
      ++i;
      skip();
    } else if (i < text.size() && text[i] == '-') {
      sign = -1;
      ++i;
    }
    first = false;
    Dim product(sign);
    while (true) {
      skip();
      if (i >= text.size()) return fail("unexpected end");
      if (std::isdigit(static_cast<unsigned char>(text[i]))) {
        int64_t value = 0;
        while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) {
          if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
              __builtin_add_overflow(value, int64_t{text[i] - '0'}, &value)) {
            return fail("number too large");
          }
          ++i;
        }
        product = product * Dim(value);
      } else if (std::isalpha(static_cast<unsigned char>(text[i])) || text[i] == '_') {
        const size_t start = i;
        while (i < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) {
          ++i;
        }
        const std::string_view name = text.substr(start, i - start);
        const auto it = std::find_if(extents.begin(), extents.end(),
                                     [&](const Extent& e) { return e.name == name; });
        if (it == extents.end()) return fail("unknown extent `" + std::string(name) + "`");
        product = product * Dim::extent(static_cast<ExtentId>(it - extents.begin()));
        if (product.terms_.size() == 1 && product.terms_[0].factors.size() > 16) {
          return fail("degree above 16");
        }
      } else {
        return fail("unexpected character");
      }
      skip();
      if (i < text.size() && text[i] == '*') {
        ++i;
        continue;
      }
      break;
    }
    sum += product;
  }
  return sum;
}

Dim num_elements(const Shape& shape) {
  Dim product(1);
  for (const Dim& d : shape) product = product * d;
  return product;
}

std::string to_string(const Shape& shape, std::span<const Extent> extents) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i].to_string(extents);
  }
  return text + "]";
}

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
}

}  // namespace bessemer
