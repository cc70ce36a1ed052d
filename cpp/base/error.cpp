#include "base/error.h"

namespace bessemer {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "invalid argument";
    case ErrorKind::kShape:
      return "shape error";
    case ErrorKind::kDtype:
      return "dtype error";
    case ErrorKind::kName:
      return "name error";
    case ErrorKind::kParse:
      return "parse error";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kOutOfMemory:
      return "out of memory";
    case ErrorKind::kState:
      return "state error";
    case ErrorKind::kBusy:
      return "busy";
    case ErrorKind::kCancelled:
      return "cancelled";
    case ErrorKind::kInternal:
      return "internal error";
  }
  return "unknown error";
}

std::string Error::to_string() const {
  std::string text(bessemer::to_string(kind));
  text += ": ";
  text += message;
  for (size_t i = 0; i < notes.size(); ++i) {
    text += i == 0 ? " (" : "; ";
    text += notes[i];
  }
  if (!notes.empty()) text += ")";
  return text;
}

}  // namespace bessemer
