// The functions that the expressions of op_table.def call: f32 -> f32, and int64 helpers.
//
// Included inside a namespace of its own by each file that evaluates expressions (the elementwise
// kernel once an instruction set, constant folding), after <cstdint> and <cmath>. Everything here
// is branch-free, so that a loop over it vectorises, and uses only operations that IEEE 754 rounds
// in one way (no fused multiply-add but in `fma`), so that every instruction set gives the same
// bits. Nothing is taken from <cmath> but macros: an inline function of the library that was
// compiled for AVX-512 must not end up in the generic code.
//
// Largest errors over all f32 arguments or a dense sample, in units in the last place, against
// double (tests/cpp/devices/cpu/elementwise_math_test.cpp): exp 1.0, tanh 1.6, erf 1.2; the others
// are evaluated in double and rounded once: 0.51. Polynomials are minimax fits made for this file.
//
// sin, cos and tan take |x| < 2^20; define BSM_SCALAR_COMPLETE for functions that take any x.

static inline int32_t bits_of(float x) { return __builtin_bit_cast(int32_t, x); }
static inline int64_t bits_of(double x) { return __builtin_bit_cast(int64_t, x); }
static inline float float_of(int32_t bits) { return __builtin_bit_cast(float, bits); }
static inline double double_of(int64_t bits) { return __builtin_bit_cast(double, bits); }

static inline float fabs(float x) { return float_of(bits_of(x) & 0x7fffffff); }
static inline double fabs(double x) { return double_of(bits_of(x) & 0x7fffffffffffffff); }
// |x| with the sign of y; x is not negative.
static inline float with_sign(float x, float y) {
  return float_of(bits_of(x) | (bits_of(y) & static_cast<int32_t>(0x80000000u)));
}
static inline double with_sign(double x, double y) {
  return double_of(bits_of(x) | (bits_of(y) & static_cast<int64_t>(0x8000000000000000u)));
}

static inline float floor(float x) { return __builtin_floorf(x); }
static inline float ceil(float x) { return __builtin_ceilf(x); }
static inline float trunc(float x) { return __builtin_truncf(x); }
static inline float rint(float x) { return __builtin_rintf(x); }
static inline float sqrt(float x) { return __builtin_sqrtf(x); }
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
// A NaN gives the other operand if that stands second, as the table's rows have it.
static inline float fmin(float x, float y) { return x < y ? x : y; }
static inline float fmax(float x, float y) { return x > y ? x : y; }

static inline float exp(float x) {
  // Beyond these the result is 0 or infinity whatever x is. A NaN passes.
  const float c = x < -104.0f ? -104.0f : (x > 89.0f ? 89.0f : x);
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  const float t = c * 0x1.715476p+0f + 0x1.8p23f;
  const int32_t n = bits_of(t) - bits_of(0x1.8p23f);
  const float nf = t - 0x1.8p23f;
  // ln 2 in two parts; the first has 14 bits, so that its product with n is exact.
  const float r = (c - nf * 0x1.62e4p-1f) - nf * 0x1.7f7d1cp-20f;
  const float q =
      0x1.fffffcp-2f +
      r * (0x1.55548ep-3f + r * (0x1.555904p-5f + r * (0x1.123ccap-7f + r * 0x1.6a1f7cp-10f)));
  const float p = 1.0f + (r + r * r * q);
  // 2^n in two factors: n reaches -150 and 128.
  const int32_t half = n >> 1;
  return p * float_of((half + 127) << 23) * float_of((n - half + 127) << 23);
}

static inline float tanh(float x) {
  const float a = fabs(x);
  const float z = a * a;
  const float p =
      -0x1.555534p-2f +
      z * (0x1.110768p-3f + z * (-0x1.b8444ap-5f + z * (0x1.5256dap-6f + z * -0x1.76ac1ep-8f)));
  const float small = a + a * z * p;
  const float large = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  return with_sign(a < 0.625f ? small : large, x);
}

