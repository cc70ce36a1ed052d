// Element types. Block-quantised types are storage formats of weights only: they are dequantised
// (to f32) by the ops that read them. Block layouts follow the GGUF specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bessemer {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,  // storage and cast only
  kI8,
  kU8,
  kI16,
  kI32,
  kI64,
  kU32,
  kBool,  // one byte, 0 or 1
  // Block-quantised; a row of n elements takes n / block_elements * block_bytes bytes.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
};
inline constexpr int kDTypeCount = 19;

struct DTypeInfo {
  std::string_view name;   // "f32", "q4_1": the spelling in text forms, Python and kernel names
  int32_t block_elements;  // 1 unless block-quantised
  int32_t block_bytes;     // bytes of one element, or of one block
  bool is_float;           // f32 f16 bf16 f64
  bool is_integer;         // signed or unsigned, not bool
  bool is_quantised;
};

[[nodiscard]] const DTypeInfo& info(DType dtype);
[[nodiscard]] inline std::string_view to_string(DType dtype) { return info(dtype).name; }
[[nodiscard]] inline bool is_quantised(DType dtype) { return info(dtype).is_quantised; }
[[nodiscard]] inline bool is_float(DType dtype) { return info(dtype).is_float; }
[[nodiscard]] inline bool is_integer(DType dtype) { return info(dtype).is_integer; }
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);

// Bytes of `elements` consecutive elements. Precondition: elements is a multiple of the block.
[[nodiscard]] inline int64_t bytes_of(DType dtype, int64_t elements) {
  const DTypeInfo& i = info(dtype);
  return elements / i.block_elements * i.block_bytes;
}

}  // namespace bessemer
