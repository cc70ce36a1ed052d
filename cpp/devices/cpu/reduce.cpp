// Reductions, softmax, running sums and top-k along one axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "devices/cpu/kernels.h"
#include "devices/cpu/rows.h"
#include "kernel_abi/reduce_params.h"

namespace bessemer::cpu {
namespace {

// 16-bit floats behind a type of their own, so that one template serves every dtype.
template <DType kDType>
struct Half {
  uint16_t bits;
};
using F16 = Half<DType::kF16>;
using BF16 = Half<DType::kBF16>;

template <class T>
auto widen(T v) {
  if constexpr (std::is_same_v<T, F16>) {
    return f16_to_f32(v.bits);
  } else if constexpr (std::is_same_v<T, BF16>) {
    return bf16_to_f32(v.bits);
  } else {
    return v;
  }
}
template <class T>
using Wide = decltype(widen(T{}));
template <class T>
T narrow(Wide<T> v) {
  if constexpr (std::is_same_v<T, F16>) {
    return {f32_to_f16(v)};
  } else if constexpr (std::is_same_v<T, BF16>) {
    return {f32_to_bf16(v)};
  } else {
    return v;
  }
}

template <class F>
void with_type(uint32_t dtype, F&& f) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF32:
      return f(float{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU32:
      return f(uint32_t{});
    default:
      return f(uint8_t{});  // u8 and bool
  }
}

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<Wide<T>>;

// What sums and products are formed in: f64, or the 64-bit ring that every integer dtype wraps in.
template <class T>
using Sum = std::conditional_t<kIsFloat<T>, double, uint64_t>;

template <class W>
bool is_nan(W v) {
  if constexpr (std::is_floating_point_v<W>) return v != v;
  return false;
}

// The larger or smaller; the first NaN wins.
template <bool kMax, class W>
W extreme(W a, W b) {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return kMax ? (b > a ? b : a) : (b < a ? b : a);
}

template <class W>
W least() {
  if constexpr (std::is_floating_point_v<W>) return -std::numeric_limits<W>::infinity();
  return std::numeric_limits<W>::lowest();
}
template <class W>
W greatest() {
  if constexpr (std::is_floating_point_v<W>) return std::numeric_limits<W>::infinity();
  return std::numeric_limits<W>::max();
}

int workers_for(const KernelCall& call, int64_t elements) {
  return elements < 32768 ? 1 : call.threads;
}

// Columns of inner that are reduced side by side: rows of x are read in order.
constexpr int64_t kColumns = 64;

template <class Acc, class T, class Out, class Start, class Step, class Finish>
void reduce_columns(const abi::ReduceParams& p, const T* x, Out* out, int64_t begin, int64_t end,
                    Start start, Step step, Finish finish) {
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  for (int64_t job = begin; job < end; ++job) {
    const int64_t o = job / blocks;
    const int64_t c0 = job % blocks * kColumns;
    const int64_t n = std::min(kColumns, p.inner - c0);
    Acc acc[kColumns];
    for (int64_t c = 0; c < n; ++c) acc[c] = start();
    const T* row = x + o * p.axis * p.inner + c0;
    if (p.inner == 1) {
      // One long row: a few independent sums keep the adders busy.
      Acc lanes[8];
      for (Acc& lane : lanes) lane = start();
      int64_t a = 0;
      for (; a + 8 <= p.axis; a += 8) {
        for (int l = 0; l < 8; ++l) step(lanes[l], widen(row[a + l]));
      }
      for (; a < p.axis; ++a) step(lanes[a % 8], widen(row[a]));
      for (const Acc& lane : lanes) step(acc[0], lane);
    } else {
      for (int64_t a = 0; a < p.axis; ++a, row += p.inner) {
        for (int64_t c = 0; c < n; ++c) step(acc[c], widen(row[c]));
      }
    }
    for (int64_t c = 0; c < n; ++c) out[o * p.inner + c0 + c] = finish(acc[c]);
  }
}

template <class T, class Out>
void reduce_as(const abi::ReduceParams& p, const T* x, Out* out, int64_t begin, int64_t end) {
  using W = Wide<T>;
  using S = Sum<T>;
  const auto finish_sum = [&](S s) {
    if constexpr (kIsFloat<T>) {
      return narrow<Out>(static_cast<Wide<Out>>(s / static_cast<double>(p.divisor)));
    } else {
      return static_cast<Out>(s);
    }
  };
  const auto as_out = [](W w) {
    if constexpr (kIsFloat<T>) {
      return narrow<Out>(w);
    } else {
      return static_cast<Out>(w);
    }
  };
  switch (p.kind) {
    case abi::kReduceSum:
      return reduce_columns<S>(
          p, x, out, begin, end, [] { return S{0}; }, [](S& a, auto v) { a += static_cast<S>(v); },
          finish_sum);
    case abi::kReduceProd:
      return reduce_columns<S>(
          p, x, out, begin, end, [] { return S{1}; }, [](S& a, auto v) { a *= static_cast<S>(v); },
          finish_sum);
    case abi::kReduceMax:
      return reduce_columns<W>(
          p, x, out, begin, end, [] { return least<W>(); },
          [](W& a, W v) { a = extreme<true>(a, v); }, as_out);
    case abi::kReduceMin:
      return reduce_columns<W>(
          p, x, out, begin, end, [] { return greatest<W>(); },
          [](W& a, W v) { a = extreme<false>(a, v); }, as_out);
    case abi::kReduceAny:
      return reduce_columns<W>(
          p, x, out, begin, end, [] { return W{0}; },
          [](W& a, W v) { a = a != 0 || v != 0 ? W{1} : W{0}; }, as_out);
    default:
      return reduce_columns<W>(
          p, x, out, begin, end, [] { return W{1}; },
          [](W& a, W v) { a = a != 0 && v != 0 ? W{1} : W{0}; }, as_out);
  }
}

}  // namespace

void reduce(const KernelCall& call) {
  const auto& p = *static_cast<const abi::ReduceParams*>(call.params);
  const int64_t jobs = p.outer * ((p.inner + kColumns - 1) / kColumns);
  auto body = [&](int worker, int n) {
    const Share s = share_of(jobs, worker, n);
    with_type(p.x_dtype, [&](auto type) {
      using T = decltype(type);
      const auto* x = reinterpret_cast<const T*>(call.operands[0]);
      // A reduction over several axes keeps its parts in f32.
      if (p.out_dtype == static_cast<uint32_t>(DType::kF32) && kIsFloat<T>) {
        if constexpr (kIsFloat<T>) {
          reduce_as<T, float>(p, x, reinterpret_cast<float*>(call.operands[1]), s.begin, s.end);
        }
        return;
      }
      if constexpr (std::is_same_v<T, float>) {
        if (p.out_dtype == static_cast<uint32_t>(DType::kF16)) {
          reduce_as<T, F16>(p, x, reinterpret_cast<F16*>(call.operands[1]), s.begin, s.end);
        } else {
          reduce_as<T, BF16>(p, x, reinterpret_cast<BF16*>(call.operands[1]), s.begin, s.end);
        }
      } else {
        reduce_as<T, T>(p, x, reinterpret_cast<T*>(call.operands[1]), s.begin, s.end);
      }
    });
  };
  call.pool.run(workers_for(call, p.outer * p.axis * p.inner), body);
}

void arg_reduce(const KernelCall& call) {
  const auto& p = *static_cast<const abi::ArgReduceParams*>(call.params);
  auto* out = reinterpret_cast<int32_t*>(call.operands[1]);
  auto body = [&](int worker, int n) {
    const Share s = share_of(p.outer * p.inner, worker, n);
    with_type(p.dtype, [&](auto type) {
      using T = decltype(type);
      const auto* x = reinterpret_cast<const T*>(call.operands[0]);
      for (int64_t i = s.begin; i < s.end; ++i) {
        const T* at = x + i / p.inner * p.axis * p.inner + i % p.inner;
        int64_t best = 0;
        for (int64_t a = 1; a < p.axis; ++a) {
          const auto have = widen(at[best * p.inner]);
          const auto next = widen(at[a * p.inner]);
          if (is_nan(have)) break;
          if (is_nan(next) || (p.want_max != 0 ? next > have : next < have)) best = a;
        }
        out[i] = static_cast<int32_t>(best);
      }
    });
  };
  call.pool.run(workers_for(call, p.outer * p.axis * p.inner), body);
}

void softmax(const KernelCall& call) {
  const auto& p = *static_cast<const abi::SoftmaxParams*>(call.params);
  const auto dtype = static_cast<DType>(p.dtype);
  const std::byte* x = call.operands[0];
  std::byte* out = call.operands[1];
  auto body = [&](int worker, int n) {
    std::vector<float> row(static_cast<size_t>(p.axis));
    const Share s = share_of(p.outer * p.inner, worker, n);
    for (int64_t i = s.begin; i < s.end; ++i) {
      const int64_t base = i / p.inner * p.axis * p.inner + i % p.inner;
      float most = -std::numeric_limits<float>::infinity();
      for (int64_t a = 0; a < p.axis; ++a) {
        const float v = float_at(x, dtype, base + a * p.inner);
        row[static_cast<size_t>(a)] = v;
        most = v > most ? v : most;
      }
      const float shift = std::isinf(most) && most < 0 ? 0.0f : most;
      double total = 0;
      for (float v : row) total += std::exp(v - shift);
      const auto sum = static_cast<float>(total);
      const float log_sum = std::log(sum);
      for (int64_t a = 0; a < p.axis; ++a) {
        const float v = row[static_cast<size_t>(a)];
        const float y = p.log != 0    ? v - shift - log_sum
                        : sum == 0.0f ? 0.0f
                                      : std::exp(v - shift) / sum;
        put_float(out, dtype, base + a * p.inner, y);
      }
    }
  };
  call.pool.run(workers_for(call, p.outer * p.axis * p.inner * 8), body);
}

namespace {

template <class T, class Acc, class Step, class Get>
void scan(const abi::CumulativeParams& p, const T* x, T* out, int64_t i, Acc acc, Step step,
          Get get) {
  const int64_t base = i / p.inner * p.axis * p.inner + i % p.inner;
  for (int64_t a = 0; a < p.axis; ++a) {
    const int64_t at = base + (p.reverse != 0 ? p.axis - 1 - a : a) * p.inner;
    const T v = x[at];  // before the write: out may be x
    if (p.exclusive != 0) out[at] = get(acc);
    step(acc, widen(v));
    if (p.exclusive == 0) out[at] = get(acc);
  }
}

template <class T>
void scan_one(const abi::CumulativeParams& p, const T* x, T* out, int64_t i) {
  using W = Wide<T>;
  using S = Sum<T>;
  const auto from_sum = [](S s) {
    if constexpr (kIsFloat<T>) {
      return narrow<T>(static_cast<W>(s));
    } else {
      return static_cast<T>(s);
    }
  };
  const auto from_wide = [](W w) { return narrow<T>(w); };
  switch (p.kind) {
    case abi::kReduceSum:
      return scan(p, x, out, i, S{0}, [](S& a, W v) { a += static_cast<S>(v); }, from_sum);
    case abi::kReduceProd:
      return scan(p, x, out, i, S{1}, [](S& a, W v) { a *= static_cast<S>(v); }, from_sum);
    case abi::kReduceMax:
      return scan(p, x, out, i, least<W>(), [](W& a, W v) { a = extreme<true>(a, v); }, from_wide);
    default:
      return scan(
          p, x, out, i, greatest<W>(), [](W& a, W v) { a = extreme<false>(a, v); }, from_wide);
  }
}

}  // namespace

void cumulative(const KernelCall& call) {
  const auto& p = *static_cast<const abi::CumulativeParams*>(call.params);
  auto body = [&](int worker, int n) {
    const Share s = share_of(p.outer * p.inner, worker, n);
    with_type(p.dtype, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = s.begin; i < s.end; ++i) {
        scan_one<T>(p, reinterpret_cast<const T*>(call.operands[0]),
                    reinterpret_cast<T*>(call.operands[1]), i);
      }
    });
  };
  call.pool.run(workers_for(call, p.outer * p.axis * p.inner), body);
}

