#include "plan/validator.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/byte_origins.h"

namespace bessemer {
namespace {

using BlockName = std::pair<Space, uint32_t>;

struct Bytes {
  int64_t low = 0;
  int64_t high = 0;
  [[nodiscard]] bool empty() const { return high <= low; }
  [[nodiscard]] bool meets(const Bytes& o) const {
    return !empty() && !o.empty() && low < o.high && o.low < high;
  }
};

class Validator {
 public:
  Validator(const LoweredGraph& lowered, const Schedule& schedule, const Target& target,
            std::span<const int64_t> extents)
      : lowered_(lowered), schedule_(schedule), target_(target), extents_(extents) {}

  Status run() {
    BSM_TRY(check_extents());
    BSM_TRY(check_correspondence());
    BSM_TRY(check_values());
    BSM_TRY(check_operands());
    BSM_TRY(replay_graph());
    BSM_TRY(replay_schedule());
    BSM_TRY(compare_final_contents());
    return check_groups();
  }

 private:
  static Error fail(const std::string& what) {
    return Error{ErrorKind::kInternal, "schedule: " + what, {}};
  }
  std::string step_name(size_t step) const {
    const Thunk& t = schedule_.thunks[step];
    return "step " + std::to_string(step) + " `" + t.label + "` (" + t.kernel + ")";
  }
  Error fail_at(size_t step, size_t operand, const std::string& what) const {
    const Operand& o = schedule_.thunks[step].operands[operand];
    const Bytes b = bytes_of(o);
    return fail(step_name(step) + ", operand " + std::to_string(operand) + ", " +
                std::string(to_string(o.space)) + " " + std::to_string(o.block) + " bytes [" +
                std::to_string(b.low) + ", " + std::to_string(b.high) + "): " + what);
  }
  static std::string origin_name(const Origin& o) {
    if (o.thunk == Origin::kNever) return "nothing";
    if (o.thunk == Origin::kBefore) return "what was there before the run";
    return "thunk " + std::to_string(o.thunk) + " operand " + std::to_string(o.operand) + " byte " +
           std::to_string(-o.start);
  }

  Bytes bytes_of(const Operand& o) const {
    const int64_t low = o.offset.evaluate(extents_);
    const int64_t size = std::max<int64_t>(o.bytes.evaluate(extents_), 0);
    int64_t high;
    if (__builtin_add_overflow(low, size, &high)) high = INT64_MAX;
    return {low, high};
  }

  Status check_extents() const {
    if (extents_.size() != schedule_.extents.size()) {
      return fail(std::to_string(extents_.size()) + " extent values for " +
                  std::to_string(schedule_.extents.size()) + " extents");
    }
    for (size_t i = 0; i < extents_.size(); ++i) {
      if (extents_[i] < 0 || extents_[i] > schedule_.extents[i].max) {
        return fail("extent `" + schedule_.extents[i].name + "` = " + std::to_string(extents_[i]) +
                    " outside of the bucket's 0.." + std::to_string(schedule_.extents[i].max));
      }
    }
    return {};
  }

  Status check_correspondence() {
    const size_t n = lowered_.thunks.size();
    if (schedule_.thunks.size() != n || schedule_.original.size() != n ||
        schedule_.barrier_before.size() != n) {
      return fail(std::to_string(schedule_.thunks.size()) + " thunks for " + std::to_string(n) +
                  " of the graph");
    }
    std::vector<uint8_t> seen(n, 0);
    for (size_t step = 0; step < n; ++step) {
      const uint32_t id = schedule_.original[step];
      if (id >= n || seen[id] != 0)
        return fail(step_name(step) + " is not, or twice, in the graph");
      seen[id] = 1;
      const Thunk& a = schedule_.thunks[step];
      const Thunk& b = lowered_.thunks[id];
      if (a.kernel != b.kernel || a.params != b.params || a.patches != b.patches ||
          a.in_place != b.in_place || !(a.launch == b.launch) || !(a.flops == b.flops) ||
          a.operands.size() != b.operands.size()) {
        return fail(step_name(step) + " is not the graph's thunk " + std::to_string(id));
      }
      for (size_t i = 0; i < a.operands.size(); ++i) {
        if (a.operands[i].access != b.operands[i].access ||
            !(a.operands[i].bytes == b.operands[i].bytes)) {
          return fail_at(step, i, "access or size differ from the graph's");
        }
        if (b.operands[i].block >= lowered_.buffers.size()) {
          return fail_at(step, i, "the graph has no such buffer");
        }
      }
    }
    return {};
  }

