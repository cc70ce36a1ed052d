// The tensor type codes of GGUF, and which of them this build has a dtype for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"

namespace bessemer {

[[nodiscard]] std::optional<DType> gguf_dtype(uint32_t code);

// "IQ4_NL (20)", or "99" for a code that no version of the format known here has.
[[nodiscard]] std::string gguf_type_name(uint32_t code);

}  // namespace bessemer