static inline float erf(float x) {
  const float a = fabs(x);
  const float z = a * a;
  const float small =
      a + a * (0x1.06eba8p-3f +
               z * (-0x1.812742p-2f +
                    z * (0x1.ce2e06p-4f +
                         z * (-0x1.b80e3p-6f + z * (0x1.54c2cap-8f + z * (-0x1.aa069p-11f +
                                                                          z * 0x1.5bfbb4p-14f))))));
  // -log(erfc(c)); erf rounds to 1 from 3.92 on.
  const float c = a > 3.95f ? 3.95f : a;
  const float w =
      -0x1.6e55fap-13f +
      c * (0x1.2127e4p+0f +
           c * (0x1.44460cp-1f +
                c * (0x1.bb83e2p-4f +
                     c * (-0x1.9b8e76p-6f +
                          c * (0x1.115abep-8f + c * (-0x1.c790eap-12f + c * 0x1.61ea32p-16f))))));
  return with_sign(a < 0.9375f ? small : 1.0f - exp(-w), x);
}

// 2^t for |t| <= 1000; more is taken as that. A NaN passes.
static inline double exp2_wide(double t) {
  const double c = t < -1000.0 ? -1000.0 : (t > 1000.0 ? 1000.0 : t);
  const double s = c + 0x1.8p52;
  const int64_t n = bits_of(s) - bits_of(0x1.8p52);
  const double r = c - (s - 0x1.8p52);
  double p = 0x1.e8274ccdc8ca8p-28 + r * 0x1.85003135a1347p-34;
  p = 0x1.b643c38432401p-24 + r * p;
  p = 0x1.62beb3b717142p-20 + r * p;
  p = 0x1.ffcb63c35e413p-17 + r * p;
  p = 0x1.4309136de5fe3p-13 + r * p;
  p = 0x1.5d87fe9c3c3a8p-10 + r * p;
  p = 0x1.3b2ab6fb887eap-7 + r * p;
  p = 0x1.c6b08d703c7e3p-5 + r * p;
  p = 0x1.ebfbdff82c604p-3 + r * p;
  p = 0x1.62e42fefa3a1dp-1 + r * p;
  return (1.0 + r * p) * double_of((n + 1023) << 52);
}
static inline double exp_wide(double x) { return exp2_wide(x * 0x1.71547652b82fep+0); }

static inline float exp2(float x) { return static_cast<float>(exp2_wide(x)); }

static inline double expm1_wide(double x) {
  const double small = x * (1.0 + x * (0.5 + x * (1.0 / 6.0)));
  return fabs(x) < 0x1p-12 ? small : exp_wide(x) - 1.0;
}
static inline float expm1(float x) { return static_cast<float>(expm1_wide(x)); }

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), and log(m); x is positive, finite and normal.
struct LogParts {
  double exponent;
  double log_m;
};
static inline LogParts log_parts(double x) {
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t shifted =
      static_cast<uint64_t>(bits_of(x)) - kSqrtHalf + (static_cast<uint64_t>(1023) << 52);
  const uint64_t biased = shifted >> 52;
  // An integer below 2^52 as a double, without an instruction for it.
  const double exponent =
      double_of(static_cast<int64_t>(biased | 0x4330000000000000u)) - (0x1p52 + 1023.0);
  const double m =
      double_of(static_cast<int64_t>(static_cast<uint64_t>(bits_of(x)) - ((biased - 1023) << 52)));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 0x1.770fc0727c5cp-3 + z * 0x1.2bdc877549ebep-3;
  p = 0x1.c70226f67f42fp-3 + z * p;
  p = 0x1.24927e7abd1c5p-2 + z * p;
  p = 0x1.9999993de77a7p-2 + z * p;
  p = 0x1.555555556e9adp-1 + z * p;
  return {exponent, s * (2.0 + z * p)};
}
// `r`, the logarithm of x to some base, but right at 0, infinity, NaN and below 0.
static inline double log_edges(double x, double r) {
  const double positive = x < static_cast<double>(INFINITY) ? r : x;
  const double rest = x == 0.0 ? -static_cast<double>(INFINITY) : static_cast<double>(NAN);
  return x > 0.0 ? positive : rest;
}
static inline double log_wide(double x) {
  const LogParts parts = log_parts(x);
  return log_edges(x, parts.exponent * 0x1.62e42fefa39efp-1 + parts.log_m);
}
static inline double log2_wide(double x) {
  const LogParts parts = log_parts(x);
  return log_edges(x, parts.exponent + parts.log_m * 0x1.71547652b82fep+0);
}
static inline float log(float x) { return static_cast<float>(log_wide(x)); }
static inline float log2(float x) { return static_cast<float>(log2_wide(x)); }
static inline float log10(float x) {
  return static_cast<float>(log_wide(x) * 0x1.bcb7b1526e50ep-2);
}
static inline float log1p(float x) {
  const double d = x;
  const double small = d * (1.0 - d * (0.5 - d * (1.0 / 3.0)));
  return static_cast<float>(fabs(d) < 0x1p-12 ? small : log_wide(1.0 + d));
}