  Status check_values() {
    value_of_buffer_.assign(lowered_.buffers.size(), nullptr);
    for (const ArenaValue& v : schedule_.values) {
      const std::string name = "value `" + v.label + "` (buffer " + std::to_string(v.buffer) + ")";
      if (v.buffer >= lowered_.buffers.size() ||
          lowered_.buffers[v.buffer].space != Space::kValue ||
          value_of_buffer_[v.buffer] != nullptr) {
        return fail(name + " is not, or twice, in the graph");
      }
      value_of_buffer_[v.buffer] = &v;
      if (!(v.bytes == lowered_.buffers[v.buffer].bytes) ||
          v.bytes.evaluate(extents_) > v.max_bytes) {
        return fail(name + " has another size than the graph's");
      }
      if (v.block >= schedule_.arena_blocks.size() || v.offset < 0 || v.max_bytes < 0 ||
          v.max_bytes + schedule_.guard_bytes > schedule_.arena_blocks[v.block] - v.offset) {
        return fail(name + " reaches out of the arena");
      }
      if (v.offset % target_.alignment != 0) {
        return fail(name + " at offset " + std::to_string(v.offset) + " is not aligned to " +
                    std::to_string(target_.alignment));
      }
      if (v.first > v.last || v.last >= schedule_.thunks.size()) {
        return fail(name + " has no proper lifetime");
      }
    }
    for (size_t i = 0; i < schedule_.arena_blocks.size(); ++i) {
      if (schedule_.arena_blocks[i] > target_.max_block_bytes) {
        return fail("arena block " + std::to_string(i) + " is larger than the target allows");
      }
    }
    return check_value_overlaps();
  }

  // Values that live at once lie apart, guard bytes included. A value taken over in place may meet
  // its successor in the step of the merge.
  Status check_value_overlaps() const {
    std::vector<const ArenaValue*> by_first;
    for (const ArenaValue& v : schedule_.values) by_first.push_back(&v);
    std::sort(by_first.begin(), by_first.end(), [](const ArenaValue* a, const ArenaValue* b) {
      return std::tie(a->first, a->last, a->buffer) < std::tie(b->first, b->last, b->buffer);
    });
    std::vector<const ArenaValue*> living;
    for (const ArenaValue* v : by_first) {
      std::erase_if(living, [&](const ArenaValue* u) { return u->last < v->first; });
      for (const ArenaValue* u : living) {
        const Bytes a{u->offset, u->offset + u->max_bytes + schedule_.guard_bytes};
        const Bytes b{v->offset, v->offset + v->max_bytes + schedule_.guard_bytes};
        if (u->block != v->block || !a.meets(b)) continue;
        const bool merged = v->takes_over == u->buffer && u->last == v->first &&
                            u->offset == v->offset && u->max_bytes == v->max_bytes;
        if (!merged) {
          return fail("values `" + u->label + "` and `" + v->label + "` share bytes [" +
                      std::to_string(std::max(a.low, b.low)) + ", " +
                      std::to_string(std::min(a.high, b.high)) + ") of arena block " +
                      std::to_string(u->block) + " in step " + std::to_string(v->first));
        }
      }
      living.push_back(v);
    }
    return {};
  }

