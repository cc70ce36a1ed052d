// Which thunks must stay in order: the dependences of a lowered graph, from the byte ranges that
// its thunks touch (read after write, write after read, write after write) at any extents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/accesses.h"

namespace bessemer {

// An acyclic graph over thunks in program order. Edges go from lower to higher indices. An order of
// the thunks means the same as program order if and only if it respects every edge. Edges that
// follow from others through a full overwrite are left out.
struct DependenceGraph {
  std::vector<uint32_t> pred_begin, preds;  // of t: preds[pred_begin[t] .. pred_begin[t + 1])
  std::vector<uint32_t> succ_begin, succs;

  [[nodiscard]] std::span<const uint32_t> predecessors(size_t t) const {
    return {preds.data() + pred_begin[t], preds.data() + pred_begin[t + 1]};
  }
  [[nodiscard]] std::span<const uint32_t> successors(size_t t) const {
    return {succs.data() + succ_begin[t], succs.data() + succ_begin[t + 1]};
  }
  [[nodiscard]] size_t size() const { return pred_begin.size() - 1; }
  // Thunks on the longest chain.
  [[nodiscard]] int64_t critical_path() const;
};

[[nodiscard]] DependenceGraph find_dependences(const AccessTable& accesses);

}  // namespace bessemer
