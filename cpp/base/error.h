// Errors as values: the core never throws across its own interfaces. A Result either holds a value
// or an Error; only python/bindings/bind_errors.cpp turns one into an exception.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bessemer {

// What went wrong, in classes a caller can act on. Each maps to one Python exception class.
enum class ErrorKind : unsigned char {
  kInvalidArgument,  // a value out of its domain (a negative size, an unknown option)
  kShape,            // shapes that do not fit together
  kDtype,            // dtypes that do not fit together
  kName,             // an unknown or duplicate name
  kParse,            // malformed text or file
  kUnsupported,      // well-formed, but not something this build or device can do
  kOutOfMemory,      // an allocation failed; the message says how much was asked and for whom
  kState,            // right call, wrong moment (run before weights, unsealed weights)
  kBusy,             // one session used by two threads at once
  kCancelled,        // stopped by the caller
  kInternal,         // a validator found a fault of ours
};

[[nodiscard]] std::string_view to_string(ErrorKind kind);

// message: what was given and what was expected, one line, no trailing full stop.
// notes:   context from the inside out ("while building op `matmul` at model.py:12").
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
  std::vector<std::string> notes;

  [[nodiscard]] Error with_note(std::string note) && {
    notes.push_back(std::move(note));
    return std::move(*this);
  }
  // "shape error: … (while …; while …)" on one line.
  [[nodiscard]] std::string to_string() const;
};

// A value or an Error. Check with `if (!r)`, then use `*r` / `r->` or `r.error()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }

  [[nodiscard]] const Error& error() const& { return std::get<1>(v_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(v_)); }

 private:
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace bessemer

// Evaluates a Status or Result expression and returns its error from the enclosing function.
#define BSM_TRY(expr)                    \
  do {                                   \
    if (auto bsm_r_ = (expr); !bsm_r_) { \
      return std::move(bsm_r_).error();  \
    }                                    \
  } while (false)

#define BSM_CONCAT_INNER(a, b) a##b
#define BSM_CONCAT(a, b) BSM_CONCAT_INNER(a, b)
#define BSM_ASSIGN_IMPL(tmp, lhs, expr)    \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  lhs = std::move(*tmp)
// BSM_ASSIGN(auto x, f()): binds the value of a Result, or returns its error.
#define BSM_ASSIGN(lhs, expr) BSM_ASSIGN_IMPL(BSM_CONCAT(bsm_tmp_, __LINE__), lhs, expr)
