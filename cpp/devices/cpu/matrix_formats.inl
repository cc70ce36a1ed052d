// The block-quantised formats as vectors: each struct reads kLanes consecutive 32-element blocks
// (for the 256-element formats: sub-blocks) of a row. quant/dequantize.cpp describes the layouts.
// Included once by each SIMD variant, after a byte layer.
//
//   halves(row, block, count, h)       lane l of h[0] and h[1]: the first and last 16 elements of
//   block
//                                      + l, unsigned. Lanes from `count` on hold anything
//   scales(rows, block, count)         of four rows, word r of lane l: the block's scale and min; 0
//                                      for lanes from `count` on
//   kZeroShift                         the value is scale * (q - 2^kZeroShift); 0 for none
//   kMin                               the value is scale * q + min
//   kSplit                             each half has its own scale
//   kWide                              q reaches beyond 63

namespace bessemer::cpu {
namespace {

struct Scales {
  F scale[2];  // [1] only where kSplit
  F min;       // only where kMin
};

inline Scales one_scale(F scale) { return {{scale, zero()}, zero()}; }
inline Scales scale_and_min(F scale, F min) { return {{scale, zero()}, min}; }

struct Q4_0 {
  static constexpr int kZeroShift = 3;
  static constexpr bool kMin = false, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int count, B* h) {
    const B pairs = lanes_apart<18>(row + block * 18 + 2, count);
    h[0] = low_nibbles(pairs);
    h[1] = high_nibbles(pairs);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    return one_scale(f16_pairs_at<18, false>(rows, block * 18, count).first);
  }
};

struct Q4_1 {
  static constexpr int kZeroShift = 0;
  static constexpr bool kMin = true, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int count, B* h) {
    const B pairs = lanes_apart<20>(row + block * 20 + 4, count);
    h[0] = low_nibbles(pairs);
    h[1] = high_nibbles(pairs);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    const FPair both = f16_pairs_at<20, true>(rows, block * 20, count);
    return scale_and_min(both.first, both.second);
  }
};

struct Q5_0 {
  static constexpr int kZeroShift = 4;
  static constexpr bool kMin = false, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int count, B* h) {
    const uint8_t* b = row + block * 22;
    const B pairs = lanes_apart<22>(b + 6, count);
    h[0] = low_nibbles(pairs);
    h[1] = high_nibbles(pairs);
    or_fifth_bits<22>(b + 2, count, h);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    return one_scale(f16_pairs_at<22, false>(rows, block * 22, count).first);
  }
};

struct Q5_1 {
  static constexpr int kZeroShift = 0;
  static constexpr bool kMin = true, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int count, B* h) {
    const uint8_t* b = row + block * 24;
    const B pairs = lanes_apart<24>(b + 8, count);
    h[0] = low_nibbles(pairs);
    h[1] = high_nibbles(pairs);
    or_fifth_bits<24>(b + 4, count, h);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    const FPair both = f16_pairs_at<24, true>(rows, block * 24, count);
    return scale_and_min(both.first, both.second);
  }
};

struct Q8_0 {
  static constexpr int kZeroShift = 7;  // signed bytes with the sign bit flipped
  static constexpr bool kMin = false, kSplit = false, kWide = true;
  static inline void halves(const uint8_t* row, int64_t block, int count, B* h) {
    const uint8_t* b = row + block * 34;
    const B flip = splat_byte(0x80);
    h[0] = bit_xor(lanes_apart<34>(b + 2, count), flip);
    h[1] = bit_xor(lanes_apart<34>(b + 18, count), flip);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int count) {
    return one_scale(f16_pairs_at<34, false>(rows, block * 34, count).first);
  }
};

// Shifts of the two 64-bit halves of a lane, by sub-block.
alignas(64) constexpr uint64_t kOddBy4[16] = {0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4};
alignas(64) constexpr uint64_t kByIndex[16] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
alignas(64) constexpr uint64_t kUpperBy4[16] = {0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4};
alignas(64) constexpr uint64_t kByTwice[16] = {0, 0, 2, 2, 4, 4, 6, 6, 0, 0, 2, 2, 4, 4, 6, 6};

// The 32-bit word at p, byte by byte in the order of memory.
inline uint32_t word_at(const uint8_t* p) {
  uint32_t w;
  __builtin_memcpy(&w, p, 4);
  return w;
}

