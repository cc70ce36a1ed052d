#include "base/dtype.h"

#include <array>

namespace bessemer {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfos = {{
    {"f32", 1, 4, true, false, false},      {"f16", 1, 2, true, false, false},
    {"bf16", 1, 2, true, false, false},     {"f64", 1, 8, true, false, false},
    {"i8", 1, 1, false, true, false},       {"u8", 1, 1, false, true, false},
    {"i16", 1, 2, false, true, false},      {"i32", 1, 4, false, true, false},
    {"i64", 1, 8, false, true, false},      {"u32", 1, 4, false, true, false},
    {"bool", 1, 1, false, false, false},    {"q4_0", 32, 18, false, false, true},
    {"q4_1", 32, 20, false, false, true},   {"q5_0", 32, 22, false, false, true},
    {"q5_1", 32, 24, false, false, true},   {"q8_0", 32, 34, false, false, true},
    {"q4_k", 256, 144, false, false, true}, {"q5_k", 256, 176, false, false, true},
    {"q6_k", 256, 210, false, false, true},
}};

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace bessemer
