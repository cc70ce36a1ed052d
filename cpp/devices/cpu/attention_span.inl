// The body of a span over the vector layer (simd/); see attention_isa.h. Everything has internal
// linkage: files of several instruction sets include it.
namespace bessemer::cpu {
namespace {

constexpr int64_t kSpan = 256;
static_assert(kSpan % kWidth == 0);

// Codes of bessemer::DType that rows may have.
constexpr uint32_t kRowF32 = 0;
constexpr uint32_t kRowF16 = 1;

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

// scores[h][j .. j+3] = q_h · k_j. Four keys at a time share the loads of q and one reduction.
template <uint32_t kDType, int kHeads>
inline void dot4(const AttentionSpan& s, const std::byte* const* k, float (*scores)[kSpan],
                 int64_t j) {
  F acc[kHeads][4];
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < 4; ++i) acc[h][i] = zero();
  }
  int64_t d = 0;
  for (; d + kWidth <= s.head_dim; d += kWidth) {
    F q[kHeads];
    for (int h = 0; h < kHeads; ++h) q[h] = load(s.q + h * s.q_stride + d);
    for (int i = 0; i < 4; ++i) {
      const F row = row_at<kDType>(k[i], d);
      for (int h = 0; h < kHeads; ++h) acc[h][i] = fma(q[h], row, acc[h][i]);
    }
  }
  if (d < s.head_dim) {
    const int64_t n = s.head_dim - d;
    for (int i = 0; i < 4; ++i) {
      const F row = row_at_n<kDType>(k[i], d, n);
      for (int h = 0; h < kHeads; ++h) {
        acc[h][i] = fma(load_n(s.q + h * s.q_stride + d, n), row, acc[h][i]);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    sum4(acc[h][0], acc[h][1], acc[h][2], acc[h][3], scores[h] + j);
  }
}

// values[h] = sum over j of weights[h][j] * v_j.
template <uint32_t kDType, int kHeads>
inline void weigh(const AttentionSpan& s, const float (*weights)[kSpan], float* out,
                  int64_t out_stride) {
  for (int64_t d = 0; d < s.v_head_dim; d += kWidth) {
    const int64_t n = s.v_head_dim - d;
    F acc[kHeads];
    for (int h = 0; h < kHeads; ++h) acc[h] = zero();
    const std::byte* v = s.v;
    if (n >= kWidth) {
      for (int64_t j = 0; j < s.keys; ++j, v += s.v_stride) {
        const F row = row_at<kDType>(v, d);
        for (int h = 0; h < kHeads; ++h) acc[h] = fma(splat(weights[h][j]), row, acc[h]);
      }
    } else {
      for (int64_t j = 0; j < s.keys; ++j, v += s.v_stride) {
        const F row = row_at_n<kDType>(v, d, n);
        for (int h = 0; h < kHeads; ++h) acc[h] = fma(splat(weights[h][j]), row, acc[h]);
      }
    }
    for (int h = 0; h < kHeads; ++h) store_n(out + h * out_stride + 2 + d, acc[h], n);
  }
}

// A key that is not visible may hold anything, NaN too: its row is left out, not multiplied by 0.
template <uint32_t kDType, int kHeads>
inline void weigh_visible(const AttentionSpan& s, const float (*weights)[kSpan], float* out,
                          int64_t out_stride) {
  for (int64_t d = 0; d < s.v_head_dim; d += kWidth) {
    const int64_t n = s.v_head_dim - d;
    F acc[kHeads];
    for (int h = 0; h < kHeads; ++h) acc[h] = zero();
    for (int64_t j = 0; j < s.keys; ++j) {
      if (s.visible[j] == 0) continue;
      const F row = row_at_n<kDType>(s.v + j * s.v_stride, d, n);
      for (int h = 0; h < kHeads; ++h) acc[h] = fma(splat(weights[h][j]), row, acc[h]);
    }
    for (int h = 0; h < kHeads; ++h) store_n(out + h * out_stride + 2 + d, acc[h], n);
  }
}

constexpr float kNegativeInfinity = -__builtin_inff();

// Turns scores into weights exp(score - maximum) in place. Returns their sum.
inline float soften(const AttentionSpan& s, float* scores, const float* bias, float* maximum) {
  const int64_t padded = (s.keys + kWidth - 1) / kWidth * kWidth;
  for (int64_t j = s.keys; j < padded; ++j) scores[j] = kNegativeInfinity;
  const F scale = splat(s.scale);
  for (int64_t j = 0; j < padded; j += kWidth) {
    F x = mul(load(scores + j), scale);
    if (s.softcap > 0) x = mul(splat(s.softcap), tanh(div(x, splat(s.softcap))));
    store(scores + j, x);
  }
  for (int64_t j = 0; j < s.keys; ++j) {
    if (bias != nullptr) scores[j] += bias[j];
    if (s.visible != nullptr && s.visible[j] == 0) scores[j] = kNegativeInfinity;
  }
  for (int64_t j = s.keys; j < padded; ++j) scores[j] = kNegativeInfinity;
  // NaN is passed over here and comes back through exp.
  float most = kNegativeInfinity;
  for (int64_t j = 0; j < s.keys; ++j) most = scores[j] > most ? scores[j] : most;
  *maximum = most;
  const float base = most == kNegativeInfinity ? 0.0f : most;
  F total = zero();
  for (int64_t j = 0; j < padded; j += kWidth) {
    const F x = load(scores + j);
    F e = exp(sub(x, splat(base)));
    e = select_less(x, splat(-3.0e38f), zero(), e);  // exp is not quite 0 at -inf
    store(scores + j, e);
    total = add(total, e);
  }
  return sum(total);
}

template <uint32_t kK, uint32_t kV, int kHeads>
void span_body(const AttentionSpan& s, float* out, int64_t out_stride) {
  float scores[kHeads][kSpan];
  for (int64_t j = 0; j < s.keys; j += 4) {
    const std::byte* k[4];
    for (int i = 0; i < 4; ++i) k[i] = s.k + (j + i < s.keys ? j + i : s.keys - 1) * s.k_stride;
    dot4<kK, kHeads>(s, k, scores, j);
  }
  for (int h = 0; h < kHeads; ++h) {
    float* partial = out + h * out_stride;
    partial[1] = soften(s, scores[h], s.bias[h], &partial[0]);
  }
  if (s.visible == nullptr) {
    weigh<kV, kHeads>(s, scores, out, out_stride);
  } else {
    weigh_visible<kV, kHeads>(s, scores, out, out_stride);
  }
}

template <uint32_t kK, uint32_t kV>
void by_heads(const AttentionSpan& s, float* out, int64_t out_stride) {
  switch (s.heads) {
    case 1:
      return span_body<kK, kV, 1>(s, out, out_stride);
    case 2:
      return span_body<kK, kV, 2>(s, out, out_stride);
    case 3:
      return span_body<kK, kV, 3>(s, out, out_stride);
    default:
      return span_body<kK, kV, 4>(s, out, out_stride);
  }
}

template <uint32_t kK>
void by_v(const AttentionSpan& s, float* out, int64_t out_stride) {
  if (s.v_dtype == kRowF32) return by_heads<kK, 0>(s, out, out_stride);
  if (s.v_dtype == kRowF16) return by_heads<kK, 1>(s, out, out_stride);
  return by_heads<kK, 2>(s, out, out_stride);
}

void attend_span(const AttentionSpan& s, float* out, int64_t out_stride) {
  if (s.k_dtype == kRowF32) return by_v<0>(s, out, out_stride);
  if (s.k_dtype == kRowF16) return by_v<1>(s, out, out_stride);
  return by_v<2>(s, out, out_stride);
}

}  // namespace
}  // namespace bessemer::cpu
