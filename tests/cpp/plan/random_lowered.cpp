#include "plan/random_lowered.h"

#include <algorithm>

namespace bessemer::testing {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
  a ^= a >> 33;
  a *= 0xff51afd7ed558ccdu;
  a ^= a >> 33;
  return a;
}

// A contiguous range that holds data.
struct View {
  uint32_t buffer;
  Dim offset;
  Dim bytes;
};

class Maker {
 public:
  Maker(std::mt19937_64& random, const RandomShape& shape) : random_(random), shape_(shape) {}

  RandomGraph make() {
    if (!shape_.constant_sizes) {
      const int extents = below(3);
      for (int i = 0; i < extents; ++i) {
        graph_.extents.push_back({i == 0 ? "tokens" : "rows", 1 + below(i == 0 ? 8 : 4)});
      }
    }
    const int leaves = 1 + below(3);
    for (int i = 0; i < leaves; ++i) leaf(below(2) != 0 ? Space::kInput : Space::kWeights);
    const int states = below(3);
    for (int i = 0; i < states; ++i) states_.push_back(leaf(Space::kState));
    const int thunks = 1 + below(shape_.max_thunks);
    while (static_cast<int>(graph_.lowered.thunks.size()) < thunks) {
      switch (below(8)) {
        case 0:
          concat();
          break;
        case 1:
          update_state();
          break;
        case 2:
          write_output();
          break;
        default:
          compute();
      }
    }
    write_output();
    return std::move(graph_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  Dim size() {
    const Dim c(1 + below(24));
    if (graph_.extents.empty() || below(3) == 0) return below(20) == 0 ? Dim(0) : c;
    const Dim e =
        Dim::extent(static_cast<ExtentId>(below(static_cast<int>(graph_.extents.size()))));
    switch (below(6)) {
      case 0:
        return c * e + Dim(below(9));
      case 1:
        return c * e * Dim::extent(static_cast<ExtentId>(graph_.extents.size() - 1));
      case 2:
        // Falls as the extent grows.
        return Dim(2) * (Dim(graph_.extents[e.extent_id()].max) - e);
      default:
        return c * e;
    }
  }

  uint32_t buffer(Space space, const Dim& bytes) {
    uint32_t index = 0;
    if (space != Space::kValue) index = counts_[space]++;
    graph_.lowered.buffers.push_back(
        {space, index, bytes, "b" + std::to_string(graph_.lowered.buffers.size())});
    return static_cast<uint32_t>(graph_.lowered.buffers.size() - 1);
  }
  View leaf(Space space) {
    const Dim bytes = size();
    const View v{buffer(space, bytes), Dim(0), bytes};
    views_.push_back(v);
    return v;
  }

  // Mostly recent ones, so that values die.
  View pick() {
    const int n = static_cast<int>(views_.size());
    const int back = std::min(n - 1, below(2) != 0 ? below(3) : below(n));
    return views_[static_cast<size_t>(n - 1 - back)];
  }
  View whole(uint32_t b) { return {b, Dim(0), graph_.lowered.buffers[b].bytes}; }

  void emit(std::vector<Operand> operands, std::vector<InPlace> in_place) {
    Thunk t = thunk("t" + std::to_string(graph_.lowered.thunks.size()), std::move(operands),
                    std::move(in_place));
    t.params.resize(8 * static_cast<size_t>(below(3)));
    for (std::byte& b : t.params) b = static_cast<std::byte>(random_());
    if (!t.params.empty() && !graph_.extents.empty()) t.patches.push_back({0, 8, size()});
    t.flops = size();
    t.launch.grid[0] = size();
    t.node = static_cast<uint32_t>(graph_.lowered.thunks.size());
    graph_.lowered.thunks.push_back(std::move(t));
  }

  std::vector<Operand> some_reads() {
    std::vector<Operand> operands;
    const int reads = 1 + below(3);
    for (int i = 0; i < reads; ++i) {
      const View v = pick();
      operands.push_back(at(v.buffer, Access::kRead, v.offset, v.bytes));
    }
    return operands;
  }

  void compute() {
    std::vector<Operand> operands = some_reads();
    const size_t reads = operands.size();
    std::vector<InPlace> in_place;
    const int results = 1 + (below(4) == 0 ? 1 : 0);
    for (int r = 0; r < results; ++r) {
      // Often of an input's size, to be merged with it.
      const auto out = static_cast<uint32_t>(operands.size());
      const auto like = static_cast<uint32_t>(below(static_cast<int>(reads)));
      const Dim bytes = below(3) != 0 ? operands[like].bytes : size();
      const View v{buffer(Space::kValue, bytes), Dim(0), bytes};
      operands.push_back(at(v.buffer, Access::kWrite, v.offset, v.bytes));
      for (uint32_t i = 0; i < reads; ++i) {
        if (operands[i].bytes == bytes && below(4) != 0) in_place.push_back({out, i});
      }
      if (below(8) != 0) views_.push_back(v);  // or nobody reads it
    }
    if (below(4) == 0) {
      const Dim bytes = size();
      operands.push_back(at(buffer(Space::kValue, bytes),
                            below(2) != 0 ? Access::kWrite : Access::kReadWrite, Dim(0), bytes));
    }
    emit(std::move(operands), std::move(in_place));
  }

  // Several thunks write the parts of one buffer; then parts and the whole may be read.
  void concat() {
    const int parts = 2 + below(2);
    std::vector<View> views;
    Dim total;
    for (int i = 0; i < parts; ++i) {
      const Dim bytes = size();
      views.push_back({0, total, bytes});
      total += bytes;
    }
    const uint32_t b = buffer(Space::kValue, total);
    for (View& v : views) {
      v.buffer = b;
      std::vector<Operand> operands = some_reads();
      operands.push_back(at(b, Access::kWrite, v.offset, v.bytes));
      emit(std::move(operands), {});
    }
    for (const View& v : views) views_.push_back(v);
    views_.push_back(whole(b));
  }

  void update_state() {
    if (states_.empty()) return;
    const View s = states_[static_cast<size_t>(below(static_cast<int>(states_.size())))];
    std::vector<Operand> operands = some_reads();
    // Its old contents, or a part of them, may be among what it reads: keep them apart.
    std::erase_if(operands, [&](const Operand& o) { return o.block == s.buffer; });
    if (below(2) != 0) {
      operands.push_back(at(s.buffer, Access::kReadWrite, s.offset, s.bytes));
    } else {
      operands.push_back(at(s.buffer, Access::kWrite, s.offset, s.bytes));
    }
    emit(std::move(operands), {});
  }

  void write_output() {
    std::vector<Operand> operands = some_reads();
    const Dim bytes = below(2) != 0 ? operands[0].bytes : size();
    const View v{buffer(Space::kOutput, bytes), Dim(0), bytes};
    operands.push_back(at(v.buffer, Access::kWrite, v.offset, v.bytes));
    std::vector<InPlace> hints;
    if (operands[0].bytes == bytes) {
      hints.push_back({static_cast<uint32_t>(operands.size() - 1), 0});
    }
    emit(std::move(operands), std::move(hints));
    views_.push_back(v);
  }

  std::mt19937_64& random_;
  RandomShape shape_;
  RandomGraph graph_;
  std::vector<View> views_;
  std::vector<View> states_;
  std::map<Space, uint32_t> counts_;
};

// Memory of one word a byte.
struct Memory {
  std::vector<uint64_t> cells;
  std::vector<bool> written;
};

std::vector<uint64_t> initial_contents(Space space, uint32_t index, int64_t bytes) {
  std::vector<uint64_t> cells(static_cast<size_t>(std::max<int64_t>(bytes, 0)));
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = mix(mix(static_cast<uint64_t>(space), index), i);
  }
  return cells;
}

std::pair<int64_t, int64_t> range_of(const Operand& o, std::span<const int64_t> extents) {
  const int64_t low = o.offset.evaluate(extents);
  return {low, low + std::max<int64_t>(o.bytes.evaluate(extents), 0)};
}

}  // namespace