static inline float sinh(float x) {
  const double e = expm1_wide(fabs(static_cast<double>(x)));
  return with_sign(static_cast<float>(0.5 * (e + e / (e + 1.0))), x);
}
static inline float cosh(float x) {
  const double e = exp_wide(fabs(static_cast<double>(x)));
  return static_cast<float>(0.5 * (e + 1.0 / e));
}

// x less the nearest multiple of pi/2, its sine and cosine, and that multiple modulo 4.
struct Quadrant {
  double sine;
  double cosine;
  int64_t number;
};
static inline Quadrant quadrant(double x) {
  const double t = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  const double n = t - 0x1.8p52;
  // pi/2 in three parts; the first has 33 bits, so that its product with n < 2^20 is exact.
  const double r =
      ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34) - n * 0x1.1701b839a252p-88;
  const double z = r * r;
  double s = 0x1.71de17bf0f372p-19 + z * (-0x1.ae4861770a0e2p-26 + z * 0x1.5782b5f1a6d8p-33);
  s = 0x1.11111110fc1ebp-7 + z * (-0x1.a01a0177af1dbp-13 + z * s);
  s = -0x1.5555555555472p-3 + z * s;
  double c = -0x1.27e025cda5addp-22 + z * 0x1.1bc637b72b8f5p-29;
  c = -0x1.6c16c16762979p-10 + z * (0x1.a019faa02ac05p-16 + z * c);
  c = 0x1.55555555530bcp-5 + z * c;
  return {r * (1.0 + z * s), (1.0 - 0.5 * z) + z * z * c, bits_of(t) & 3};
}
static inline float sin_narrow(float x) {
  const Quadrant q = quadrant(x);
  const double v = (q.number & 1) != 0 ? q.cosine : q.sine;
  return static_cast<float>((q.number & 2) != 0 ? -v : v);
}
static inline float cos_narrow(float x) {
  const Quadrant q = quadrant(x);
  const double v = (q.number & 1) != 0 ? q.sine : q.cosine;
  return static_cast<float>(((q.number + 1) & 2) != 0 ? -v : v);
}
static inline float tan_narrow(float x) {
  const Quadrant q = quadrant(x);
  const bool odd = (q.number & 1) != 0;
  const double above = odd ? -q.cosine : q.sine;
  const double below = odd ? q.sine : q.cosine;
  return static_cast<float>(above / below);
}
static inline float sin_complete(float x) {
  return fabs(x) < 0x1p20f ? sin_narrow(x) : static_cast<float>(__builtin_sin(x));
}
static inline float cos_complete(float x) {
  return fabs(x) < 0x1p20f ? cos_narrow(x) : static_cast<float>(__builtin_cos(x));
}
static inline float tan_complete(float x) {
  return fabs(x) < 0x1p20f ? tan_narrow(x) : static_cast<float>(__builtin_tan(x));
}
#ifdef BSM_SCALAR_COMPLETE
static inline float sin(float x) { return sin_complete(x); }
static inline float cos(float x) { return cos_complete(x); }
static inline float tan(float x) { return tan_complete(x); }
#else
static inline float sin(float x) { return sin_narrow(x); }
static inline float cos(float x) { return cos_narrow(x); }
static inline float tan(float x) { return tan_narrow(x); }
#endif

static constexpr double kHalfPi = 0x1.921fb54442d18p+0;

