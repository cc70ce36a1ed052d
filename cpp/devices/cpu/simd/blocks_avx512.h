// Moves of blocks of four lanes and transposes: include after vec_avx512.h. blocks_generic.h
// documents the functions.
#pragma once

namespace bessemer::cpu {
namespace {

inline F load_quad(const float* p) { return {_mm512_broadcast_f32x4(_mm_loadu_ps(p))}; }
// Blocks of rows a, b, c, d, `step` apart, as columns.
inline void transpose_quads(F* rows, int step) {
  const __m512 ab_lo = _mm512_shuffle_f32x4(rows[0].v, rows[step].v, 0x44);  // a0 a1 b0 b1
  const __m512 ab_hi = _mm512_shuffle_f32x4(rows[0].v, rows[step].v, 0xee);
  const __m512 cd_lo = _mm512_shuffle_f32x4(rows[2 * step].v, rows[3 * step].v, 0x44);
  const __m512 cd_hi = _mm512_shuffle_f32x4(rows[2 * step].v, rows[3 * step].v, 0xee);
  rows[0].v = _mm512_shuffle_f32x4(ab_lo, cd_lo, 0x88);
  rows[step].v = _mm512_shuffle_f32x4(ab_lo, cd_lo, 0xdd);
  rows[2 * step].v = _mm512_shuffle_f32x4(ab_hi, cd_hi, 0x88);
  rows[3 * step].v = _mm512_shuffle_f32x4(ab_hi, cd_hi, 0xdd);
}
inline void transpose_quads(F* rows) { transpose_quads(rows, 1); }
inline F sum_quads(F a, F b, F c, F d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a.v, b.v), _mm512_unpackhi_ps(a.v, b.v));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c.v, d.v), _mm512_unpackhi_ps(c.v, d.v));
  const __m512d lo = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d hi = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  return {_mm512_add_ps(_mm512_castpd_ps(lo), _mm512_castpd_ps(hi))};
}
inline void transpose(F* rows) {
  for (F* r = rows; r < rows + 16; r += 4) {
    const __m512 ab_lo = _mm512_unpacklo_ps(r[0].v, r[1].v);
    const __m512 ab_hi = _mm512_unpackhi_ps(r[0].v, r[1].v);
    const __m512 cd_lo = _mm512_unpacklo_ps(r[2].v, r[3].v);
    const __m512 cd_hi = _mm512_unpackhi_ps(r[2].v, r[3].v);
    r[0].v = _mm512_shuffle_ps(ab_lo, cd_lo, 0x44);
    r[1].v = _mm512_shuffle_ps(ab_lo, cd_lo, 0xee);
    r[2].v = _mm512_shuffle_ps(ab_hi, cd_hi, 0x44);
    r[3].v = _mm512_shuffle_ps(ab_hi, cd_hi, 0xee);
  }
  // Row 4i + c now has column 4k + c of rows 4i .. 4i + 3 in its block k.
  for (int c = 0; c < 4; ++c) transpose_quads(rows + c, 4);
}

}  // namespace
}  // namespace bessemer::cpu
