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

// Turns the scores of kRows rows into weights exp(score - maximum) in place, 0 where a key is not
// seen, over the vectors of keys [begin, end); partials get the maximum and the sum. Rows are done
// together only to overlap their latencies.
template <int kRows>
inline void soften(const AttentionShape& s, const AttentionSight* sights, const float* const* bias,
                   int64_t begin, int64_t end, float (*scores)[kSpan], float* partials) {
  alignas(64) float lanes[kWidth];
  for (int i = 0; i < kWidth; ++i) lanes[i] = static_cast<float>(i);
  const F lane = load(lanes);
  const F nothing = splat(kNegativeInfinity);
  int64_t all_lo = 0;  // where every row sees every key, unless it has bytes
  int64_t all_hi = kSpan;
  bool plain = s.softcap == 0;
  for (int r = 0; r < kRows; ++r) {
    all_lo = larger(all_lo, sights[r].lo);
    all_hi = smaller(all_hi, sights[r].hi);
    plain = plain && bias[r] == nullptr && sights[r].bytes == nullptr;
  }
  // NaN is passed over by the maximum and comes back through exp.
  F most[kRows];
  for (int r = 0; r < kRows; ++r) most[r] = nothing;
  for (int64_t j = begin; j < end; j += kWidth) {
    const bool inside = j >= all_lo && j + kWidth <= all_hi;
    for (int r = 0; r < kRows; ++r) {
      F x = load(scores[r] + j);
      if (!plain || !inside) {
        const AttentionSight& sight = sights[r];
        if (s.softcap != 0) x = mul(splat(s.softcap), tanh(div(x, splat(s.softcap))));
        if (bias[r] != nullptr) x = add(x, load_n(bias[r] + j, sight.hi - j));
        const F key = add(lane, splat(static_cast<float>(j)));
        x = select_less(key, splat(static_cast<float>(sight.lo)), nothing, x);
        x = select_less(key, splat(static_cast<float>(sight.hi)), x, nothing);
        store(scores[r] + j, x);
        if (sight.bytes != nullptr) {
          for (int64_t i = j; i < j + kWidth; ++i) {
            if (sight.bytes[i] == 0) scores[r][i] = kNegativeInfinity;
          }
          x = load(scores[r] + j);
        }
      }
      most[r] = max(x, most[r]);
    }
  }
  F base[kRows];
  F total[kRows];
  for (int r = 0; r < kRows; ++r) {
    const float maximum = largest(most[r]);
    partials[r * s.partial_stride] = maximum;
    base[r] = splat(maximum == kNegativeInfinity ? 0.0f : maximum);
    total[r] = zero();
  }
  for (int64_t j = begin; j < end; j += kWidth) {
    for (int r = 0; r < kRows; ++r) {
      const F e = exp_of_negative(sub(load(scores[r] + j), base[r]));
      store(scores[r] + j, e);
      total[r] = add(total[r], e);
    }
  }
  for (int r = 0; r < kRows; ++r) partials[r * s.partial_stride + 1] = sum(total[r]);
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

void load_query(uint32_t dtype, const std::byte* row, int64_t n, int64_t padded, float factor,
                float* out) {
  widen_row(dtype, row, n, out);
  for (int64_t i = n; i < padded; ++i) out[i] = 0;
  for (int64_t i = 0; i < padded; i += kWidth) store(out + i, mul(load(out + i), splat(factor)));
}

void widen_rows(const AttentionShape& s, const std::byte* rows, int64_t n, float* out) {
  for (int64_t j = 0; j < n; ++j, rows += s.v_stride, out += s.panel_stride) {
    widen_row(s.v_dtype, rows, s.v_head_dim, out);
  }
}

}  // namespace
}  // namespace bessemer::cpu