// t + t^3 P(t^2) = asin(t) for t in [0, 1/2], given t and its square.
static inline double asin_core(double t, double z) {
  double p = 0x1.0e26eb1bb208ep-3 + z * -0x1.130a9058cd87p-4;
  p = 0x1.5f19d7ad42f1bp-5 + z * (-0x1.3cac43c579f8fp-4 + z * p);
  p = 0x1.f348c1bce5675p-7 + z * (0x1.cfb5077f6d1d9p-9 + z * p);
  p = 0x1.6eb2407ad99b2p-6 + z * (0x1.1a1d5e49d8ed8p-6 + z * p);
  p = 0x1.6db6e0c7bc175p-5 + z * (0x1.f1c5717c9af98p-6 + z * p);
  p = 0x1.555555555a167p-3 + z * (0x1.3333332aa4729p-4 + z * p);
  return t * (1.0 + z * p);
}
static inline float asin(float x) {
  const double a = fabs(static_cast<double>(x));
  const double z = a > 0.5 ? 0.5 * (1.0 - a) : a * a;  // negative for a > 1: its root is NaN
  const double p = asin_core(a > 0.5 ? __builtin_sqrt(z) : a, z);
  return with_sign(static_cast<float>(a > 0.5 ? kHalfPi - 2.0 * p : p), x);
}
static inline float acos(float x) {
  const double d = x;
  const double a = fabs(d);
  const double z = a > 0.5 ? 0.5 * (1.0 - a) : a * a;
  const double p = asin_core(a > 0.5 ? __builtin_sqrt(z) : a, z);
  const double large = d > 0.0 ? 2.0 * p : 2.0 * kHalfPi - 2.0 * p;
  const double small = d > 0.0 ? kHalfPi - p : kHalfPi + p;
  return static_cast<float>(a > 0.5 ? large : small);
}

// atan(t) for t in [0, 1].
static inline double atan_core(double t) {
  const bool high = t > 0.41421356237309503;  // tan(pi/8)
  const double u = high ? (t - 1.0) / (t + 1.0) : t;
  const double z = u * u;
  double p = 0x1.93d88ddc2622fp-5 + z * -0x1.89b5ef3aac695p-6;
  p = 0x1.3a1d4a421a3b1p-4 + z * (-0x1.094bfc646277ap-4 + z * p);
  p = 0x1.c71b8b1a87542p-4 + z * (-0x1.7449fef3155a5p-4 + z * p);
  p = 0x1.9999998f29b37p-3 + z * (-0x1.2492460cc0d6p-3 + z * p);
  p = -0x1.555555554f433p-2 + z * p;
  const double r = u * (1.0 + z * p);
  return high ? 0.5 * kHalfPi + r : r;
}
static inline float atan(float x) {
  const double a = fabs(static_cast<double>(x));
  const double r = atan_core(a > 1.0 ? 1.0 / a : a);
  return with_sign(static_cast<float>(a > 1.0 ? kHalfPi - r : r), x);
}
// The angle of the point (x, y); the first argument is y.
static inline float atan2(float fy, float fx) {
  const double y = fabs(static_cast<double>(fy));
  const double x = fabs(static_cast<double>(fx));
  const double low = x < y ? x : y;
  const double high = x < y ? y : x;
  const double ratio = low == high ? (high == 0.0 ? 0.0 : 1.0) : low / high;  // 0/0, inf/inf
  const double r = atan_core(ratio);
  const double first = x < y ? kHalfPi - r : r;
  const double second = bits_of(static_cast<double>(fx)) < 0 ? 2.0 * kHalfPi - first : first;
  const double sum = x + y;  // NaN if either is
  return with_sign(static_cast<float>(sum != sum ? sum : second), fy);
}

static inline float pow(float fx, float fy) {
  const double x = fx;
  const double y = fy;
  const double a = fabs(x);
  double t = y * log2_wide(a);
  t = t < -1000.0 ? -1000.0 : (t > 1000.0 ? 1000.0 : t);
  double r = exp2_wide(t);
  // Every float of 2^24 or more is an even integer.
  const double b = fabs(y) < 0x1p24 ? y : 0.0;
  const bool integral = (b + 0x1.8p52) - 0x1.8p52 == b;
  const double h = 0.5 * b;
  const bool odd = integral && (h + 0x1.8p52) - 0x1.8p52 != h;
  const bool negative = bits_of(x) < 0;
  r = negative && odd ? -r : r;
  r = x < 0.0 && !integral && a < static_cast<double>(INFINITY) &&
              fabs(y) < static_cast<double>(INFINITY)
          ? static_cast<double>(NAN)
          : r;
  r = a == 1.0 && fabs(y) == static_cast<double>(INFINITY) ? 1.0 : r;
  r = y == 0.0 || x == 1.0 ? 1.0 : r;
  return static_cast<float>(r);
}