Operand at(uint32_t buffer, Access access, Dim offset, Dim bytes) {
  return {Space::kValue, access, buffer, std::move(offset), std::move(bytes)};
}

Thunk thunk(std::string label, std::vector<Operand> operands, std::vector<InPlace> in_place) {
  Thunk t;
  t.kernel = "test__kernel";
  t.label = std::move(label);
  t.operands = std::move(operands);
  t.in_place = std::move(in_place);
  return t;
}

RandomGraph random_graph(std::mt19937_64& random, const RandomShape& shape) {
  return Maker(random, shape).make();
}

Target small_target(int64_t alignment) {
  Target t = cpu_target(1);
  t.alignment = alignment;
  return t;
}

Trace run_graph(const LoweredGraph& lowered, std::span<const int64_t> extents, Defined* defined) {
  std::vector<Memory> memories;
  for (const VirtualBuffer& b : lowered.buffers) {
    const int64_t bytes = std::max<int64_t>(b.bytes.evaluate(extents), 0);
    Memory m{initial_contents(b.space, b.index, bytes), {}};
    m.written.assign(m.cells.size(), b.space != Space::kValue);
    memories.push_back(std::move(m));
  }
  Trace trace;
  defined->clear();
  for (size_t id = 0; id < lowered.thunks.size(); ++id) {
    const Thunk& t = lowered.thunks[id];
    uint64_t digest = id;
    std::vector<std::vector<bool>> seen(t.operands.size());
    for (size_t i = 0; i < t.operands.size(); ++i) {
      const Operand& o = t.operands[i];
      if (!reads(o.access)) continue;
      const auto [low, high] = range_of(o, extents);
      for (int64_t a = low; a < high; ++a) {
        const Memory& m = memories[o.block];
        seen[i].push_back(m.written.at(static_cast<size_t>(a)));
        if (seen[i].back()) digest = mix(digest, m.cells.at(static_cast<size_t>(a)));
      }
    }
    for (size_t i = 0; i < t.operands.size(); ++i) {
      const Operand& o = t.operands[i];
      if (!writes(o.access)) continue;
      const auto [low, high] = range_of(o, extents);
      for (int64_t a = low; a < high; ++a) {
        Memory& m = memories[o.block];
        m.cells.at(static_cast<size_t>(a)) = mix(mix(digest, i), static_cast<uint64_t>(a - low));
        m.written.at(static_cast<size_t>(a)) = true;
      }
    }
    trace.digests.push_back(digest);
    defined->push_back(std::move(seen));
  }
  for (size_t i = 0; i < memories.size(); ++i) {
    const VirtualBuffer& b = lowered.buffers[i];
    if (b.space != Space::kValue) trace.final[{b.space, b.index}] = memories[i].cells;
  }
  return trace;
}

