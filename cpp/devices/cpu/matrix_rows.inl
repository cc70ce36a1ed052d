// Single rows on the way into and out of a product: norm, quantisation of x, epilogue.
// Included once by each SIMD variant, after a vector layer.

namespace bessemer::cpu {
namespace {

inline F load_as(uint32_t dtype, Bytes base, int64_t i, int64_t n) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF16:
      return load_f16_n(base + 2 * i, n);
    case DType::kBF16:
      return load_bf16_n(base + 2 * i, n);
    default:
      return load_n(reinterpret_cast<const float*>(base) + i, n);
  }
}

inline void store_as(uint32_t dtype, std::byte* base, int64_t i, F value, int64_t n) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF16:
      return store_f16_n(base + 2 * i, value, n);
    case DType::kBF16:
      return store_bf16_n(base + 2 * i, value, n);
    default:
      return store_n(reinterpret_cast<float*>(base) + i, value, n);
  }
}

// The statistics of one row, and its values from i on once they are known.
struct Normed {
  const NormRow& p;
  Bytes x;
  F mean = zero();
  F scale = splat(1.0f);

  inline Normed(const NormRow& norm, Bytes row) : p(norm), x(row) {
    if (p.norm == abi::kNormNone || p.k == 0) return;
    const auto k = static_cast<float>(p.k);
    float centre = 0;
    if (p.norm == abi::kNormLayer) {
      F total = zero();
      for (int64_t i = 0; i < p.k; i += kWidth)
        total = add(total, load_as(p.x_dtype, x, i, p.k - i));
      centre = sum(total) / k;
      mean = splat(centre);
    }
    F squares = zero();
    int64_t i = 0;
    for (; i + kWidth <= p.k; i += kWidth) {
      const F d = sub(load_as(p.x_dtype, x, i, kWidth), mean);
      squares = fma(d, d, squares);
    }
    float total = sum(squares);
    if (i < p.k) {  // lanes past the end hold 0, which is not at the mean
      float rest[kWidth];
      store(rest, sub(load_as(p.x_dtype, x, i, p.k - i), mean));
      for (int64_t j = 0; j < p.k - i; ++j) total += rest[j] * rest[j];
    }
    scale = splat(1.0f / __builtin_sqrtf(total / k + p.epsilon));
  }

  inline F at(int64_t i, int64_t n) const {
    F v = load_as(p.x_dtype, x, i, n);
    if (p.norm == abi::kNormNone) return v;
    v = mul(sub(v, mean), scale);
    if (p.weight != nullptr) v = mul(v, load_n(p.weight + i, n));
    if (p.bias != nullptr) v = add(v, load_n(p.bias + i, n));
    return v;
  }
};

void norm_row(const NormRow& norm, Bytes x, float* out) {
  const Normed row(norm, x);
  for (int64_t i = 0; i < norm.k; i += kWidth) store_n(out + i, row.at(i, norm.k - i), norm.k - i);
}

// Symmetric, to the largest magnitude of each 32 elements, in 16 bits. `lanes` > 0 puts first
// halves of so many blocks before their second halves.
inline void quantize_block(const F* values, int64_t block, int lanes, const Int8Row& out) {
  constexpr int kVectors = 32 / kWidth;
  F most = zero();
  F tell_tale = zero();  // becomes NaN by the first value that is not finite
  for (int i = 0; i < kVectors; ++i) {
    most = max(abs(values[i]), most);
    tell_tale = fma(values[i], zero(), tell_tale);
  }
  const float check = sum(tell_tale);
  float scale = 0;
  float inverse = 0;
  if (check != check) {
    scale = check;
  } else {
    const float limit = largest(most);
    if (limit >= 0x1p-111f) {  // below, 32512 / limit is not finite
      scale = limit / 32512.0f;
      inverse = 32512.0f / limit;
    }
  }
  const int64_t group = lanes > 0 ? block / lanes * lanes : 0;
  int64_t at = group * 32 + (block - group) * (lanes > 0 ? 16 : 32);
  int32_t sums[2] = {0, 0};
  for (int half = 0; half < 2; ++half) {
    I total = splat_int(0);
    for (int i = 0; i < 16 / kWidth; ++i) {
      // A NaN times 0 is still NaN: a block that is not finite has no digits to round.
      const F v = check != check ? zero() : mul(values[half * (16 / kWidth) + i], splat(inverse));
      const I rounded = round_to_int(v);
      total = add(total, rounded);
      // Halfway goes up: the low term is -128 to 127.
      const I high = round_to_int(fma(to_float(rounded), splat(0x1p-8f), splat(0x1p-10f)));
      store_i8(out.q + at + i * kWidth, high);
      store_i8(out.low + at + i * kWidth, sub(rounded, mul(high, splat_int(256))));
    }
    sums[half] = sum(total);
    at += lanes > 0 ? lanes * 16 : 16;
  }
  out.scale[block] = scale;
  out.scaled_sum[block] = scale * static_cast<float>(sums[0] + sums[1]);
  out.minus_sum[block] = -(sums[0] + sums[1]);
  out.minus_half[0][block] = -sums[0];
  out.minus_half[1][block] = -sums[1];
}

template <int kLanes>
void quantize_row(const NormRow& norm, Bytes x, bool halves_apart, const Int8Row& out) {
  constexpr int kVectors = 32 / kWidth;
  const Normed row(norm, x);
  const int64_t padded = padded_k(norm.k);
  for (int64_t i = 0; i < padded; i += 32) {
    F values[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      values[j] = i < norm.k ? row.at(i + j * kWidth, kWidth) : zero();
    }
    quantize_block(values, i / 32, halves_apart ? kLanes : 0, out);
  }
}

inline F activate(uint32_t activation, F x) {
  switch (activation) {
    case abi::kActSilu:
      return silu(x);
    case abi::kActGeluErf:
      return gelu_erf(x);
    case abi::kActGeluTanh:
      return gelu_tanh(x);
    case abi::kActRelu:
      return max(zero(), x);  // NaN stays NaN
    case abi::kActSigmoid:
      return sigmoid(x);
    case abi::kActTanh:
      return tanh(x);
    default:
      return x;
  }
}

void finish_row(const FinishRow& row) {
  for (int64_t i = 0; i < row.n; i += kWidth) {
    const int64_t n = row.n - i;
    F v = load_n(row.y + i, n);
    if (row.bias != nullptr) v = add(v, load_n(row.bias + i, n));
    v = activate(row.activation, v);
    if (row.gate != nullptr) {
      F g = load_n(row.gate + i, n);
      if (row.gate_bias != nullptr) g = add(g, load_n(row.gate_bias + i, n));
      v = mul(v, g);
    }
    if (row.residual != nullptr) v = add(v, load_as(row.out_dtype, row.residual, i, n));
    store_as(row.out_dtype, row.out, i, v, n);
  }
}

}  // namespace
}  // namespace bessemer::cpu
