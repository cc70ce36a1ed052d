#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "plan/order.h"

namespace bessemer::ordering {
namespace {

constexpr size_t kLongestStretch = 48;
constexpr size_t kWindow = 32;  // of a stretch that is too long

// From masks to numbers, in one flat table.
class MaskIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  MaskIndex() : slots_(64) {}

  // The number of a mask, kNone if it is new; to be set then. Valid until the next call.
  uint32_t* find(uint64_t mask) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[place(mask)];
    if (!slot.taken) {
      slot = {mask, kNone, true};
      ++used_;
    }
    return &slot.number;
  }

 private:
  struct Slot {
    uint64_t mask = 0;
    uint32_t number = kNone;
    bool taken = false;
  };

  [[nodiscard]] size_t place(uint64_t mask) const {
    size_t at = (mask * 0x9e3779b97f4a7c15u) >> 20;
    while (true) {
      at &= slots_.size() - 1;
      if (!slots_[at].taken || slots_[at].mask == mask) return at;
      ++at;
    }
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size() * 2, Slot{});
    for (const Slot& s : old) {
      if (s.taken) slots_[place(s.mask)] = s;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

// The thunks at consecutive positions of an order, as bits of a mask. What lies outside stays where
// it is, so a set of thunks done says which values are alive.
class Stretch {
 public:
  Stretch(const DependenceGraph& graph, const ValueTable& values,
          const std::vector<uint32_t>& order, const std::vector<uint32_t>& position, size_t low,
          size_t high)
      : count_(high - low) {
    std::unordered_map<uint32_t, uint32_t> local_of;
    const auto local = [&](uint32_t v) {
      const auto [it, fresh] = local_of.emplace(v, static_cast<uint32_t>(values_.size()));
      if (fresh) {
        LocalValue value;
        value.size = values.size[v];
        for (uint32_t user : values.users(v)) {
          const size_t p = position[user];
          value.used_before |= p < low;
          value.used_after |= p >= high;
          if (p >= low && p < high) value.users |= uint64_t{1} << (p - low);
        }
        values_.push_back(value);
      }
      return it->second;
    };
    for (size_t i = low; i < high; ++i) {
      const uint32_t t = order[i];
      LocalThunk thunk;
      for (uint32_t p : graph.predecessors(t)) {
        if (position[p] >= low && position[p] < high) {
          thunk.needs |= uint64_t{1} << (position[p] - low);
        }
      }
      for (uint32_t v : values.values(t)) thunk.values.push_back(local(v));
      for (const MergeCandidate& m : values.candidates(t)) {
        thunk.merges.push_back({local(m.out), local(m.in)});
      }
      thunks_.push_back(std::move(thunk));
    }
  }

  // Finds an order of the stretch whose peak is the least and below `peak`, from `live` bytes on.
  // Empty if there is none or the states run out. Shortest-path search where a path is as long as
  // its highest step.
  std::vector<uint32_t> search(int64_t live, int64_t peak, int64_t* states) const {
    struct State {
      uint64_t done;
      int64_t peak;
      int64_t live;
      uint32_t parent;
      uint32_t thunk;
      bool closed = false;
    };
    std::vector<State> all{{0, live, live, 0, 0}};
    MaskIndex index;
    *index.find(0) = 0;
    using Key = std::tuple<int64_t, int, int64_t, uint32_t>;  // peak, thunks left, live, index
    std::priority_queue<Key, std::vector<Key>, std::greater<>> open;
    open.push({live, 0, live, 0});
    const uint64_t everything = count_ == 64 ? ~uint64_t{0} : (uint64_t{1} << count_) - 1;
    while (!open.empty()) {
      const uint32_t at = std::get<3>(open.top());
      const int64_t key_peak = std::get<0>(open.top());
      open.pop();
      if (all[at].closed || all[at].peak != key_peak) continue;
      all[at].closed = true;
      const State now = all[at];
      if (now.done == everything) {
        std::vector<uint32_t> chosen;
        for (uint32_t s = at; s != 0; s = all[s].parent) chosen.push_back(all[s].thunk);
        std::reverse(chosen.begin(), chosen.end());
        return chosen;
      }
      for (uint32_t t = 0; t < count_; ++t) {
        const uint64_t bit = uint64_t{1} << t;
        if ((now.done & bit) != 0 || (thunks_[t].needs & ~now.done) != 0) continue;
        const LiveMemory::Change c = change(t, now.done);
        const int64_t high = std::max(now.peak, now.live + c.starts);
        if (high >= peak) continue;
        if (--*states < 0) return {};
        const uint64_t done = now.done | bit;
        uint32_t* known_index = index.find(done);
        const int64_t live_after = now.live + c.starts - c.stops;
        if (*known_index == MaskIndex::kNone) {
          *known_index = static_cast<uint32_t>(all.size());
          all.push_back({done, high, live_after, at, t});
        } else if (high < all[*known_index].peak) {
          State& known = all[*known_index];
          known.peak = high;
          known.parent = at;
          known.thunk = t;
        } else {
          continue;
        }
        open.push({high, static_cast<int>(count_) - std::popcount(done), live_after, *known_index});
      }
    }
    return {};
  }

 private:
  struct LocalValue {
    int64_t size = 0;
    uint64_t users = 0;
    bool used_before = false;
    bool used_after = false;
  };
  struct LocalThunk {
    uint64_t needs = 0;
    std::vector<uint32_t> values;
    std::vector<MergeCandidate> merges;
  };

  bool started(const LocalValue& v, uint64_t done) const {
    return v.used_before || (v.users & done) != 0;
  }
  bool is_last(const LocalValue& v, uint64_t done, uint64_t bit) const {
    return !v.used_after && (v.users & ~(done | bit)) == 0;
  }

  LiveMemory::Change change(uint32_t t, uint64_t done) const {
    const uint64_t bit = uint64_t{1} << t;
    LiveMemory::Change c;
    for (uint32_t v : thunks_[t].values) {
      if (!started(values_[v], done)) c.starts += values_[v].size;
      if (is_last(values_[v], done, bit)) c.stops += values_[v].size;
    }
    const std::vector<MergeCandidate>& merges = thunks_[t].merges;
    uint64_t taken = 0;  // candidates of a thunk are few
    for (size_t i = 0; i < merges.size(); ++i) {
      const LocalValue& out = values_[merges[i].out];
      if (started(out, done) || !is_last(values_[merges[i].in], done, bit)) continue;
      bool free = true;
      for (size_t j = 0; j < i; ++j) {
        free = free && (((taken >> j) & 1) == 0 ||
                        (merges[j].out != merges[i].out && merges[j].in != merges[i].in));
      }
      if (!free) continue;
      taken |= uint64_t{1} << i;
      c.starts -= out.size;
      c.stops -= out.size;
    }
    return c;
  }

  size_t count_;
  std::vector<LocalThunk> thunks_;
  std::vector<LocalValue> values_;
};

// bottleneck[p]: the thunk at p comes after all before it and before all after it.
std::vector<uint8_t> find_bottlenecks(const DependenceGraph& graph,
                                      const std::vector<uint32_t>& order,
                                      const std::vector<uint32_t>& position) {
  const size_t n = order.size();
  std::vector<uint8_t> bottleneck(n, 1);
  // All before p reach p, if each of them has a successor no later than p.
  size_t reach = 0;
  for (size_t p = 0; p < n; ++p) {
    if (reach > p) bottleneck[p] = 0;
    size_t first = n;
    for (uint32_t s : graph.successors(order[p])) first = std::min<size_t>(first, position[s]);
    reach = std::max(reach, first);
  }
  int64_t back = static_cast<int64_t>(n);
  for (size_t p = n; p-- > 0;) {
    if (back < static_cast<int64_t>(p)) bottleneck[p] = 0;
    int64_t last = -1;
    for (uint32_t s : graph.predecessors(order[p])) {
      last = std::max<int64_t>(last, position[s]);
    }
    back = std::min(back, last);
  }
  return bottleneck;
}

}  // namespace

void search_stretches(const DependenceGraph& graph, const ValueTable& values, int64_t max_states,
                      std::vector<uint32_t>* order) {
  const size_t n = order->size();
  std::vector<uint32_t> position(n);
  for (size_t p = 0; p < n; ++p) position[(*order)[p]] = static_cast<uint32_t>(p);
  const std::vector<uint8_t> bottleneck = find_bottlenecks(graph, *order, position);
  std::vector<int64_t> during;     // while the thunk at p runs
  std::vector<int64_t> live_upto;  // before it
  LiveMemory memory(values);
  for (uint32_t t : *order) {
    live_upto.push_back(memory.live());
    during.push_back(memory.run(t));
  }

  while (max_states > 0) {
    const size_t top =
        static_cast<size_t>(std::max_element(during.begin(), during.end()) - during.begin());
    if (bottleneck[top] != 0) return;
    size_t low = top;
    size_t high = top + 1;
    while (low > 0 && bottleneck[low - 1] == 0) --low;
    while (high < n && bottleneck[high] == 0) ++high;
    if (high - low > kLongestStretch) {
      const size_t middle = top;
      low = std::max(low, middle < kWindow / 2 ? 0 : middle - kWindow / 2);
      high = std::min(high, middle + kWindow / 2);
    }
    const Stretch stretch(graph, values, *order, position, low, high);
    const std::vector<uint32_t> better = stretch.search(live_upto[low], during[top], &max_states);
    if (better.empty()) return;
    const std::vector<uint32_t> before(order->begin() + static_cast<std::ptrdiff_t>(low),
                                       order->begin() + static_cast<std::ptrdiff_t>(high));
    for (size_t i = 0; i < better.size(); ++i) {
      (*order)[low + i] = before[better[i]];
      position[before[better[i]]] = static_cast<uint32_t>(low + i);
    }
    // The bytes before the stretch and after it are as they were.
    LiveMemory again(values);
    for (size_t p = 0; p < high; ++p) {
      live_upto[p] = again.live();
      during[p] = again.run((*order)[p]);
    }
  }
}

}  // namespace bessemer::ordering
