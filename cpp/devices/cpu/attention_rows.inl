// What both paths of attention share: softmax over the scores of a span, merges, the last division.
namespace bessemer::cpu {
namespace {

constexpr int64_t kSpan = 128;
static_assert(kSpan == abi::kAttentionSpan && kSpan % kWidth == 0);

constexpr float kNegativeInfinity = -__builtin_inff();

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// e to the x for x <= 0; below e^-87 it is 0. NaN gives NaN.
inline F exp_of_negative(F x) {
  const F limited = max(splat(-88.0f), x);
  const I n = round_to_int(mul(limited, splat(1.44269504f)));
  const F nf = to_float(n);
  F r = fma(nf, splat(-0.693359375f), limited);  // ln 2 in two parts, the first with few bits
  r = fma(nf, splat(2.12194440e-4f), r);
  const F p = horner(r, 0.5f, 0.166665182f, 0.0416662022f, 0.00836902577f, 0.00139507174f);
  const F e = mul(add(fma(mul(r, r), p, r), splat(1.0f)), power_of_two(n));
  return select_less(x, splat(-87.0f), zero(), e);
}

// Turns the products scores[lo .. hi) of a row into weights exp(score - maximum), the rest of their
// vectors into 0. Returns the sum of the weights.
inline float soften(const AttentionShape& s, const AttentionSight& sight, const float* bias,
                    float* scores, float* maximum) {
  const int64_t begin = sight.lo / kWidth * kWidth;
  const int64_t end = (sight.hi + kWidth - 1) / kWidth * kWidth;
  const F scale = splat(s.scale);
  const bool plain = s.softcap == 0 && bias == nullptr;
  for (int64_t j = begin; j < end; j += kWidth) {
    F x = mul(load(scores + j), scale);
    if (!plain) {
      if (s.softcap != 0) x = mul(splat(s.softcap), tanh(div(x, splat(s.softcap))));
      if (bias != nullptr) x = add(x, load_n(bias + j, sight.hi - j));
    }
    store(scores + j, x);
  }
  for (int64_t j = begin; j < sight.lo; ++j) scores[j] = kNegativeInfinity;
  for (int64_t j = sight.hi; j < end; ++j) scores[j] = kNegativeInfinity;
  if (sight.bytes != nullptr) {
    for (int64_t j = sight.lo; j < sight.hi; ++j) {
      if (sight.bytes[j] == 0) scores[j] = kNegativeInfinity;
    }
  }
  // NaN is passed over here and comes back through exp.
  F most_of = splat(kNegativeInfinity);
  for (int64_t j = begin; j < end; j += kWidth) most_of = max(load(scores + j), most_of);
  const float most = largest(most_of);
  *maximum = most;
  const F base = splat(most == kNegativeInfinity ? 0.0f : most);
  F total = zero();
  for (int64_t j = begin; j < end; j += kWidth) {
    const F e = exp_of_negative(sub(load(scores + j), base));
    store(scores + j, e);
    total = add(total, e);
  }
  return sum(total);
}

inline void clear_partial(const AttentionShape& s, float* partial) {
  for (int64_t i = 0; i < s.v_head_dim + 2; i += kWidth) store(partial + i, zero());
}

void merge(const AttentionShape& s, float* total, const float* next) {
  if (next[1] == 0) return;
  const int64_t n = s.v_head_dim + 2;
  if (total[1] == 0) {
    for (int64_t i = 0; i < n; i += kWidth) store(total + i, load(next + i));
    return;
  }
  const float most = next[0] > total[0] ? next[0] : total[0];
  const F a = total[0] == most ? splat(1.0f) : exp_of_negative(splat(total[0] - most));
  const F b = next[0] == most ? splat(1.0f) : exp_of_negative(splat(next[0] - most));
  for (int64_t i = 0; i < n; i += kWidth) {
    store(total + i, fma(load(total + i), a, mul(load(next + i), b)));
  }
  total[0] = most;
}

template <uint32_t kDType>
inline void finish_as(const AttentionShape& s, const float* total, std::byte* out) {
  const bool empty = total[1] == 0;
  const F divisor = splat(empty ? 1.0f : total[1]);
  for (int64_t d = 0; d < s.v_head_dim; d += kWidth) {
    const int64_t n = s.v_head_dim - d;
    put_row_n<kDType>(out, d, empty ? zero() : div(load_n(total + 2 + d, n), divisor), n);
  }
}
void finish(const AttentionShape& s, const float* total, uint32_t dtype, std::byte* out) {
  if (dtype == kRowF32) return finish_as<kRowF32>(s, total, out);
  if (dtype == kRowF16) return finish_as<kRowF16>(s, total, out);
  finish_as<kRowBF16>(s, total, out);
}

void widen(uint32_t dtype, const std::byte* row, int64_t n, int64_t padded, float* out) {
  widen_row(dtype, row, n, out);
  for (int64_t i = n; i < padded; ++i) out[i] = 0;
}

}  // namespace
}  // namespace bessemer::cpu
