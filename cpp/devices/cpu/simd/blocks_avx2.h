// Moves of blocks of four lanes and transposes: include after vec_avx2.h. blocks_generic.h
// documents the functions.
#pragma once

namespace bessemer::cpu {
namespace {

inline F load_quad(const float* p) {
  return {_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p))};
}
inline void transpose_quads(F* rows) {
  const __m256 a = rows[0].v;
  const __m256 b = rows[1].v;
  rows[0].v = _mm256_permute2f128_ps(a, b, 0x20);
  rows[1].v = _mm256_permute2f128_ps(a, b, 0x31);
}
inline F sum_quads(F a, F b, F c, F d) {
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a.v, b.v), _mm256_unpackhi_ps(a.v, b.v));
  const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c.v, d.v), _mm256_unpackhi_ps(c.v, d.v));
  const __m256d lo = _mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  const __m256d hi = _mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd));
  return {_mm256_add_ps(_mm256_castpd_ps(lo), _mm256_castpd_ps(hi))};
}
// The four lanes of each half of rows i .. i + 3 as columns.
inline void transpose_halves(F* r) {
  const __m256 ab_lo = _mm256_unpacklo_ps(r[0].v, r[1].v);
  const __m256 ab_hi = _mm256_unpackhi_ps(r[0].v, r[1].v);
  const __m256 cd_lo = _mm256_unpacklo_ps(r[2].v, r[3].v);
  const __m256 cd_hi = _mm256_unpackhi_ps(r[2].v, r[3].v);
  r[0].v = _mm256_shuffle_ps(ab_lo, cd_lo, 0x44);
  r[1].v = _mm256_shuffle_ps(ab_lo, cd_lo, 0xee);
  r[2].v = _mm256_shuffle_ps(ab_hi, cd_hi, 0x44);
  r[3].v = _mm256_shuffle_ps(ab_hi, cd_hi, 0xee);
}
inline void transpose(F* rows) {
  transpose_halves(rows);
  transpose_halves(rows + 4);
  for (int i = 0; i < 4; ++i) {
    const __m256 a = rows[i].v;
    const __m256 b = rows[i + 4].v;
    rows[i].v = _mm256_permute2f128_ps(a, b, 0x20);
    rows[i + 4].v = _mm256_permute2f128_ps(a, b, 0x31);
  }
}

}  // namespace
}  // namespace bessemer::cpu