Trace run_schedule(const LoweredGraph& lowered, const Schedule& schedule,
                   std::span<const int64_t> extents, const Defined& defined, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::pair<Space, uint32_t>, std::vector<uint64_t>> blocks;
  for (const VirtualBuffer& b : lowered.buffers) {
    if (b.space == Space::kValue) continue;
    blocks[{b.space, b.index}] = initial_contents(b.space, b.index, b.bytes.evaluate(extents));
  }
  for (uint32_t i = 0; i < schedule.arena_blocks.size(); ++i) {
    auto& cells = blocks[{Space::kArena, i}];
    cells.resize(static_cast<size_t>(schedule.arena_blocks[i]));
    for (uint64_t& c : cells) c = random();
  }
  Trace trace;
  trace.digests.assign(lowered.thunks.size(), 0);
  std::vector<size_t> order;
  const auto run = [&](size_t step) {
    const Thunk& t = schedule.thunks[step];
    const uint32_t id = schedule.original[step];
    uint64_t digest = id;
    const auto block = [&](const Operand& o, int64_t high) -> std::vector<uint64_t>* {
      const auto it = blocks.find({o.space, o.block});
      const auto [low, end] = range_of(o, extents);
      if (low == end) return nullptr;
      if (it == blocks.end() || low < 0 || high > static_cast<int64_t>(it->second.size())) {
        trace.out_of_bounds = true;
        return nullptr;
      }
      return &it->second;
    };
    for (size_t i = 0; i < t.operands.size(); ++i) {
      const Operand& o = t.operands[i];
      if (!reads(o.access)) continue;
      const auto [low, high] = range_of(o, extents);
      const std::vector<uint64_t>* cells = block(o, high);
      if (cells == nullptr) continue;
      for (int64_t a = low; a < high; ++a) {
        const auto k = static_cast<size_t>(a - low);
        if (k < defined[id][i].size() && !defined[id][i][k]) continue;
        digest = mix(digest, (*cells)[static_cast<size_t>(a)]);
      }
    }
    for (size_t i = 0; i < t.operands.size(); ++i) {
      const Operand& o = t.operands[i];
      if (!writes(o.access)) continue;
      const auto [low, high] = range_of(o, extents);
      std::vector<uint64_t>* cells = block(o, high);
      if (cells == nullptr) continue;
      for (int64_t a = low; a < high; ++a) {
        (*cells)[static_cast<size_t>(a)] = mix(mix(digest, i), static_cast<uint64_t>(a - low));
      }
    }
    trace.digests[id] = digest;
  };
  const auto flush = [&] {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t step : order) run(step);
    order.clear();
  };
  for (size_t step = 0; step < schedule.thunks.size(); ++step) {
    if (schedule.barrier_before[step] != 0) flush();
    order.push_back(step);
  }
  flush();
  for (auto& [name, cells] : blocks) {
    if (name.first != Space::kArena) trace.final[name] = cells;
  }
  return trace;
}

}  // namespace bessemer::testing
