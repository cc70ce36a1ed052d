// Who reads each value of a graph. A snapshot: it does not follow changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace bessemer::passes {

class Readers {
 public:
  explicit Readers(const Graph& graph);

  // Reading nodes, oldest first; a node that reads the value twice stands twice.
  [[nodiscard]] std::span<const uint32_t> nodes(Value v) const {
    const size_t at = index(v);
    return {readers_.data() + begin_[at], readers_.data() + begin_[at + 1]};
  }
  // Whether the value is an output or a state's update.
  [[nodiscard]] bool kept(Value v) const { return kept_[index(v)]; }
  // Reading operands, and one more if it is kept.
  [[nodiscard]] size_t count(Value v) const { return nodes(v).size() + (kept(v) ? 1 : 0); }
  // The node that reads the value if exactly one operand of one node does and it is not kept.
  [[nodiscard]] std::optional<uint32_t> only(Value v) const {
    if (kept(v) || nodes(v).size() != 1) return std::nullopt;
    return nodes(v)[0];
  }
  [[nodiscard]] bool once(Value v) const { return count(v) == 1; }

 private:
  [[nodiscard]] size_t index(Value v) const { return offset_[v.node] + v.result; }

  std::vector<size_t> offset_;   // by node: of its first result among all values
  std::vector<uint32_t> begin_;  // by value, and one more: into readers_
  std::vector<uint32_t> readers_;
  std::vector<bool> kept_;
};

}  // namespace bessemer::passes
