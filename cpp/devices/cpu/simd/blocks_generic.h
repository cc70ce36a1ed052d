// Moves of whole blocks of four lanes and transposes, over the portable vector layer: include after
// vec_generic.h. blocks_avx2.h and blocks_avx512.h give the same functions over theirs.
//
//   load_quad(p)            p[0..3] in every block of four lanes
//   transpose_quads(rows)   kWidth / 4 vectors as a square matrix of blocks of four lanes
//   sum_quads(a, b, c, d)   lane 4i + g: the sum (0 + 2) + (1 + 3) of block i of the g-th operand
//   transpose(rows)         kWidth vectors as a square matrix of lanes
#pragma once

namespace bessemer::cpu {
namespace {

inline F load_quad(const float* p) { return load(p); }
inline void transpose_quads(F*) {}
inline F sum_quads(F a, F b, F c, F d) {
  return {Floats{(a.v[0] + a.v[2]) + (a.v[1] + a.v[3]), (b.v[0] + b.v[2]) + (b.v[1] + b.v[3]),
                 (c.v[0] + c.v[2]) + (c.v[1] + c.v[3]), (d.v[0] + d.v[2]) + (d.v[1] + d.v[3])}};
}
inline void transpose(F* rows) {
  for (int i = 0; i < kWidth; ++i) {
    for (int j = 0; j < i; ++j) {
      const float a = rows[i].v[j];
      rows[i].v[j] = rows[j].v[i];
      rows[j].v[i] = a;
    }
  }
}

}  // namespace
}  // namespace bessemer::cpu