  Status check_operands() {
    for (size_t step = 0; step < schedule_.thunks.size(); ++step) {
      const Thunk& thunk = schedule_.thunks[step];
      const Thunk& source = lowered_.thunks[schedule_.original[step]];
      for (size_t i = 0; i < thunk.operands.size(); ++i) {
        const Operand& o = thunk.operands[i];
        const Operand& s = source.operands[i];
        const VirtualBuffer& buffer = lowered_.buffers[s.block];
        const Bytes in_buffer = bytes_of(s);
        const Bytes b = bytes_of(o);
        const int64_t buffer_bytes = std::max<int64_t>(buffer.bytes.evaluate(extents_), 0);
        if (!b.empty() && (in_buffer.low < 0 || in_buffer.high > buffer_bytes)) {
          return fail_at(step, i,
                         "the graph's thunk reaches out of `" + buffer.label + "` of " +
                             std::to_string(buffer_bytes) + " bytes");
        }
        if (buffer.space != Space::kValue) {
          if (o.space != buffer.space || o.block != buffer.index || !(o.offset == s.offset)) {
            return fail_at(step, i, "is not `" + buffer.label + "`");
          }
          continue;
        }
        if (o.space != Space::kArena) return fail_at(step, i, "is not in the arena");
        // A range that is empty at these extents may not be at others: its place is checked, too.
        const ArenaValue* v = value_of_buffer_[s.block];
        if (v == nullptr && b.empty()) continue;
        if (v == nullptr) return fail_at(step, i, "`" + buffer.label + "` has no place");
        if (!b.empty() && b.low >= target_.max_offset) {
          return fail_at(step, i, "starts at or above the target's largest offset");
        }
        if (o.block != v->block || b.low - in_buffer.low != v->offset) {
          return fail_at(step, i, "is not where `" + buffer.label + "` lies");
        }
        if (step < v->first || step > v->last) {
          return fail_at(step, i, "`" + buffer.label + "` does not live in this step");
        }
      }
      BSM_TRY(check_own_operands(step));
    }
    return {};
  }

  // Operands of one thunk share bytes only as the graph says, or by an in-place hint.
  Status check_own_operands(size_t step) const {
    const Thunk& thunk = schedule_.thunks[step];
    const Thunk& source = lowered_.thunks[schedule_.original[step]];
    for (size_t i = 0; i < thunk.operands.size(); ++i) {
      for (size_t j = i + 1; j < thunk.operands.size(); ++j) {
        const Operand& a = thunk.operands[i];
        const Operand& b = thunk.operands[j];
        if ((!writes(a.access) && !writes(b.access)) || a.space != b.space || a.block != b.block) {
          continue;
        }
        const Bytes x = bytes_of(a);
        const Bytes y = bytes_of(b);
        if (!x.meets(y) || source.operands[i].block == source.operands[j].block) continue;
        const bool hinted =
            std::any_of(thunk.in_place.begin(), thunk.in_place.end(), [&](const InPlace& h) {
              return (h.out == i && h.in == j) || (h.out == j && h.in == i);
            });
        if (!hinted || x.low != y.low || x.high != y.high) {
          return fail_at(step, j,
                         "shares bytes with operand " + std::to_string(i) + " of the same thunk");
        }
      }
    }
    return {};
  }

  OriginMap& memory(std::map<BlockName, OriginMap>* blocks, Space space, uint32_t block,
                    bool defined) const {
    const auto it = blocks->find({space, block});
    if (it != blocks->end()) return it->second;
    Origin initial;
    if (defined) initial = {Origin::kBefore, (static_cast<uint32_t>(space) << 24) | block, 0};
    return blocks->emplace(BlockName{space, block}, OriginMap(initial)).first->second;
  }

