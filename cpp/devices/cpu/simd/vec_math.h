// Elementary functions and activations over the vector layer: include after one of the vec_*.h.
// NaN gives NaN, infinities give limits. Relative error below 4e-7 unless said otherwise. The
// polynomials are minimax fits made for this file (Lawson's iteration over Chebyshev nodes).
#pragma once

namespace bessemer::cpu {
namespace {

// c0 + c1 x + c2 x^2 + ...
inline F horner(F, float c0) { return splat(c0); }
template <class... Rest>
inline F horner(F x, float c0, Rest... rest) {
  return fma(horner(x, rest...), x, splat(c0));
}

inline F exp(F x) {
  // The bounds lie past overflow to infinity and underflow to zero; NaN goes through min and max
  // because it is the second operand.
  x = max(splat(-105.0f), min(splat(89.0f), x));
  const I n = round_to_int(mul(x, splat(1.44269504f)));
  const F nf = to_float(n);
  F r = fma(nf, splat(-0.693359375f), x);  // ln 2 in two parts, the first with few bits
  r = fma(nf, splat(2.12194440e-4f), r);
  const F p = horner(r, 0.5f, 0.166665182f, 0.0416662022f, 0.00836902577f, 0.00139507174f);
  const F e = add(fma(mul(r, r), p, r), splat(1.0f));
  // 2^n in two factors: n reaches beyond the exponents of normal numbers.
  const I half = half_of(n);
  return mul(mul(e, power_of_two(half)), power_of_two(sub(n, half)));
}

inline F sigmoid(F x) { return div(splat(1.0f), add(splat(1.0f), exp(sub(zero(), x)))); }

inline F silu(F x) { return div(x, add(splat(1.0f), exp(sub(zero(), x)))); }

inline F tanh(F x) {
  const F a = abs(x);
  const F z = mul(x, x);
  const F p =
      horner(z, -0.333332837f, 0.133314848f, -0.0537429005f, 0.0206485409f, -0.00571465306f);
  const F small = fma(mul(x, z), p, x);
  const F large = sub(splat(1.0f), div(splat(2.0f), add(exp(add(a, a)), splat(1.0f))));
  return select_less(a, splat(0.625f), small, copy_sign(large, x));
}

// erfc(|u|) / 2. Relative error below 3e-7 * max(1, u^2).
inline F half_erfc_abs(F u) {
  const F a = abs(u);
  const F z = mul(a, a);
  const F small = fma(mul(a, horner(z, 1.12837911f, -0.37612626f, 0.112835996f, -0.0268544015f,
                                    0.00518944347f, -0.000801994f, 7.88583784e-05f)),
                      splat(-0.5f), splat(0.5f));
  const F t = div(splat(1.0f), fma(a, splat(0.5f), splat(1.0f)));
  const F q =
      mul(t, horner(t, 0.141047388f, 0.141048744f, 0.12336275f, 0.0889761746f, 0.0357585773f,
                    0.0219872836f, -0.078314811f, 0.0150486426f, 0.0115934173f));
  return select_less(a, splat(1.0f), small, mul(q, exp(sub(zero(), z))));
}

// x * Phi(x), without cancellation for negative x.
inline F gelu_erf(F x) {
  const F tail = half_erfc_abs(mul(x, splat(0.707106781f)));
  return mul(x, select_less(x, zero(), tail, sub(splat(1.0f), tail)));
}

// x / 2 * (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3).
inline F gelu_tanh(F x) {
  const F u2 = mul(x, fma(mul(x, x), splat(0.0713548163f), splat(1.59576912f)));
  return mul(x, sigmoid(u2));
}

}  // namespace
}  // namespace bessemer::cpu
