// Branch and bound over canonical packings. Any packing can be pushed down until each storage lies
// on the floor or on another one, and its storages can be listed by rising offset. So it is enough
// to place storages by rising offset, each at the lowest offset that what is placed leaves free. A
// search is cut short and begun again under another order of preference, since a good order finds a
// packing within thousands of nodes or not for a long time; the cuts grow, so that it stays exact.
#include "plan/arena_search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

namespace bessemer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// What all threads share: the problem in sections, stretches of time in which nothing begins or
// ends.
struct Problem {
  int64_t capacity = 0;
  int sections = 0;
  std::vector<int> first;  // section, by storage
  std::vector<int> last;   // one after
  std::vector<int64_t> size;
  std::vector<std::vector<int>> neighbours;
};

Problem make_problem(const std::vector<ArenaStorage>& storages, int64_t capacity) {
  Problem p;
  p.capacity = capacity;
  std::vector<uint32_t> times;
  for (const ArenaStorage& s : storages) {
    times.push_back(s.lower);
    times.push_back(s.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  p.sections = std::max<int>(0, static_cast<int>(times.size()) - 1);
  const auto section = [&](uint32_t t) {
    return static_cast<int>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
  };
  for (const ArenaStorage& s : storages) {
    p.first.push_back(section(s.lower));
    p.last.push_back(section(s.upper));
    p.size.push_back(s.size);
  }
  const auto n = static_cast<int>(storages.size());
  p.neighbours.resize(storages.size());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i != j && p.first[i] < p.last[j] && p.first[j] < p.last[i]) p.neighbours[i].push_back(j);
    }
  }
  return p;
}

// One search with one order of preference.
class Descent {
 public:
  Descent(const Problem& p, const ArenaSearchOptions& options, Clock::time_point deadline,
          const std::atomic<bool>& over)
      : p_(p), options_(options), deadline_(deadline), over_(over) {}

  enum class End : uint8_t { kFound, kExhausted, kCut };

  End run(const std::vector<int>& rank, int64_t node_limit) {
    rank_ = &rank;
    nodes_ = 0;
    limit_ = node_limit;
    cut_ = false;
    floor_.assign(p_.sections, 0);
    left_.assign(p_.sections, 0);
    low_.assign(p_.size.size(), 0);
    offset_.assign(p_.size.size(), -1);
    std::vector<int> all(p_.size.size());
    std::iota(all.begin(), all.end(), 0);
    for (int i : all) {
      for (int s = p_.first[i]; s < p_.last[i]; ++s) left_[s] += p_.size[i];
    }
    if (place(all, 0)) return End::kFound;
    return cut_ ? End::kCut : End::kExhausted;
  }
  [[nodiscard]] const std::vector<int64_t>& offsets() const { return offset_; }
  [[nodiscard]] int64_t nodes() const { return nodes_; }

 private:
  // Places all of `unplaced`, at offsets of at least `level`.
  bool place(const std::vector<int>& unplaced, int64_t level) {
    if (unplaced.empty()) return true;
    if (++nodes_ > limit_ || ((nodes_ & 1023) == 0 && (over_.load(std::memory_order_relaxed) ||
                                                       Clock::now() > deadline_))) {
      cut_ = true;
      return false;
    }
    int64_t lowest = kNone;
    int64_t lowest_top = kNone;
    for (int i : unplaced) {
      if (low_[i] < level) continue;  // waits until something below it lifts it
      lowest = std::min(lowest, low_[i]);
      lowest_top = std::min(lowest_top, low_[i] + p_.size[i]);
    }
    if (lowest == kNone) return false;
    level = std::max(level, lowest);
    if (!fits(unplaced, level)) return false;
    if (options_.decompose) {
      const std::vector<std::vector<int>> parts = apart(unplaced);
      if (parts.size() > 1) return place_parts(parts, level);
    }

    std::vector<int> candidates;
    for (int i : unplaced) {
      if (low_[i] >= level && (!options_.dominance || low_[i] < lowest_top))
        candidates.push_back(i);
    }
    std::sort(candidates.begin(), candidates.end(), [&](int a, int b) {
      return low_[a] != low_[b] ? low_[a] < low_[b] : (*rank_)[a] < (*rank_)[b];
    });
    for (size_t c = 0; c < candidates.size(); ++c) {
      const int i = candidates[c];
      const bool twin = std::any_of(candidates.begin(), candidates.begin() + c, [&](int j) {
        return p_.first[j] == p_.first[i] && p_.last[j] == p_.last[i] && p_.size[j] == p_.size[i];
      });
      if (twin) continue;
      if (try_one(unplaced, i)) return true;
      if (cut_) return false;
      if (options_.hatless && !has_hat(i)) return false;
    }
    return false;
  }

