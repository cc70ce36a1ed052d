// The driver of `attention`: which keys each token sees, which tokens share a tile, who computes
// what. The arithmetic is in attention_*.inl.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "devices/cpu/attention_isa.h"
#include "devices/cpu/kernels.h"
#include "kernel_abi/attention_params.h"

namespace bessemer::cpu {
namespace {

constexpr int64_t kSpan = abi::kAttentionSpan;
// Fewer rows do not repay laying out a span for them.
constexpr int64_t kFewestTileRows = 12;

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
  std::byte* scratch;
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
  r.scratch = *o;
  return r;
}

int64_t bytes_per(uint32_t dtype) { return info(static_cast<DType>(dtype)).block_bytes; }

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
        scratch_(p),
        group_(p.heads / p.kv_heads),
        isa_(attention_isa(call.isa)) {
    shape_.head_dim = p.head_dim;
    shape_.v_head_dim = p.v_head_dim;
    shape_.k_dtype = p.k_dtype;
    shape_.v_dtype = p.v_dtype;
    shape_.k_stride = p.kv_heads * p.head_dim * bytes_per(p.k_dtype);
    shape_.v_stride = p.kv_heads * p.v_head_dim * bytes_per(p.v_dtype);
    shape_.q_stride = scratch_.q_stride;
    shape_.partial_stride = scratch_.partial;
    v_in_place_ = static_cast<DType>(p.v_dtype) == DType::kF32;
    shape_.panel_stride = v_in_place_ ? shape_.v_stride / 4 : scratch_.v_stride;
    shape_.softcap = p.softcap;
  }

  void run() {
    if (p_.tokens == 0) return;
    int64_t seen = 0;
    for (int64_t t = 0; t < p_.tokens; ++t) {
      const Reach r = reach(t);
      if (r.fault) call_.report(kIndexOutOfRange);
      seen += r.high - r.low;
    }
    const double products = static_cast<double>(seen) * static_cast<double>(p_.heads) *
                            static_cast<double>(p_.head_dim + p_.v_head_dim);
    constexpr double kWorthWaking = 100'000;
    int workers = static_cast<int>(std::min<int64_t>(call_.threads, p_.workers));
    if (products < kWorthWaking) workers = 1;
    if (workers > 1 && p_.tokens <= p_.split_tokens) {
      auto body = [this](int worker, int n) { run_split(worker, n); };
      call_.pool.run(workers, body);
      return;
    }
    const int64_t tiles = cut_tiles(workers);
    // A tile that is too small for run_tile is one item when there are many, so that its worker
    // takes the kv heads together.
    const int64_t each = tiles >= 4 * workers ? p_.kv_heads : 1;
    std::atomic<int64_t> next{0};
    auto body = [&](int worker, int) {
      for (;;) {
        const int64_t item = next.fetch_add(1, std::memory_order_relaxed);
        if (item >= tiles * p_.kv_heads) return;
        // The last first: under a causal mask they have the most keys.
        const int64_t tile = tiles - 1 - item / p_.kv_heads;
        const int64_t begin = tile_starts()[tile];
        const int64_t end = tile_starts()[tile + 1];
        const int64_t g = item % p_.kv_heads;
        if (end - begin > 1 && (end - begin) * group_ >= kFewestTileRows) {
          run_tile(begin, end, g, worker);
        } else if (g % each == 0) {
          for (int64_t t = begin; t < end; ++t) run_token(t, g, g + each, worker);
        }
      }
    };
    call_.pool.run(workers, body);
  }

 private:
  // Areas of scratch.
  [[nodiscard]] std::byte* area(int worker) const {
    return o_.scratch + worker * scratch_.worker_area;
  }
  [[nodiscard]] static float* floats(std::byte* base, int64_t offset) {
    return reinterpret_cast<float*>(base + offset);
  }
  [[nodiscard]] int32_t* tile_starts() const {
    return reinterpret_cast<int32_t*>(o_.scratch + scratch_.tiles);
  }

