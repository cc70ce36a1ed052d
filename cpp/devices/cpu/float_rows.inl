// Rows of f32, f16 and bf16 over the vector layer; included once by a SIMD variant.
namespace bessemer::cpu {
namespace {

// Codes of bessemer::DType that rows may have.
constexpr uint32_t kRowF32 = 0;
constexpr uint32_t kRowF16 = 1;
constexpr uint32_t kRowBF16 = 2;

template <uint32_t kDType>
inline F row_at(const std::byte* p, int64_t i) {
  if constexpr (kDType == kRowF32) return load(reinterpret_cast<const float*>(p) + i);
  if constexpr (kDType == kRowF16) return load_f16(p + 2 * i);
  return load_bf16(p + 2 * i);
}
template <uint32_t kDType>
inline F row_at_n(const std::byte* p, int64_t i, int64_t n) {
  if constexpr (kDType == kRowF32) return load_n(reinterpret_cast<const float*>(p) + i, n);
  if constexpr (kDType == kRowF16) return load_f16_n(p + 2 * i, n);
  return load_bf16_n(p + 2 * i, n);
}
template <uint32_t kDType>
inline void put_row_n(std::byte* p, int64_t i, F v, int64_t n) {
  if constexpr (kDType == kRowF32) return store_n(reinterpret_cast<float*>(p) + i, v, n);
  if constexpr (kDType == kRowF16) return store_f16_n(p + 2 * i, v, n);
  store_bf16_n(p + 2 * i, v, n);
}

template <uint32_t kDType>
inline void widen_as(const std::byte* row, int64_t n, float* out) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(out + i, row_at<kDType>(row, i));
  if (i < n) store_n(out + i, row_at_n<kDType>(row, i, n - i), n - i);
}
// out[i] = row[i] as f32, i < n.
inline void widen_row(uint32_t dtype, const std::byte* row, int64_t n, float* out) {
  if (dtype == kRowF32) return widen_as<kRowF32>(row, n, out);
  if (dtype == kRowF16) return widen_as<kRowF16>(row, n, out);
  widen_as<kRowBF16>(row, n, out);
}

template <uint32_t kDType>
inline void narrow_as(const float* row, int64_t n, std::byte* out) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) put_row_n<kDType>(out, i, load(row + i), kWidth);
  if (i < n) put_row_n<kDType>(out, i, load_n(row + i, n - i), n - i);
}
// out[i] = row[i] rounded to dtype, i < n.
inline void narrow_row(uint32_t dtype, const float* row, int64_t n, std::byte* out) {
  if (dtype == kRowF32) return narrow_as<kRowF32>(row, n, out);
  if (dtype == kRowF16) return narrow_as<kRowF16>(row, n, out);
  narrow_as<kRowBF16>(row, n, out);
}

}  // namespace
}  // namespace bessemer::cpu
