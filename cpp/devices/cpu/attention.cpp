// The driver of `attention`: which spans of keys each token needs, who computes them, and how their
// partials are merged. The arithmetic of one span is in attention_span.inl.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "devices/cpu/attention_isa.h"
#include "devices/cpu/kernels.h"
#include "kernel_abi/attention_params.h"

namespace bessemer::cpu {
namespace {

constexpr int64_t kSpan = abi::kAttentionSpan;

struct Operands {
  const std::byte* q;
  const std::byte* k;
  const std::byte* v;
  const int32_t* q_seq;
  const int32_t* q_pos;
  const int32_t* k_seq = nullptr;
  const int32_t* k_pos = nullptr;
  const uint8_t* mask = nullptr;
  const float* bias = nullptr;
  std::byte* out;
  float* scratch;
};

Operands operands_of(const abi::AttentionParams& p, std::byte* const* o) {
  Operands r;
  r.q = *o++;
  r.k = *o++;
  r.v = *o++;
  r.q_seq = reinterpret_cast<const int32_t*>(*o++);
  r.q_pos = reinterpret_cast<const int32_t*>(*o++);
  if (p.sequences == 0) {
    r.k_seq = reinterpret_cast<const int32_t*>(*o++);
    r.k_pos = reinterpret_cast<const int32_t*>(*o++);
  }
  if (p.has_mask != 0) r.mask = reinterpret_cast<const uint8_t*>(*o++);
  if (p.has_bias != 0) r.bias = reinterpret_cast<const float*>(*o++);
  r.out = *o++;
  r.scratch = reinterpret_cast<float*>(*o);
  return r;
}

float element(const std::byte* p, uint32_t dtype, int64_t i) {
  if (static_cast<DType>(dtype) == DType::kF32) {
    float f;
    std::memcpy(&f, p + 4 * i, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, p + 2 * i, 2);
  return static_cast<DType>(dtype) == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

void put(std::byte* p, uint32_t dtype, int64_t i, float f) {
  if (static_cast<DType>(dtype) == DType::kF32) {
    std::memcpy(p + 4 * i, &f, 4);
    return;
  }
  const uint16_t h = static_cast<DType>(dtype) == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
  std::memcpy(p + 2 * i, &h, 2);
}

// The keys [low, high) outside of which a token certainly sees nothing.
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
  bool fault = false;
};

class Attention {
 public:
  Attention(const KernelCall& call, const abi::AttentionParams& p)
      : call_(call),
        p_(p),
        o_(operands_of(p, call.operands)),
        group_(p.heads / p.kv_heads),
        partial_(abi::attention_partial_floats(p)),
        span_fn_(attention_span(call.isa)) {}

  void run() {
    const int64_t items = p_.tokens * p_.kv_heads;
    if (items == 0) return;
    const bool split = p_.tokens <= p_.split_tokens && call_.threads > 1;
    const int64_t work = p_.tokens * p_.heads * std::min(p_.keys, p_.tokens + kSpan);
    const int workers = !split && work < 4096 ? 1 : call_.threads;
    auto body = [&](int worker, int n) {
      if (split && n > 1) {
        run_split(worker, n);
      } else {
        Buffers b = buffers();
        // Interleaved, because later tokens of a causal chunk have more keys.
        for (int64_t i = worker; i < items; i += n) whole_item(i, b);
      }
    };
    call_.pool.run(workers, body);
  }

 private:
  struct Buffers {
    std::vector<float> q;
    std::vector<float> partials;
    std::vector<float> total;
    std::vector<uint8_t> visible;
  };

  [[nodiscard]] int64_t padded_dim() const { return (p_.head_dim + 15) / 16 * 16; }

  [[nodiscard]] Buffers buffers() const {
    Buffers b;
    b.q.resize(static_cast<size_t>(group_ * padded_dim()));
    b.partials.resize(static_cast<size_t>(group_ * partial_));
    b.total.resize(static_cast<size_t>(group_ * partial_));
    b.visible.resize(kSpan);
    return b;
  }

  [[nodiscard]] Reach reach(int64_t t) const {
    if (p_.sequences == 0) return {0, p_.keys, false};
    const int64_t seq = o_.q_seq[t];
    const int64_t pos = o_.q_pos[t];
    if (seq < 0 || seq >= p_.sequences || pos < 0 || pos >= p_.keys) return {0, 0, true};
    Reach r{0, p_.keys, false};
    if (p_.causal != 0) r.high = pos + 1;
    if (p_.window > 0) {
      r.low = std::max<int64_t>(0, pos - p_.window + 1);
      if (p_.causal == 0) r.high = std::min(p_.keys, pos + p_.window);
    }
    return r;
  }

  void load_q(int64_t t, int64_t g, Buffers& b) const {
    const int64_t first = (t * p_.heads + g * group_) * p_.head_dim;
    for (int64_t h = 0; h < group_; ++h) {
      for (int64_t d = 0; d < p_.head_dim; ++d) {
        b.q[static_cast<size_t>(h * padded_dim() + d)] =
            element(o_.q, p_.q_dtype, first + h * p_.head_dim + d);
      }
    }
  }

  // Which keys of [first, first + n) the token sees; null when it sees all of them.
  const uint8_t* visible(int64_t t, int64_t first, int64_t n, const Reach& r, Buffers& b) const {
    const bool flat = p_.sequences == 0;
    const bool edges = first < r.low || first + n > r.high;
    if (!flat && !edges && o_.mask == nullptr) return nullptr;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t key = first + j;
      bool sees = key >= r.low && key < r.high;
      if (flat) {
        const int64_t behind = int64_t{o_.q_pos[t]} - o_.k_pos[key];
        sees = o_.k_seq[key] == o_.q_seq[t] && (p_.causal == 0 || behind >= 0);
        if (p_.window > 0) sees = sees && std::abs(behind) < p_.window;
      }
      if (sees && o_.mask != nullptr) sees = o_.mask[t * p_.keys + key] != 0;
      b.visible[static_cast<size_t>(j)] = sees ? 1 : 0;
    }
    return b.visible.data();
  }

  // Partials of all heads of group g for the span that starts at `first`.
  void span(int64_t t, int64_t g, int64_t first, const Reach& r, Buffers& b, float* out,
            int64_t out_stride) const {
    const int64_t k_bytes = info(static_cast<DType>(p_.k_dtype)).block_bytes;
    const int64_t v_bytes = info(static_cast<DType>(p_.v_dtype)).block_bytes;
    // Keys past the reach may be past what was ever written: do not read them.
    const int64_t begin = std::max(first, r.low);
    const int64_t end = std::min(first + kSpan, r.high);
    const int64_t n = end - begin;
    const int64_t row = p_.sequences == 0 ? begin : o_.q_seq[t] * p_.keys + begin;
    AttentionSpan s;
    s.k_dtype = p_.k_dtype;
    s.v_dtype = p_.v_dtype;
    s.k_stride = p_.kv_heads * p_.head_dim * k_bytes;
    s.v_stride = p_.kv_heads * p_.v_head_dim * v_bytes;
    s.k = o_.k + row * s.k_stride + g * p_.head_dim * k_bytes;
    s.v = o_.v + row * s.v_stride + g * p_.v_head_dim * v_bytes;
    s.head_dim = p_.head_dim;
    s.v_head_dim = p_.v_head_dim;
    s.keys = n;
    s.visible = visible(t, begin, n, r, b);
    s.scale = p_.scale;
    s.softcap = p_.softcap;
    s.q_stride = padded_dim();
    for (int64_t h = 0; h < group_; h += kAttentionHeads) {
      s.heads = static_cast<int>(std::min<int64_t>(kAttentionHeads, group_ - h));
      s.q = b.q.data() + h * padded_dim();
      for (int i = 0; i < s.heads; ++i) {
        const int64_t bias_head = p_.bias_heads == 1 ? 0 : g * group_ + h + i;
        s.bias[i] =
            o_.bias == nullptr ? nullptr : o_.bias + (bias_head * p_.tokens + t) * p_.keys + begin;
      }
      span_fn_(s, out + h * out_stride, out_stride);
    }
  }

  // total = total merged with next; both are [maximum, sum, values].
  void merge(float* total, const float* next) const {
    if (next[1] == 0) return;
    if (total[1] == 0) {
      std::copy(next, next + partial_, total);
      return;
    }
    const float most = std::max(total[0], next[0]);
    const float a = total[0] == most ? 1.0f : std::exp(total[0] - most);
    const float c = next[0] == most ? 1.0f : std::exp(next[0] - most);
    total[0] = most;
    for (int64_t i = 1; i < partial_; ++i) total[i] = total[i] * a + next[i] * c;
  }

  void finish(int64_t t, int64_t head, const float* total) const {
    const int64_t at = (t * p_.heads + head) * p_.v_head_dim;
    for (int64_t d = 0; d < p_.v_head_dim; ++d) {
      put(o_.out, p_.q_dtype, at + d, total[1] == 0 ? 0.0f : total[2 + d] / total[1]);
    }
  }

  void whole_item(int64_t item, Buffers& b) const {
    const int64_t t = item / p_.kv_heads;
    const int64_t g = item % p_.kv_heads;
    const Reach r = reach(t);
    if (r.fault) call_.report(kIndexOutOfRange);
    std::fill(b.total.begin(), b.total.end(), 0.0f);
    load_q(t, g, b);
    for (int64_t first = r.low / kSpan * kSpan; first < r.high; first += kSpan) {
      span(t, g, first, r, b, b.partials.data(), partial_);
      for (int64_t h = 0; h < group_; ++h) {
        merge(b.total.data() + h * partial_, b.partials.data() + h * partial_);
      }
    }
    for (int64_t h = 0; h < group_; ++h) {
      finish(t, g * group_ + h, b.total.data() + h * partial_);
    }
  }

  // Few tokens: the spans of all of them are shared out, and merged after a barrier.
  void run_split(int worker, int workers) {
    Buffers b = buffers();
    const int64_t spans = (p_.keys + kSpan - 1) / kSpan;
    int64_t job = 0;
    for (int64_t t = 0; t < p_.tokens; ++t) {
      const Reach r = reach(t);
      if (r.fault && worker == 0) call_.report(kIndexOutOfRange);
      for (int64_t g = 0; g < p_.kv_heads; ++g) {
        bool loaded = false;
        for (int64_t s = r.low / kSpan; s * kSpan < r.high; ++s) {
          if (job++ % workers != worker) continue;
          if (!loaded) load_q(t, g, b);
          loaded = true;
          float* out = o_.scratch + ((t * p_.heads + g * group_) * spans + s) * partial_;
          span(t, g, s * kSpan, r, b, out, spans * partial_);
        }
      }
    }
    call_.pool.barrier();
    for (int64_t i = worker; i < p_.tokens * p_.heads; i += workers) {
      const Reach r = reach(i / p_.heads);
      std::fill(b.total.begin(), b.total.begin() + partial_, 0.0f);
      for (int64_t s = r.low / kSpan; s * kSpan < r.high; ++s) {
        merge(b.total.data(), o_.scratch + (i * spans + s) * partial_);
      }
      finish(i / p_.heads, i % p_.heads, b.total.data());
    }
  }

  const KernelCall& call_;
  const abi::AttentionParams& p_;
  const Operands o_;
  const int64_t group_;
  const int64_t partial_;
  const AttentionSpanFn span_fn_;
};

}  // namespace

AttentionSpanFn attention_span(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 || isa == Isa::kAvx512Vnni) return attention_span_avx512();
  if (isa == Isa::kAvx2) return attention_span_avx2();
#endif
  (void)isa;
  return attention_span_generic();
}

void attention(const KernelCall& call) {
  const auto& p = *static_cast<const abi::AttentionParams*>(call.params);
  Attention(call, p).run();
}

}  // namespace bessemer::cpu