  // Tiles: consecutive tokens of one sequence, at positions near each other. Any cut gives the same
  // bits; this one gives every worker several items.
  [[nodiscard]] int64_t cut_tiles(int workers) const {
    int64_t most = 1;
    if (p_.tile_tokens > 1) {
      const int64_t even = (p_.tokens * p_.kv_heads + 4 * workers - 1) / (4 * workers);
      const int64_t fewest = (2 * kFewestTileRows + group_ - 1) / group_;
      most = std::min(p_.tile_tokens, std::max(workers > 1 ? even : p_.tile_tokens, fewest));
    }
    int32_t* starts = tile_starts();
    int64_t tiles = 0;
    int64_t first = 0;
    for (int64_t t = 0; t < p_.tokens; ++t) {
      const bool fits = t > first && t - first < most && o_.q_seq[t] == o_.q_seq[first] &&
                        std::abs(int64_t{o_.q_pos[t]} - o_.q_pos[first]) <= 2 * most;
      if (t > 0 && fits) continue;
      first = t;
      starts[tiles++] = static_cast<int32_t>(t);
    }
    starts[tiles] = static_cast<int32_t>(p_.tokens);
    return tiles;
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

  // What token t sees of the span at `first`; `bytes` has room for a span.
  [[nodiscard]] AttentionSight sight(int64_t t, int64_t first, const Reach& r,
                                     uint8_t* bytes) const {
    const int64_t lo = std::max<int64_t>(r.low - first, 0);
    const int64_t hi = std::min(r.high - first, kSpan);
    if (hi <= lo) return {0, 0, nullptr};
    if (p_.sequences != 0 && o_.mask == nullptr) {
      return {static_cast<int32_t>(lo), static_cast<int32_t>(hi), nullptr};
    }
    std::memset(bytes, 0, kSpan);
    std::memset(bytes + lo, 1, static_cast<size_t>(hi - lo));
    if (p_.sequences == 0) flat_sight(t, first, hi, bytes);
    if (o_.mask != nullptr) {
      const uint8_t* mask = o_.mask + t * p_.keys + first;
      for (int64_t j = lo; j < hi; ++j) bytes[j] &= mask[j] != 0 ? 1 : 0;
    }
    return narrowed(bytes);
  }

  void flat_sight(int64_t t, int64_t first, int64_t n, uint8_t* bytes) const {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int32_t seq = o_.q_seq[t];
    const int64_t pos = o_.q_pos[t];
    int64_t low = kLeast;
    int64_t high = p_.causal != 0 ? pos : kMost;
    if (p_.window > 0) {
      low = std::max(kLeast, pos - p_.window + 1);
      high = std::min(high, pos + p_.window - 1);
    }
    const auto low32 = static_cast<int32_t>(low);
    const auto high32 = static_cast<int32_t>(high);
    const int32_t* k_seq = o_.k_seq + first;
    const int32_t* k_pos = o_.k_pos + first;
    for (int64_t j = 0; j < n; ++j) {
      const bool sees = (k_seq[j] == seq) & (k_pos[j] >= low32) & (k_pos[j] <= high32);
      bytes[j] &= static_cast<uint8_t>(sees);
    }
  }

  // Without the bytes, when they are all set between the first and the last that is.
  [[nodiscard]] static AttentionSight narrowed(const uint8_t* bytes) {
    int32_t lo = 0;
    int32_t hi = kSpan;
    while (lo < kSpan && bytes[lo] == 0) ++lo;
    if (lo == kSpan) return {0, 0, nullptr};
    while (bytes[hi - 1] == 0) --hi;
    int32_t count = 0;
    for (int32_t j = lo; j < hi; ++j) count += bytes[j];
    return {lo, hi, count == hi - lo ? nullptr : bytes};
  }

  [[nodiscard]] const std::byte* k_row(int64_t t, int64_t g, int64_t key) const {
    const int64_t row = p_.sequences == 0 ? key : o_.q_seq[t] * p_.keys + key;
    return o_.k + row * shape_.k_stride + g * p_.head_dim * bytes_per(p_.k_dtype);
  }
  [[nodiscard]] const std::byte* v_row(int64_t t, int64_t g, int64_t key) const {
    const int64_t row = p_.sequences == 0 ? key : o_.q_seq[t] * p_.keys + key;
    return o_.v + row * shape_.v_stride + g * p_.v_head_dim * bytes_per(p_.v_dtype);
  }
  [[nodiscard]] int64_t bias_head() const { return p_.bias_heads == 1 ? 0 : p_.tokens * p_.keys; }
  [[nodiscard]] const float* bias(int64_t t, int64_t head, int64_t key) const {
    return o_.bias == nullptr ? nullptr : o_.bias + head * bias_head() + t * p_.keys + key;
  }

  void load_q(int64_t t, int64_t g, float* q) const {
    const int64_t bytes = p_.head_dim * bytes_per(p_.q_dtype);
    const std::byte* from = o_.q + (t * p_.heads + g * group_) * bytes;
    for (int64_t h = 0; h < group_; ++h) {
      isa_.load_query(p_.q_dtype, from + h * bytes, p_.head_dim, scratch_.q_stride, p_.scale,
                      q + h * scratch_.q_stride);
    }
  }

  // Partials [group] of one span.
  void direct(int64_t t, int64_t g, int64_t first, const Reach& r, const float* q, uint8_t* bytes,
              float* partials, int64_t partial_stride) const {
    AttentionShape shape = shape_;
    shape.partial_stride = partial_stride;
    AttentionDirect a;
    a.sight = sight(t, first, r, bytes);
    a.k = k_row(t, g, first + a.sight.lo);
    a.v = v_row(t, g, first + a.sight.lo);
    for (int64_t h = 0; h < group_; h += kAttentionHeads) {
      a.heads = static_cast<int>(std::min<int64_t>(kAttentionHeads, group_ - h));
      a.q = q + h * scratch_.q_stride;
      for (int i = 0; i < a.heads; ++i) a.bias[i] = bias(t, g * group_ + h + i, first);
      isa_.direct(shape, a, partials + h * partial_stride);
    }
  }

  void finish(int64_t t, int64_t head, const float* total) const {
    const int64_t bytes = p_.v_head_dim * bytes_per(p_.q_dtype);
    isa_.finish(shape_, total, p_.q_dtype, o_.out + (t * p_.heads + head) * bytes);
  }

  // All keys of token t for kv heads [begin, end): a span for all of them before the next, since
  // they lie side by side in memory.
  void run_token(int64_t t, int64_t begin, int64_t end, int worker) const {
    std::byte* base = area(worker);
    float* q = floats(base, scratch_.q);
    float* totals = floats(base, scratch_.totals);
    float* partials = floats(base, scratch_.partials);
    auto* bytes = reinterpret_cast<uint8_t*>(base + scratch_.visible);
    const Reach r = reach(t);
    const int64_t heads = (end - begin) * group_;
    for (int64_t g = begin; g < end; ++g) {
      load_q(t, g, q + (g - begin) * group_ * scratch_.q_stride);
    }
    std::fill(totals, totals + heads * scratch_.partial, 0.0f);
    for (int64_t first = r.low / kSpan * kSpan; first < r.high; first += kSpan) {
      for (int64_t g = begin; g < end; ++g) {
        const int64_t head = (g - begin) * group_;
        direct(t, g, first, r, q + head * scratch_.q_stride, bytes, partials, scratch_.partial);
        for (int64_t h = 0; h < group_; ++h) {
          isa_.merge(shape_, totals + (head + h) * scratch_.partial,
                     partials + h * scratch_.partial);
        }
      }
    }
    for (int64_t h = 0; h < heads; ++h) {
      finish(t, begin * group_ + h, totals + h * scratch_.partial);
    }
  }

  void run_tile(int64_t begin, int64_t end, int64_t g, int worker) const {
    std::byte* base = area(worker);
    const int64_t rows = (end - begin) * group_;
    float* q = floats(base, scratch_.q);
    float* keys = floats(base, scratch_.keys);
    float* values = floats(base, scratch_.values);
    auto* sights = reinterpret_cast<AttentionSight*>(base + scratch_.sights);
    auto* bytes = reinterpret_cast<uint8_t*>(base + scratch_.visible);
    AttentionTile tile;
    tile.q = q;
    tile.rows = rows;
    tile.group = group_;
    tile.sights = sights;
    tile.keys = keys;
    tile.bias_token = p_.keys;
    tile.bias_head = bias_head();
    tile.partials = floats(base, scratch_.partials);
    tile.totals = floats(base, scratch_.totals);
    std::fill(tile.totals, tile.totals + rows * scratch_.partial, 0.0f);
    Reach all{p_.keys, 0, false};
    for (int64_t t = begin; t < end; ++t) {
      load_q(t, g, q + (t - begin) * group_ * scratch_.q_stride);
      const Reach r = reach(t);
      if (r.high <= r.low) continue;
      all.low = std::min(all.low, r.low);
      all.high = std::max(all.high, r.high);
    }
    const int64_t padded = (rows + kAttentionBlock - 1) / kAttentionBlock * kAttentionBlock;
    std::fill(q + rows * scratch_.q_stride, q + padded * scratch_.q_stride, 0.0f);
    for (int64_t first = all.low / kSpan * kSpan; first < all.high; first += kSpan) {
      int64_t lo = kSpan;
      int64_t hi = 0;
      for (int64_t t = begin; t < end; ++t) {
        const AttentionSight s = sight(t, first, reach(t), bytes + (t - begin) * kSpan);
        sights[t - begin] = s;
        if (s.hi <= s.lo) continue;
        lo = std::min<int64_t>(lo, s.lo);
        hi = std::max<int64_t>(hi, s.hi);
      }
      if (hi <= lo) continue;
      isa_.pack_keys(shape_, k_row(begin, g, first + lo), lo, hi, keys);
      if (v_in_place_) {
        tile.values = reinterpret_cast<const float*>(v_row(begin, g, first));
      } else {
        isa_.widen_rows(shape_, v_row(begin, g, first + lo), hi - lo,
                        values + lo * scratch_.v_stride);
        tile.values = values;
      }
      tile.bias = bias(begin, g * group_, first);
      isa_.tile(shape_, tile);
    }
    for (int64_t i = 0; i < rows; ++i) {
      finish(begin + i / group_, g * group_ + i % group_, tile.totals + i * scratch_.partial);
    }
  }

  // Few tokens: the spans of all of them are shared out, and merged after a barrier.
  void run_split(int worker, int workers) const {
    std::byte* base = area(worker);
    float* q = floats(base, scratch_.q);
    float* totals = floats(base, scratch_.totals);
    auto* bytes = reinterpret_cast<uint8_t*>(base + scratch_.visible);
    float* partials = floats(o_.scratch, scratch_.split);
    const int64_t stride = (p_.split_keys + kSpan - 1) / kSpan * scratch_.partial;  // of a head
    int64_t jobs = 0;  // in order of token, span, kv head
    for (int64_t t = 0; t < p_.tokens; ++t) jobs += spans_of(reach(t)) * p_.kv_heads;
    const int64_t begin = jobs * worker / workers;
    const int64_t end = jobs * (worker + 1) / workers;
    int64_t job = 0;
    for (int64_t t = 0; t < p_.tokens; ++t) {
      const Reach r = reach(t);
      const int64_t of_token = spans_of(r) * p_.kv_heads;
      const int64_t from = std::max(begin - job, int64_t{0});
      const int64_t to = std::min(end - job, of_token);
      job += of_token;
      if (from >= to) continue;
      for (int64_t g = 0; g < p_.kv_heads; ++g) load_q(t, g, q + g * group_ * scratch_.q_stride);
      for (int64_t i = from; i < to; ++i) {
        const int64_t s = r.low / kSpan + i / p_.kv_heads;
        const int64_t head = i % p_.kv_heads * group_;
        direct(t, i % p_.kv_heads, s * kSpan, r, q + head * scratch_.q_stride, bytes,
               partials + (t * p_.heads + head) * stride + s * scratch_.partial, stride);
      }
    }
    call_.pool.barrier();
    for (int64_t i = worker; i < p_.tokens * p_.heads; i += workers) {
      const Reach r = reach(i / p_.heads);
      std::fill(totals, totals + scratch_.partial, 0.0f);
      for (int64_t s = r.low / kSpan; s * kSpan < r.high; ++s) {
        isa_.merge(shape_, totals, partials + i * stride + s * scratch_.partial);
      }
      finish(i / p_.heads, i % p_.heads, totals);
    }
  }
  [[nodiscard]] static int64_t spans_of(const Reach& r) {
    return r.high <= r.low ? 0 : (r.high + kSpan - 1) / kSpan - r.low / kSpan;
  }

  const KernelCall& call_;
  const abi::AttentionParams& p_;
  const Operands o_;
  const abi::AttentionScratch scratch_;
  const int64_t group_;
  const AttentionIsa& isa_;
  AttentionShape shape_;
  bool v_in_place_;
};

}  // namespace

const AttentionIsa& attention_isa(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 || isa == Isa::kAvx512Vnni) return attention_avx512();
  if (isa == Isa::kAvx2) return attention_avx2();
#endif
  (void)isa;
  return attention_generic();
}

void attention(const KernelCall& call) {
  const auto& p = *static_cast<const abi::AttentionParams*>(call.params);
  Attention(call, p).run();
}

}  // namespace bessemer::cpu