  // What every reading operand sees, in program order with unlimited storage.
  Status replay_graph() {
    for (size_t t = 0; t < lowered_.thunks.size(); ++t) {
      const Thunk& thunk = lowered_.thunks[t];
      const auto block = [&](const Operand& o) -> OriginMap& {
        const VirtualBuffer& b = lowered_.buffers[o.block];
        return b.space == Space::kValue ? memory(&meant_blocks_, Space::kValue, o.block, false)
                                        : memory(&meant_blocks_, b.space, b.index, true);
      };
      for (const Operand& o : thunk.operands) {
        seen_begin_.push_back(seen_.size());
        if (!reads(o.access)) continue;
        const Bytes b = bytes_of(o);
        block(o).read(b.low, b.high, &seen_);
        if (o.access != Access::kRead) continue;
        for (size_t r = seen_begin_.back(); r < seen_.size(); ++r) {
          if (seen_[r].origin.thunk != Origin::kNever) continue;
          return fail("the graph's thunk " + std::to_string(t) + " `" + thunk.label + "` (" +
                      thunk.kernel + ") reads bytes [" + std::to_string(b.low + seen_[r].low) +
                      ", " + std::to_string(b.low + seen_[r].high) + ") of `" +
                      lowered_.buffers[o.block].label + "`, which nothing has written");
        }
      }
      for (uint32_t i = 0; i < thunk.operands.size(); ++i) {
        const Operand& o = thunk.operands[i];
        if (!writes(o.access)) continue;
        const Bytes b = bytes_of(o);
        block(o).write(b.low, b.high, {static_cast<int32_t>(t), i, b.low});
      }
    }
    seen_begin_.push_back(seen_.size());
    return {};
  }

  Status replay_schedule() {
    std::vector<size_t> first_operand{0};
    for (const Thunk& t : lowered_.thunks) {
      first_operand.push_back(first_operand.back() + t.operands.size());
    }
    std::vector<OriginRun> sees;
    for (size_t step = 0; step < schedule_.thunks.size(); ++step) {
      const Thunk& thunk = schedule_.thunks[step];
      const uint32_t id = schedule_.original[step];
      const auto block = [&](const Operand& o) -> OriginMap& {
        return memory(&actual_blocks_, o.space, o.block, o.space != Space::kArena);
      };
      for (size_t i = 0; i < thunk.operands.size(); ++i) {
        const Operand& o = thunk.operands[i];
        if (!reads(o.access)) continue;
        const Bytes b = bytes_of(o);
        sees.clear();
        block(o).read(b.low, b.high, &sees);
        const size_t at = first_operand[id] + i;
        BSM_TRY(compare(
            std::span(seen_).subspan(seen_begin_[at], seen_begin_[at + 1] - seen_begin_[at]), sees,
            [&](const std::string& what) { return fail_at(step, i, what); }));
      }
      for (uint32_t i = 0; i < thunk.operands.size(); ++i) {
        const Operand& o = thunk.operands[i];
        if (!writes(o.access)) continue;
        const Bytes b = bytes_of(o);
        block(o).write(b.low, b.high, {static_cast<int32_t>(id), i, b.low});
      }
    }
    return {};
  }

  // Runs that the graph means against runs that the schedule gives. Bytes that are undefined in
  // the graph (scratch that a thunk reads and writes) may hold anything.
  template <class Fail>
  static Status compare(std::span<const OriginRun> meant, std::span<const OriginRun> actual,
                        Fail make_error) {
    size_t j = 0;
    for (const OriginRun& m : meant) {
      while (j < actual.size() && actual[j].high <= m.low) ++j;
      if (m.origin.thunk == Origin::kNever) continue;
      for (size_t k = j; k < actual.size() && actual[k].low < m.high; ++k) {
        if (actual[k].origin == m.origin) continue;
        const int64_t low = std::max(m.low, actual[k].low);
        const int64_t high = std::min(m.high, actual[k].high);
        const auto at = [&](Origin o) {
          if (o.thunk >= 0) o.start -= low;
          return origin_name(o);
        };
        return make_error("its bytes [" + std::to_string(low) + ", " + std::to_string(high) +
                          ") hold " + at(actual[k].origin) + ", the graph means " + at(m.origin));
      }
    }
    return {};
  }

