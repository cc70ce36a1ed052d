// The 256-element formats with AVX-512: a 64-byte load holds what belongs to four sub-blocks, whose
// lanes are then put in order once for four rows instead of once a row. Included by
// matrix_int8.inl.

namespace bessemer::cpu {
namespace {

// 16 bytes of each of four rows, transposed: word 4 * i + r is word i of row r.
inline __m512i four_headers(const uint8_t* const* rows, int64_t offset) {
  const uint8_t* const at[4] = {rows[0] + offset, rows[1] + offset, rows[2] + offset,
                                rows[3] + offset};
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, lanes_from(at).v);
}

// Per lane the same count for all its words.
inline __m512i lane_counts(int a, int b, int c, int d) {
  return _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
}
inline __m512i lane_counts_64(int a, int b, int c, int d) {
  return _mm512_setr_epi64(a, a, b, b, c, c, d, d);
}

// d, dmin and the twelve bytes of 6-bit scales and mins: see six_bit_scales.
inline Scales six_bit_scales_of(const uint8_t* const* rows, int64_t offset, bool upper) {
  const __m512i headers = four_headers(rows, offset);
  const __m512i first = _mm512_shuffle_i32x4(headers, headers, 0x55);
  const __m512i second = _mm512_shuffle_i32x4(headers, headers, 0xaa);
  const __m512i byte = lane_counts(0, 8, 16, 24);
  __m512i scale;
  __m512i min;
  if (!upper) {
    const __m512i six = _mm512_set1_epi32(0x3f);
    scale = _mm512_and_si512(_mm512_srlv_epi32(first, byte), six);
    min = _mm512_and_si512(_mm512_srlv_epi32(second, byte), six);
  } else {
    const __m512i third = _mm512_srlv_epi32(_mm512_shuffle_i32x4(headers, headers, 0xff), byte);
    const __m512i four = _mm512_set1_epi32(0x0f);
    const __m512i two = _mm512_set1_epi32(0x30);
    const __m512i byte_and_2 = lane_counts(2, 10, 18, 26);
    scale = _mm512_or_si512(_mm512_and_si512(third, four),
                            _mm512_and_si512(_mm512_srlv_epi32(first, byte_and_2), two));
    min = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(third, 4), four),
                          _mm512_and_si512(_mm512_srlv_epi32(second, byte_and_2), two));
  }
  // d0, dmin0, d1, dmin1, ...
  const __m512 factors = _mm512_castps256_ps512(_mm256_cvtph_ps(_mm512_castsi512_si128(headers)));
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7);
  const __m512 d = _mm512_permutexvar_ps(even, factors);
  const __m512 dmin = _mm512_permutexvar_ps(odd, factors);
  const F plus = {_mm512_mul_ps(dmin, _mm512_cvtepi32_ps(min))};
  return scale_and_min({_mm512_mul_ps(d, _mm512_cvtepi32_ps(scale))}, sub(zero(), plus));
}

// Sub-blocks in the order of memory: those with low nibbles (0 and 2), then those with high (1 and
// 3).
struct FewEvenOdd {
  static constexpr bool kInOrder = false;
  static inline void arrange(B* x) {
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const __m512i x0 = x[0].v;
    x[0].v = _mm512_permutex2var_epi64(x0, even, x[1].v);
    x[1].v = _mm512_permutex2var_epi64(x0, odd, x[1].v);
  }
  // Lanes (0a 0b 2a 2b) and (1a 1b 3a 3b) to (0a 1a 2a 3a) and (0b 1b 2b 3b).
  static inline void sort(I* sums) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const __m512i s0 = sums[0].v;
    sums[0].v = _mm512_permutex2var_epi64(s0, first, sums[1].v);
    sums[1].v = _mm512_permutex2var_epi64(s0, second, sums[1].v);
  }
};

template <>
struct Few<Q4_K> : FewEvenOdd {
  static inline void load(const uint8_t* row, int64_t block, int, B* q) {
    const B pairs = load_bytes(row + block / 8 * 144 + 16 + block % 8 * 16);
    q[0] = low_nibbles(pairs);
    q[1] = high_nibbles(pairs);
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    return six_bit_scales_of(rows, block / 8 * 144, block % 8 != 0);
  }
};