  bool try_one(const std::vector<int>& unplaced, int i) {
    const int64_t at = low_[i];
    const int64_t top = at + p_.size[i];
    const std::vector<int64_t> floors(floor_.begin() + p_.first[i], floor_.begin() + p_.last[i]);
    bool possible = true;
    for (int s = p_.first[i]; s < p_.last[i]; ++s) {
      floor_[s] = top;
      left_[s] -= p_.size[i];
      possible = possible && top + left_[s] <= p_.capacity;
    }
    offset_[i] = at;
    std::vector<std::pair<int, int64_t>> lifted;
    for (int j : p_.neighbours[i]) {
      if (offset_[j] >= 0 || low_[j] >= top) continue;
      lifted.push_back({j, low_[j]});
      low_[j] = top;
      possible = possible && top + p_.size[j] <= p_.capacity;
    }
    if (possible) {
      std::vector<int> rest;
      rest.reserve(unplaced.size() - 1);
      for (int j : unplaced) {
        if (j != i) rest.push_back(j);
      }
      if (place(rest, at)) return true;
    }
    for (const auto& [j, low] : lifted) low_[j] = low;
    offset_[i] = -1;
    for (int s = p_.first[i]; s < p_.last[i]; ++s) {
      floor_[s] = floors[s - p_.first[i]];
      left_[s] += p_.size[i];
    }
    return false;
  }

  // Whether, in each section, what is left still fits above where anything left can begin.
  bool fits(const std::vector<int>& unplaced, int64_t level) {
    begin_.assign(p_.sections, kNone);
    for (int i : unplaced) {
      const int64_t at = std::max(low_[i], level);
      if (at + p_.size[i] > p_.capacity) return false;
      for (int s = p_.first[i]; s < p_.last[i]; ++s) begin_[s] = std::min(begin_[s], at);
    }
    for (int s = 0; s < p_.sections; ++s) {
      if (begin_[s] != kNone && begin_[s] + left_[s] > p_.capacity) return false;
    }
    return true;
  }

  // Groups of unplaced storages between times that none of them crosses, small groups first.
  std::vector<std::vector<int>> apart(const std::vector<int>& unplaced) {
    crossing_.assign(p_.sections + 1, 0);
    for (int i : unplaced) {
      ++crossing_[p_.first[i] + 1];
      --crossing_[p_.last[i]];
    }
    group_.assign(p_.sections, 0);
    int groups = 0;
    int open = 0;
    for (int s = 0; s < p_.sections; ++s) {
      open += crossing_[s];
      if (s > 0 && open == 0) ++groups;
      group_[s] = groups;
    }
    std::vector<std::vector<int>> parts(groups + 1);
    for (int i : unplaced) parts[group_[p_.first[i]]].push_back(i);
    std::erase_if(parts, [](const std::vector<int>& part) { return part.empty(); });
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return parts;
  }

  bool place_parts(const std::vector<std::vector<int>>& parts, int64_t level) {
    for (size_t k = 0; k < parts.size(); ++k) {
      if (place(parts[k], level)) continue;
      for (size_t done = 0; done < k; ++done) take_back(parts[done]);
      return false;
    }
    return true;
  }

  void take_back(const std::vector<int>& part) {
    for (int i : part) {
      offset_[i] = -1;
      for (int s = p_.first[i]; s < p_.last[i]; ++s) {
        left_[s] += p_.size[i];
        floor_[s] = 0;
      }
    }
    for (int i : part) {
      for (int j : p_.neighbours[i]) {
        if (offset_[j] < 0) continue;
        const int end = std::min(p_.last[i], p_.last[j]);
        for (int s = std::max(p_.first[i], p_.first[j]); s < end; ++s) {
          floor_[s] = std::max(floor_[s], offset_[j] + p_.size[j]);
        }
      }
    }
    for (int i : part) {
      low_[i] = *std::max_element(floor_.begin() + p_.first[i], floor_.begin() + p_.last[i]);
    }
  }

  bool has_hat(int i) const {
    return std::any_of(p_.neighbours[i].begin(), p_.neighbours[i].end(),
                       [&](int j) { return offset_[j] < 0; });
  }