  Status compare_final_contents() {
    for (size_t i = 0; i < lowered_.buffers.size(); ++i) {
      const VirtualBuffer& b = lowered_.buffers[i];
      if (b.space == Space::kValue) continue;
      const int64_t bytes = std::max<int64_t>(b.bytes.evaluate(extents_), 0);
      std::vector<OriginRun> meant;
      std::vector<OriginRun> actual;
      memory(&meant_blocks_, b.space, b.index, true).read(0, bytes, &meant);
      memory(&actual_blocks_, b.space, b.index, true).read(0, bytes, &actual);
      BSM_TRY(compare(meant, actual, [&](const std::string& what) {
        return fail("at the end, " + std::string(to_string(b.space)) + " `" + b.label +
                    "`: " + what);
      }));
    }
    return {};
  }

  // Sorts the ranges of each group and walks them by address.
  Status check_groups() const {
    struct Touch {
      Space space;
      uint32_t block;
      Bytes bytes;
      bool write;
      size_t step;
      size_t operand;
    };
    std::vector<Touch> touches;
    const auto check = [&]() -> Status {
      std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
        return std::tie(a.space, a.block, a.bytes.low, a.step, a.operand) <
               std::tie(b.space, b.block, b.bytes.low, b.step, b.operand);
      });
      // Of the ranges so far in this block, those that reach furthest, of two different steps.
      struct Furthest {
        const Touch* best = nullptr;
        const Touch* other = nullptr;
        void add(const Touch* t) {
          if (best == nullptr || t->bytes.high > best->bytes.high) {
            if (best != nullptr && best->step != t->step) other = best;
            best = t;
          } else if (t->step != best->step &&
                     (other == nullptr || t->bytes.high > other->bytes.high)) {
            other = t;
          }
        }
        const Touch* conflict(const Touch& t) const {
          for (const Touch* u : {best, other}) {
            if (u != nullptr && u->step != t.step && u->bytes.high > t.bytes.low) return u;
          }
          return nullptr;
        }
      };
      Furthest any;
      Furthest written;
      for (size_t i = 0; i < touches.size(); ++i) {
        const Touch& t = touches[i];
        if (i > 0 && (touches[i - 1].space != t.space || touches[i - 1].block != t.block)) {
          any = written = Furthest{};
        }
        const Touch* u = t.write ? any.conflict(t) : written.conflict(t);
        if (u != nullptr) {
          return fail_at(t.step, t.operand, "no barrier between it and " + step_name(u->step));
        }
        any.add(&t);
        if (t.write) written.add(&t);
      }
      touches.clear();
      return {};
    };
    for (size_t step = 0; step < schedule_.thunks.size(); ++step) {
      if (schedule_.barrier_before[step] != 0) BSM_TRY(check());
      const std::vector<Operand>& operands = schedule_.thunks[step].operands;
      for (size_t i = 0; i < operands.size(); ++i) {
        const Bytes b = bytes_of(operands[i]);
        if (b.empty()) continue;
        touches.push_back(
            {operands[i].space, operands[i].block, b, writes(operands[i].access), step, i});
      }
    }
    return check();
  }

  const LoweredGraph& lowered_;
  const Schedule& schedule_;
  const Target& target_;
  std::span<const int64_t> extents_;
  std::vector<const ArenaValue*> value_of_buffer_;
  std::map<BlockName, OriginMap> meant_blocks_;
  std::map<BlockName, OriginMap> actual_blocks_;
  // What operand k (counted over all thunks in program order) sees: seen_[seen_begin_[k] ..].
  std::vector<OriginRun> seen_;
  std::vector<size_t> seen_begin_;
};

}  // namespace

Status validate_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                         const Target& target, std::span<const int64_t> extents) {
  return Validator(lowered, schedule, target, extents).run();
}

Status validate_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                         const Target& target) {
  const ExtentValues maxima = schedule.extent_maxima();
  return validate_schedule(lowered, schedule, target, maxima);
}

}  // namespace bessemer