template <>
struct Few<Q5_K> : FewEvenOdd {
  static inline void load(const uint8_t* row, int64_t block, int, B* q) {
    const uint8_t* b = row + block / 8 * 176;
    const int64_t sub = block % 8;  // 0 or 4
    const __m512i pairs = _mm512_loadu_si512(b + 48 + sub * 16);
    const __m512i fifth =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 16)));
    // Rotated so that the bit of the lane's sub-block is the fifth, within its own byte.
    const __m512i from = _mm512_set1_epi64(sub);
    const __m512i even = _mm512_add_epi64(from, lane_counts_64(-4, -4, -2, -2));
    const __m512i odd = _mm512_add_epi64(from, lane_counts_64(-3, -3, -1, -1));
    const __m512i bit = _mm512_set1_epi8(16);
    q[0].v = _mm512_or_si512(low_nibbles({pairs}).v,
                             _mm512_and_si512(_mm512_rorv_epi64(fifth, even), bit));
    q[1].v = _mm512_or_si512(high_nibbles({pairs}).v,
                             _mm512_and_si512(_mm512_rorv_epi64(fifth, odd), bit));
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    return six_bit_scales_of(rows, block / 8 * 176, block % 8 != 0);
  }
};

// At word pair 4 * l + r, twice, word l of lane r.
constexpr WordOrder word_pairs() {
  WordOrder order{};
  for (int i = 0; i < 32; ++i) order.index[i] = static_cast<uint16_t>(i / 2 % 4 * 8 + i / 8);
  return order;
}

// Low nibbles hold sub-blocks 0 and 1 of four, high nibbles 2 and 3.
template <>
struct Few<Q6_K> {
  static constexpr bool kInOrder = false;
  static inline void load(const uint8_t* row, int64_t block, int, B* q) {
    const uint8_t* b = row + block / 8 * 210;
    const int64_t half = block % 8 / 4;
    const __m512i pairs = _mm512_loadu_si512(b + half * 64);
    const __m512i upper = _mm512_broadcast_i64x4(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 128 + half * 32)));
    const __m512i bits = _mm512_set1_epi8(0x30);
    q[0].v = _mm512_or_si512(
        low_nibbles({pairs}).v,
        _mm512_and_si512(_mm512_rorv_epi64(upper, lane_counts_64(-4, -4, -2, -2)), bits));
    q[1].v = _mm512_or_si512(
        high_nibbles({pairs}).v,
        _mm512_and_si512(_mm512_rorv_epi64(upper, lane_counts_64(0, 0, 2, 2)), bits));
  }
  static inline Scales scales(const uint8_t* const* rows, int64_t block, int) {
    const int64_t offset = block / 8 * 210;
    const uint8_t* at[4];
    const uint8_t* ends[4];
    for (int r = 0; r < 4; ++r) {
      at[r] = rows[r] + offset + 192;
      ends[r] = rows[r] + offset + 194;  // the last 16 bytes of the block: d is the last word
    }
    // A word is the scales of both halves of a sub-block.
    alignas(64) static constexpr WordOrder kOrder = word_pairs();
    const __m512i from = _mm512_set1_epi16(static_cast<short>(block % 8));
    const __m512i pairs = _mm512_permutexvar_epi16(
        _mm512_add_epi16(_mm512_load_si512(kOrder.index), from), lanes_from(at).v);
    const __m512i first = _mm512_srai_epi32(_mm512_slli_epi32(pairs, 8), 24);
    const __m512i second = _mm512_srai_epi32(pairs, 24);
    const __m512i last = _mm512_permutexvar_epi16(
        _mm512_castsi128_si512(_mm_setr_epi16(7, 15, 23, 31, 7, 15, 23, 31)), lanes_from(ends).v);
    const __m512 d = _mm512_broadcast_f32x4(_mm_cvtph_ps(_mm512_castsi512_si128(last)));
    return {{{_mm512_mul_ps(d, _mm512_cvtepi32_ps(first))},
             {_mm512_mul_ps(d, _mm512_cvtepi32_ps(second))}},
            zero()};
  }
  static inline void arrange(B* x) {
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const __m512i x0 = x[0].v;
    x[0].v = _mm512_permutex2var_epi64(x0, low, x[1].v);
    x[1].v = _mm512_permutex2var_epi64(x0, high, x[1].v);
  }
  // Lanes (0a 0b 1a 1b) and (2a 2b 3a 3b) to (0a 1a 2a 3a) and (0b 1b 2b 3b).
  static inline void sort(I* sums) {
    const __m512i s0 = sums[0].v;
    sums[0].v = _mm512_shuffle_i32x4(s0, sums[1].v, 0x88);
    sums[1].v = _mm512_shuffle_i32x4(s0, sums[1].v, 0xdd);
  }
};

}  // namespace
}  // namespace bessemer::cpu