void top_k(const KernelCall& call) {
  const auto& p = *static_cast<const abi::TopKParams*>(call.params);
  auto* indices = reinterpret_cast<int32_t*>(call.operands[2]);
  auto body = [&](int worker, int n) {
    std::vector<int32_t> order(static_cast<size_t>(p.axis));
    const Share s = share_of(p.rows, worker, n);
    with_type(p.dtype, [&](auto type) {
      using T = decltype(type);
      auto* values = reinterpret_cast<T*>(call.operands[1]);
      for (int64_t r = s.begin; r < s.end; ++r) {
        const T* x = reinterpret_cast<const T*>(call.operands[0]) + r * p.axis;
        std::iota(order.begin(), order.end(), 0);
        // NaN first, then larger values, then lower indices: a strict total order.
        const auto before = [&](int32_t a, int32_t b) {
          const auto va = widen(x[a]);
          const auto vb = widen(x[b]);
          if (is_nan(va) != is_nan(vb)) return is_nan(va);
          if (!is_nan(va) && va != vb) return va > vb;
          return a < b;
        };
        std::partial_sort(order.begin(), order.begin() + p.k, order.end(), before);
        for (int64_t i = 0; i < p.k; ++i) {
          indices[r * p.k + i] = order[static_cast<size_t>(i)];
          values[r * p.k + i] = x[order[static_cast<size_t>(i)]];
        }
      }
    });
  };
  call.pool.run(workers_for(call, p.rows * p.axis), body);
}

}  // namespace bessemer::cpu