  const Problem& p_;
  const ArenaSearchOptions& options_;
  const Clock::time_point deadline_;
  const std::atomic<bool>& over_;
  const std::vector<int>* rank_ = nullptr;
  int64_t nodes_ = 0;
  int64_t limit_ = 0;
  bool cut_ = false;
  std::vector<int64_t> floor_;   // by section: top of what is placed
  std::vector<int64_t> left_;    // by section: bytes still to place
  std::vector<int64_t> low_;     // by storage: the lowest offset that is free above all placed
  std::vector<int64_t> offset_;  // by storage; -1: not placed
  std::vector<int64_t> begin_;   // of one node
  std::vector<int> crossing_, group_;
};

// Orders of preference: by the fullest section (T), length of life (W), area (A), size (H).
constexpr const char* kRules[] = {"TWA", "WAT", "TAW", "AWT", "HAT", "ATW"};

class Preferences {
 public:
  explicit Preferences(const Problem& p) {
    std::vector<double> total(p.sections, 0);
    const auto n = static_cast<int>(p.size.size());
    for (int i = 0; i < n; ++i) {
      for (int s = p.first[i]; s < p.last[i]; ++s) total[s] += static_cast<double>(p.size[i]);
    }
    for (int i = 0; i < n; ++i) {
      const auto begin = total.begin() + p.first[i];
      const auto end = total.begin() + p.last[i];
      const double width = p.last[i] - p.first[i];
      const auto size = static_cast<double>(p.size[i]);
      measures_.push_back(
          {begin == end ? 0 : *std::max_element(begin, end), width, width * size, size});
    }
  }

  // The rank of each storage under the k-th rule; after the first round, with some noise.
  std::vector<int> rank(int k, std::mt19937_64& random) const {
    const char* rule = kRules[static_cast<size_t>(k) % std::size(kRules)];
    const int round = k / static_cast<int>(std::size(kRules));
    std::normal_distribution<double> noise(0, 0.05 * (round % 5));
    std::vector<double> factor(measures_.size(), 1.0);
    if (round > 0) {
      for (double& f : factor) f = std::exp(noise(random));
    }
    const auto key = [&](int i, char letter) {
      const int m = letter == 'T' ? 0 : letter == 'W' ? 1 : letter == 'A' ? 2 : 3;
      return measures_[i][m] * factor[i];
    };
    std::vector<int> order(measures_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      for (const char* letter = rule; *letter != '\0'; ++letter) {
        const double x = key(a, *letter);
        const double y = key(b, *letter);
        if (x != y) return x > y;
      }
      return a < b;
    });
    std::vector<int> rank(order.size());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int>(i);
    return rank;
  }

 private:
  std::vector<std::array<double, 4>> measures_;  // T, W, A, H
};

}  // namespace

ArenaSearchResult search_packing(const std::vector<ArenaStorage>& storages, int64_t capacity,
                                 const ArenaSearchOptions& options) {
  const Problem problem = make_problem(storages, capacity);
  const Preferences preferences(problem);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options.budget_s));
  std::atomic<bool> over = false;
  std::atomic<int64_t> nodes = 0;
  ArenaSearchResult result;
  const auto body = [&](int worker) {
    std::mt19937_64 random(static_cast<uint64_t>(worker) + 1);
    Descent descent(problem, options, deadline, over);
    int64_t limit = 4000 << worker;  // threads cut at different lengths
    for (int k = 0; !over.load() && Clock::now() < deadline; ++k) {
      // Threads take the rules from different ends.
      const std::vector<int> rank = preferences.rank(k + 3 * worker, random);
      const Descent::End end = descent.run(rank, limit);
      nodes += descent.nodes();
      if (end != Descent::End::kCut && !over.exchange(true)) {
        const bool found = end == Descent::End::kFound;
        result.end = found ? ArenaSearchEnd::kFound : ArenaSearchEnd::kImpossible;
        if (found) result.offsets = descent.offsets();
      }
      if (k % static_cast<int>(std::size(kRules)) == 0) limit = limit * 5 / 4;
    }
  };
  std::vector<std::thread> others;
  for (int worker = 1; worker < options.threads; ++worker) others.emplace_back(body, worker);
  body(0);
  for (std::thread& t : others) t.join();
  result.nodes = nodes;
  return result;
}

}  // namespace bessemer