// Scale and min of sub-blocks from .. from + kLanes - 1 of four rows, for q4_k and q5_k. `b[r]` is
// row r's block: d, dmin, then the twelve bytes of scales (little-endian machines only).
inline Scales six_bit_scales(const uint8_t* const* b, int from) {
  uint32_t scale[4];
  uint32_t min[4];
  uint32_t factors[4];
  for (int r = 0; r < 4; ++r) {
    factors[r] = word_at(b[r]);
    const uint32_t first = word_at(b[r] + 4);
    const uint32_t second = word_at(b[r] + 8);
    const uint32_t third = word_at(b[r] + 12);
    scale[r] = from < 4 ? first & 0x3f3f3f3f : (third & 0x0f0f0f0f) | (first >> 2 & 0x30303030);
    min[r] =
        from < 4 ? second & 0x3f3f3f3f : (third >> 4 & 0x0f0f0f0f) | (second >> 2 & 0x30303030);
    scale[r] >>= from % 4 * 8;
    min[r] >>= from % 4 * 8;
  }
  const I both = repeat_words(factors);
  // The products are exact.
  const F plus = mul(high_half(both), to_float(bytes_of_words(min)));
  return scale_and_min(mul(low_half(both), to_float(bytes_of_words(scale))), sub(zero(), plus));
}

struct Q4_K {
  static constexpr int kZeroShift = 0;
  static constexpr bool kMin = true, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int, B* h) {
    const int sub = static_cast<int>(block % 8);
    const uint8_t* q = row + block / 8 * 144 + 16;
    for (int half = 0; half < 2; ++half) {
      const uint8_t* at[kLanes];
      for (int l = 0; l < kLanes; ++l) at[l] = q + (sub + l) / 2 * 32 + half * 16;
      h[half] = low_nibbles(shift_right(lanes_from(at), kOddBy4 + 2 * sub));
    }
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    const uint8_t* b[4];
    for (int r = 0; r < 4; ++r) b[r] = rows[r] + block / 8 * 144;
    return six_bit_scales(b, static_cast<int>(block % 8));
  }
};

struct Q5_K {
  static constexpr int kZeroShift = 0;
  static constexpr bool kMin = true, kSplit = false, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int, B* h) {
    const int sub = static_cast<int>(block % 8);
    const uint8_t* b = row + block / 8 * 176;
    for (int half = 0; half < 2; ++half) {
      const uint8_t* at[kLanes];
      for (int l = 0; l < kLanes; ++l) at[l] = b + 48 + (sub + l) / 2 * 32 + half * 16;
      const B low = low_nibbles(shift_right(lanes_from(at), kOddBy4 + 2 * sub));
      const B high = shift_right(same_lanes(b + 16 + half * 16), kByIndex + 2 * sub);
      h[half] = bit_or(low, shift_left_64<4>(bit_and(high, splat_byte(1))));
    }
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    const uint8_t* b[4];
    for (int r = 0; r < 4; ++r) b[r] = rows[r] + block / 8 * 176;
    return six_bit_scales(b, static_cast<int>(block % 8));
  }
};

struct Q6_K {
  static constexpr int kZeroShift = 5;
  static constexpr bool kMin = false, kSplit = true, kWide = false;
  static inline void halves(const uint8_t* row, int64_t block, int, B* h) {
    const int sub = static_cast<int>(block % 8);
    const uint8_t* b = row + block / 8 * 210;
    for (int half = 0; half < 2; ++half) {
      const uint8_t* at[kLanes];
      for (int l = 0; l < kLanes; ++l) {
        at[l] = b + sub / 4 * 64 + (sub + l) % 2 * 32 + half * 16;
      }
      const B low = low_nibbles(shift_right(lanes_from(at), kUpperBy4 + 2 * sub));
      const B high =
          shift_right(same_lanes(b + 128 + sub / 4 * 32 + half * 16), kByTwice + 2 * sub);
      h[half] = bit_or(low, shift_left_64<4>(bit_and(high, splat_byte(3))));
    }
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    const uint8_t* at[4];
    uint32_t factors[4];
    for (int r = 0; r < 4; ++r) {
      const uint8_t* b = rows[r] + block / 8 * 210;
      factors[r] = static_cast<uint32_t>(b[208] | b[209] << 8);
      at[r] = b + 192 + 2 * (block % 8);
    }
    const F d = low_half(repeat_words(factors));
    return {{mul(d, to_float(signed_bytes(at, 0))), mul(d, to_float(signed_bytes(at, 1)))}, zero()};
  }
};

}  // namespace
}  // namespace bessemer::cpu
