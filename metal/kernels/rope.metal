// rope and rope_append: kernel_abi/rope_params.h has the meaning.
//
// A turn of pair i by position t is the fraction of t * f, f = turn * base^(-2i / n_rot) in turns
// of a full circle. It is formed in 64-bit fixed point, where whole turns fall off the top: exact
// for any position, in integers alone.
#include "fault.h"
#include "kernel_abi/norm_params.h"
#include "kernel_abi/rope_params.h"
#include "lanes.h"
#include "wide_float.h"

namespace bessemer {

inline ulong high_product(ulong a, ulong b) {
  const ulong a0 = a & 0xfffffffful;
  const ulong a1 = a >> 32;
  const ulong b0 = b & 0xfffffffful;
  const ulong b1 = b >> 32;
  const ulong low = a0 * b0;
  const ulong mid = a1 * b0 + (low >> 32);
  const ulong other = a0 * b1 + (mid & 0xfffffffful);
  return a1 * b1 + (mid >> 32) + (other >> 32);
}

// A number as abi::RopeNumber has it, on its way.
struct Scaled {
  ulong mantissa;
  int exponent;
};
inline Scaled normalised(Scaled v) {
  if (v.mantissa == 0) return v;
  const uint zeros = leading_zeros(v.mantissa);
  v.mantissa <<= zeros;
  v.exponent -= int(zeros);
  return v;
}

// The frequency of pair i in turns a position, as a fraction of 2^64. `factor` divides it.
inline ulong turns_of_pair(constant abi::RopeParams& p, uint pair, float factor) {
  Scaled v;
  v.mantissa = p.turn.mantissa;
  v.exponent = p.turn.exponent;
  for (uint bit = 0; (pair >> bit) != 0 && bit < uint(abi::kRopeSteps); ++bit) {
    if (((pair >> bit) & 1u) == 0) continue;
    v.mantissa = high_product(v.mantissa, p.steps[bit].mantissa);
    v.exponent += p.steps[bit].exponent + 1;
    v = normalised(v);
  }
  bool negative = p.turn.negative != 0;
  if (kHasFactors) {
    uint bits = as_type<uint>(factor);
    negative = negative != ((bits >> 31) != 0);
    bits &= 0x7fffffffu;
    if (bits >= 0x7f800000u) return 0;  // infinite; NaN is seen to by the caller
    const uint shift = bits < 0x00800000u ? clz(bits) - 8 : 0;
    const int exponent = shift != 0 ? -126 - int(shift) : int(bits >> 23) - 127;
    const ulong divisor = shift != 0 ? bits << shift : (bits & 0x7fffffu) | 0x800000u;
    const ulong quotient = v.mantissa / divisor;
    v.mantissa = (quotient << 23) + (((v.mantissa - quotient * divisor) << 23) / divisor);
    v.exponent -= exponent;
    v = normalised(v);
  }
  const int up = v.exponent + 1;
  ulong fraction = 0;
  if (up >= 0 && up < 64) fraction = v.mantissa << up;
  if (up < 0 && up > -64) fraction = v.mantissa >> -up;
  return negative ? 0ul - fraction : fraction;
}

struct Rotation {
  float cosine;
  float sine;
};
inline Rotation rotation_of(constant abi::RopeParams& p, uint pair, const device float* factors,
                            long position) {
  const float factor = kHasFactors ? factors[pair] : 1.0f;
  Rotation r;
  if (kHasFactors && !(fabs(factor) > 0.0f)) {  // 0 or NaN: no angle
    r.cosine = NAN;
    r.sine = NAN;
    return r;
  }
  const ulong turn = turns_of_pair(p, pair, factor) * ulong(position);
  // The nearest quarter, and what is left: an eighth of a turn at most.
  const uint quarter = uint((turn + 0x2000000000000000ul) >> 62);
  const long rest = long(turn - (ulong(quarter) << 62));
  const float angle = f32_from_whole(rest, false) * 0x1.921fb6p-62f;  // 2 pi / 2^64
  const float s = sin(angle);
  const float c = cos(angle);
  r.cosine = (quarter & 1u) != 0 ? s : c;
  r.sine = (quarter & 1u) != 0 ? c : s;
  if (quarter == 1 || quarter == 2) r.cosine = -r.cosine;
  if (quarter == 2 || quarter == 3) r.sine = -r.sine;
  return r;
}
// The two elements of a pair within a head.
inline uint2 pair_elements(constant abi::RopeParams& p, uint pair) {
  if (kInterleaved) return uint2(2 * pair, 2 * pair + 1);
  return uint2(pair, pair + uint(p.n_rot) / 2);
}

// A thread turns one pair of up to four heads, whose angle is one, or moves an element that is not
// turned. Grid: pairs and those elements, heads by fours, tokens.
constant constexpr uint kRopeHeads = 4;
template <class T>
[[kernel]] void rope(constant abi::RopeParams& p [[buffer(0)]], const device T* x [[buffer(1)]],
                     const device uchar* positions [[buffer(2)]],
                     const device float* factors [[buffer(3), function_constant(kHasFactors)]],
                     device T* out [[buffer(4)]], uint3 position [[thread_position_in_grid]]) {
  const uint head_dim = uint(p.head_dim);
  const uint heads = uint(p.heads);
  const uint pairs = uint(p.n_rot) / 2;
  const uint first_head = position.y * kRopeHeads;
  if (position.x >= head_dim - pairs || first_head >= heads || position.z >= uint(p.tokens)) {
    return;
  }
  const uint end_head = min(heads, first_head + kRopeHeads);
  const ulong token = ulong(position.z) * heads * head_dim;
  if (position.x >= pairs) {
    for (uint h = first_head; h < end_head; ++h) {
      const ulong at = token + h * head_dim + position.x + pairs;
      out[at] = x[at];
    }
    return;
  }
  const Rotation r =
      rotation_of(p, position.x, factors, load_whole(positions, kIndexDtype, position.z));
  const uint2 elements = pair_elements(p, position.x);
  for (uint h = first_head; h < end_head; ++h) {
    const ulong at = token + h * head_dim;
    const float a = float(x[at + elements.x]);
    const float b = float(x[at + elements.y]);
    out[at + elements.x] = T(a * r.cosine - b * r.sine);
    out[at + elements.y] = T(a * r.sine + b * r.cosine);
  }
}

struct SquareSum {
  using Acc = float;
  static Acc start() { return 0.0f; }
  static Acc combine(Acc a, Acc b) { return a + b; }
};

// One head: norm, turn, store. Each step's result has the input's dtype.
template <class T>
inline void turn_head(constant abi::RopeAppendParams& a, const device T* x,
                      const device float* weight, const device float* factors, long position,
                      device uchar* out, ulong out_first, uint out_dtype, uint in_dtype,
                      uint lane) {
  const uint head_dim = uint(a.rope.head_dim);
  const uint pairs = uint(a.rope.n_rot) / 2;
  float scale = 1.0f;
  if (kHasNorm) {
    float squares = 0.0f;
    for (uint i = lane; i < head_dim; i += 32) squares = fma(float(x[i]), float(x[i]), squares);
    squares = reduce_simdgroup<SquareSum>(squares);
    scale = 1.0f / sqrt(squares / float(head_dim) + a.epsilon);
  }
  for (uint i = lane; i < head_dim - pairs; i += 32) {
    if (i >= pairs) {
      float v = float(x[i + pairs]);
      if (kHasNorm) v = float(T(v * scale * weight[i + pairs]));
      store_float(out, out_dtype, out_first + i + pairs, v);
      continue;
    }
    const uint2 elements = pair_elements(a.rope, i);
    float v = float(x[elements.x]);
    float w = float(x[elements.y]);
    if (kHasNorm) {
      v = float(T(v * scale * weight[elements.x]));
      w = float(T(w * scale * weight[elements.y]));
    }
    const Rotation r = rotation_of(a.rope, i, factors, position);
    store_float(out, out_dtype, out_first + elements.x,
                round_float(in_dtype, v * r.cosine - w * r.sine));
    store_float(out, out_dtype, out_first + elements.y,
                round_float(in_dtype, v * r.sine + w * r.cosine));
  }
}

// A simdgroup a head: those of q, then of k, then of v. Grid: heads, tokens.
template <class T>
[[kernel]] void rope_append(
    constant abi::RopeAppendParams& a [[buffer(0)]], const device T* q [[buffer(1)]],
    const device T* k [[buffer(2)]], const device uchar* v [[buffer(3)]],
    const device int* positions [[buffer(4)]], const device int* sequences [[buffer(5)]],
    const device float* q_norm [[buffer(6), function_constant(kHasNorm)]],
    const device float* k_norm [[buffer(7), function_constant(kHasNorm)]],
    const device float* factors [[buffer(8), function_constant(kHasFactors)]],
    device uchar* k_state [[buffer(9)]], device uchar* v_state [[buffer(10)]],
    device T* out [[buffer(11)]], device atomic_uint* fault [[buffer(30)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint heads = uint(a.rope.heads);
  const uint kv_heads = uint(a.kv_heads);
  const uint head_dim = uint(a.rope.head_dim);
  const uint tokens = uint(a.rope.tokens);
  const uint token = group.y;
  uint head = group.x * simdgroups + simdgroup;
  if (head >= heads + 2 * kv_heads || token >= tokens) return;
  const int position = positions[token];
  if (head < heads) {
    const ulong first = (ulong(token) * heads + head) * head_dim;
    turn_head<T>(a, q + first, q_norm, factors, position, reinterpret_cast<device uchar*>(out),
                 first, kInDtype, kInDtype, lane);
    return;
  }
  const int sequence = sequences[token];
  if (position < 0 || long(position) >= a.context || sequence < 0 ||
      long(sequence) >= a.sequences) {
    if (head == heads && lane == 0) report(fault, kFaultIndexOutOfRange);
    return;
  }
  // Of tokens with the same place the last wins.
  uint later = 0;
  for (uint t = token + 1 + lane; t < tokens; t += 32) {
    if (positions[t] == position && sequences[t] == sequence) later = 1;
  }
  if (reduce_simdgroup<Truth<true>>(later) != 0) return;
  const ulong row = ulong(sequence) * ulong(a.context) + ulong(position);
  head -= heads;
  if (head < kv_heads) {
    turn_head<T>(a, k + (ulong(token) * kv_heads + head) * head_dim, k_norm, factors, position,
                 k_state, (row * kv_heads + head) * head_dim, kStateDtype, kInDtype, lane);
    return;
  }
  head -= kv_heads;
  const uint v_head_dim = uint(a.v_head_dim);
  const ulong from = (ulong(token) * kv_heads + head) * v_head_dim;
  const ulong to = (row * kv_heads + head) * v_head_dim;
  for (uint i = lane; i < v_head_dim; i += 32) {
    store_float(v_state, kSecondStateDtype, to + i, load_float(v, kSecondInDtype, from + i));
  }
}

}  // namespace bessemer