static inline float bsm_hypot(float x, float y) {
  const double a = fabs(static_cast<double>(x));
  const double b = fabs(static_cast<double>(y));
  const double r = __builtin_sqrt(a * a + b * b);
  const double infinity = static_cast<double>(INFINITY);
  return static_cast<float>(a == infinity || b == infinity ? infinity : r);
}

// x - floor(x / y) * y, exactly; the sign of y. Not vectorised: fmod is a long division.
static inline float bsm_remainder(float x, float y) {
  const float m = __builtin_fmodf(x, y);
  if (m == 0.0f) return with_sign(0.0f, y);
  return (m < 0.0f) != (y < 0.0f) ? m + y : m;
}

static inline int64_t bsm_floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  const int64_t q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
static inline int64_t bsm_floor_mod(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  const int64_t m = x % y;
  return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
static inline int64_t bsm_ipow(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0);
  uint64_t result = 1;
  uint64_t base = static_cast<uint64_t>(x);
  for (uint64_t e = static_cast<uint64_t>(y); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<int64_t>(result);
}
// A negative distance counts as too far.
static inline int64_t bsm_shl(int64_t x, int64_t y) {
  const bool within = static_cast<uint64_t>(y) < 64;
  return within ? static_cast<int64_t>(static_cast<uint64_t>(x) << (y & 63)) : 0;
}
static inline int64_t bsm_shr(int64_t x, int64_t y) {
  return x >> (static_cast<uint64_t>(y) < 64 ? y : 63);
}

// Conversions of `cast`. Floats to integers truncate and saturate; NaN gives 0.
static inline int64_t bsm_to_int(double x, int64_t low, int64_t high) {
  // 2^63 is a double, the largest int64 is not.
  const bool above = x >= 0x1p63;
  const bool below = x < -0x1p63;
  const int64_t v = above || below || x != x ? 0 : static_cast<int64_t>(x);
  const int64_t within = v < low ? low : (v > high ? high : v);
  return above ? high : (below ? low : within);
}
// A double as a float for a further rounding to 16 bits: rounded to odd, so that rounding twice
// gives what rounding once would.
static inline float bsm_to_float_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  if (back == x || x != x) return nearest;
  // One step towards zero if it was rounded away; then the lowest bit stands for what was lost.
  const int32_t bits = bits_of(nearest);
  const int32_t truncated = fabs(back) > fabs(x) ? bits - 1 : bits;
  return float_of(truncated | 1);
}
static inline float bsm_to_float_odd(int64_t x) {
  const uint64_t magnitude = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  // 53 bits are exact in a double; what is shifted out only has to leave a trace.
  const bool wide = magnitude >= (static_cast<uint64_t>(1) << 53);
  const uint64_t kept = wide ? (magnitude >> 11) | ((magnitude & 0x7ff) != 0 ? 1 : 0) : magnitude;
  const double value = static_cast<double>(static_cast<int64_t>(kept)) * (wide ? 2048.0 : 1.0);
  return bsm_to_float_odd(x < 0 ? -value : value);
}

// The 16-bit floats, as in base/half.h but branch-free.
static inline float bsm_from_f16(uint16_t h) {
  const int32_t magnitude = (h & 0x7fff) << 13;
  const int32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
  const int32_t value = magnitude >= (0x7c00 << 13) ? magnitude | 0x7f800000 : finite;
  return float_of(value | static_cast<int32_t>(static_cast<uint32_t>(h & 0x8000) << 16));
}
static inline uint16_t bsm_to_f16(float f) {
  const uint32_t bits = static_cast<uint32_t>(bits_of(f));
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  const uint32_t small =
      static_cast<uint32_t>(bits_of(float_of(static_cast<int32_t>(magnitude)) + 0.5f)) -
      0x3f000000u;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  uint32_t r = magnitude < 0x38800000u ? small : normal;
  r = magnitude >= 0x477ff000u ? 0x7c00u : r;
  r = magnitude > 0x7f800000u ? nan : r;
  return static_cast<uint16_t>(r | ((bits >> 16) & 0x8000u));
}
static inline float bsm_from_bf16(uint16_t h) {
  return float_of(static_cast<int32_t>(static_cast<uint32_t>(h) << 16));
}
static inline uint16_t bsm_to_bf16(float f) {
  const uint32_t bits = static_cast<uint32_t>(bits_of(f));
  const uint32_t nan = (bits >> 16) | 0x40u;
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}
