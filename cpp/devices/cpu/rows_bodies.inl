// The bodies of RowsIsa over the vector layer; included once by a SIMD variant, after
// float_rows.inl.
namespace bessemer::cpu {
namespace {

template <uint32_t kDType>
inline void add_as(const std::byte* a, const std::byte* b, int64_t n, std::byte* out) {
  for (int64_t i = 0; i < n; i += kWidth) {
    put_row_n<kDType>(out, i, add(row_at_n<kDType>(a, i, n - i), row_at_n<kDType>(b, i, n - i)),
                      n - i);
  }
}
void add_row(uint32_t dtype, const std::byte* a, const std::byte* b, int64_t n, std::byte* out) {
  if (dtype == kRowF32) return add_as<kRowF32>(a, b, n, out);
  if (dtype == kRowF16) return add_as<kRowF16>(a, b, n, out);
  add_as<kRowBF16>(a, b, n, out);
}

// sin and cos on [-pi/4, pi/4] by their Taylor series, good to 1e-14, and the quadrant of the
// angle. Plain double arithmetic, which the compiler vectorises without changing a bit.
void angles(const double* frequency, int64_t n, double position, float* cosine, float* sine) {
  constexpr double kTurn = 0x1.45f306dc9c883p-1;   // 2 / pi
  constexpr double kHalfPi = 0x1.921fb544p+0;      // its first 33 bits: n times it is exact
  constexpr double kRest = 0x1.0b4611a626331p-34;  // pi / 2 less those
  constexpr double kShift = 0x1.8p52;              // leaves an integer in the low bits
  for (int64_t i = 0; i < n; ++i) {
    const double angle = position * frequency[i];
    const double shifted = angle * kTurn + kShift;
    const auto quadrant = __builtin_bit_cast(uint64_t, shifted);
    const double turns = shifted - kShift;
    const double r = (angle - turns * kHalfPi) - turns * kRest;
    const double z = r * r;
    const double s =
        r + r * z *
                (-1.0 / 6 +
                 z * (1.0 / 120 +
                      z * (-1.0 / 5040 +
                           z * (1.0 / 362880 + z * (-1.0 / 39916800 + z * (1.0 / 6227020800.0))))));
    const double c =
        1.0 +
        z * (-1.0 / 2 +
             z * (1.0 / 24 + z * (-1.0 / 720 +
                                  z * (1.0 / 40320 +
                                       z * (-1.0 / 3628800 +
                                            z * (1.0 / 479001600 + z * (-1.0 / 87178291200.0)))))));
    // In odd quadrants the two change places; signs by quadrant. As bits, for want of branches.
    const auto sine_bits = __builtin_bit_cast(uint64_t, s);
    const auto cosine_bits = __builtin_bit_cast(uint64_t, c);
    const uint64_t swap = (sine_bits ^ cosine_bits) & (0 - (quadrant & 1));
    const uint64_t to_sine = sine_bits ^ swap ^ ((quadrant & 2) << 62);
    const uint64_t to_cosine = cosine_bits ^ swap ^ (((quadrant + 1) & 2) << 62);
    sine[i] = static_cast<float>(__builtin_bit_cast(double, to_sine));
    cosine[i] = static_cast<float>(__builtin_bit_cast(double, to_cosine));
  }
}

inline void rotate_halves(float* x, float* y, int64_t pairs, const float* cosine,
                          const float* sine) {
  for (int64_t i = 0; i < pairs; i += kWidth) {
    const int64_t n = pairs - i;
    const F a = load_n(x + i, n);
    const F b = load_n(y + i, n);
    const F c = load_n(cosine + i, n);
    const F s = load_n(sine + i, n);
    store_n(x + i, sub(mul(a, c), mul(b, s)), n);
    store_n(y + i, add(mul(a, s), mul(b, c)), n);
  }
}
inline void rotate_neighbours(float* x, int64_t pairs, const float* cosine, const float* sine) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}
void rotate(float* rows, int64_t heads, int64_t head_dim, int64_t pairs, bool interleaved,
            const float* cosine, const float* sine) {
  for (int64_t h = 0; h < heads; ++h, rows += head_dim) {
    if (interleaved) {
      rotate_neighbours(rows, pairs, cosine, sine);
    } else {
      rotate_halves(rows, rows + pairs, pairs, cosine, sine);
    }
  }
}

}  // namespace
}  // namespace bessemer::cpu
