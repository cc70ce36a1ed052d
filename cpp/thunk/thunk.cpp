#include "thunk/thunk.h"

#include <algorithm>

namespace bessemer {

std::string_view to_string(Space space) {
  switch (space) {
    case Space::kValue:
      return "value";
    case Space::kArena:
      return "arena";
    case Space::kWeights:
      return "weights";
    case Space::kState:
      return "state";
    case Space::kInput:
      return "input";
    case Space::kOutput:
      return "output";
    case Space::kConstant:
      return "constant";
  }
  return "?";
}

std::string_view to_string(Access access) {
  switch (access) {
    case Access::kRead:
      return "r";
    case Access::kWrite:
      return "w";
    case Access::kReadWrite:
      return "rw";
  }
  return "?";
}

std::string to_string(const Operand& o, std::span<const Extent> extents) {
  std::string text(to_string(o.access));
  text += " ";
  text += to_string(o.space);
  text += std::to_string(o.block) + "[" + o.offset.to_string(extents) + " : " +
          o.bytes.to_string(extents) + "]";
  return text;
}

std::string to_string(const Thunk& thunk, std::span<const Extent> extents) {
  std::string text = thunk.kernel;
  text += "(";
  for (size_t i = 0; i < thunk.operands.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(thunk.operands[i], extents);
  }
  text += ")";
  if (!thunk.patches.empty()) {
    text += " {";
    for (size_t i = 0; i < thunk.patches.size(); ++i) {
      if (i > 0) text += ", ";
      text += "+" + std::to_string(thunk.patches[i].byte_offset) + " = " +
              thunk.patches[i].value.to_string(extents);
    }
    text += "}";
  }
  if (!thunk.label.empty()) text += "  # " + thunk.label;
  return text;
}

}  // namespace bessemer
