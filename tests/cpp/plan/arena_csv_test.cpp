#include "plan/arena_csv.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "plan/arena_search.h"
#include "plan/place.h"

namespace bessemer {
namespace {

// Every pair of the solution, straight from its own text: nothing of the solver is used.
void expect_valid(const std::string& csv, int64_t capacity) {
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  ASSERT_EQ(line, "id,lower,upper,size,offset");
  struct Row {
    long long id, lower, upper, size, offset;
  };
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    Row r{};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld,%lld", &r.id, &r.lower, &r.upper,
                          &r.size, &r.offset),
              5);
    rows.push_back(r);
  }
  for (const Row& a : rows) {
    EXPECT_GE(a.offset, 0);
    EXPECT_LE(a.offset + a.size, capacity);
    for (const Row& b : rows) {
      if (a.id >= b.id || a.lower >= b.upper || b.lower >= a.upper) continue;
      EXPECT_TRUE(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset)
          << a.id << " and " << b.id;
    }
  }
}

std::string read_problem(const std::string& name) {
  std::ifstream in(std::string(BESSEMER_TEST_DATA) + "/arena_problems/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ArenaCsv, PublishedProblemsAreSolvedWithinTheirCapacity) {
  for (const char* name : {"B.1048576.csv", "C.1048576.csv", "D.1048576.csv"}) {
    const auto report = solve_arena_csv(read_problem(name), 1048576, 60, 2);
    ASSERT_TRUE(report.ok()) << name;
    EXPECT_TRUE(report->found) << name;
    expect_valid(report->csv, 1048576);
  }
}

TEST(ArenaCsv, WritesTheBestSoFarWhenItDoesNotFit) {
  const std::string problem = "id,lower,upper,size\n0,0,4,6\n1,2,6,6\n";
  const auto report = solve_arena_csv(problem, 11, 1, 1);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->found);
  EXPECT_TRUE(report->proven);
  EXPECT_EQ(report->peak, 12);
  expect_valid(report->csv, 12);
}

TEST(ArenaCsv, KeepsOtherColumnsAndTheirOrder) {
  const auto report =
      solve_arena_csv("size, note ,upper,id,lower\r\n5,a,2,x,0\r\n5,b,2,y,1\r\n\n", 10, 1, 1);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->csv.substr(0, report->csv.find('\n')), "size, note ,upper,id,lower,offset");
  EXPECT_NE(report->csv.find("5,a,2,x,0,"), std::string::npos);
}

TEST(ArenaCsv, BadInputNamesItsLine) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "line 1: expected a header with id, lower, upper and size"},
      {"id,lower,upper\n", "line 1: the header needs one column `size`, it has 0"},
      {"id,id,lower,upper,size\n", "line 1: the header needs one column `id`, it has 2"},
      {"id,lower,upper,size\n1,2,3\n", "line 2: 3 fields, the header has 4"},
      {"id,lower,upper,size\n1,2,x,4\n", "line 2: `upper` is not a 64-bit integer: `x`"},
      {"id,lower,upper,size\n1,2,3,99999999999999999999\n",
       "line 2: `size` is not a 64-bit integer: `99999999999999999999`"},
      {"id,lower,upper,size\n1,2,3,-4\n", "line 2: negative size -4"},
      {"id,lower,upper,size\n1,3,2,4\n", "line 2: upper 2 is below lower 3"},
      {"id,lower,upper,size\n1,2,3,4\n1,2,3,4\n", "line 3: second buffer with id `1`"},
      {"id,lower,upper,size\n1,2,3,9223372036854775807\n2,2,3,1\n",
       "line 3: the sizes add up to more than 64 bits hold"},
      {"id,lower,upper,size\n\n1,2,3,4\n", "line 2: an empty line between rows"},
      {"id,lower,upper,size,offset\n", "line 1: the problem has an `offset` column already"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_arena_csv(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().message, c.message);
  }
}

// The lowest peak of all packings, by trying every order of first fit at the floor: for few
// storages one of them is optimal.
int64_t brute_force_peak(const std::vector<ArenaStorage>& storages) {
  std::vector<int> order(storages.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offset(storages.size(), -1);
    int64_t peak = 0;
    for (int i : order) {
      int64_t at = 0;
      for (size_t j = 0; j < storages.size(); ++j) {  // on top of everything that it meets
        const ArenaStorage& o = storages[j];
        if (offset[j] < 0 || o.lower >= storages[i].upper || storages[i].lower >= o.upper) continue;
        at = std::max(at, offset[j] + o.size);
      }
      offset[i] = at;
      peak = std::max(peak, at + storages[i].size);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ArenaSearch, IsExactUnderEveryCombinationOfItsSwitches) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<ArenaStorage> storages;
    const int n = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < n; ++i) {
      const uint32_t lower = random() % 6;
      storages.push_back({1 + static_cast<int64_t>(random() % 5), lower,
                          lower + 1 + static_cast<uint32_t>(random() % 4)});
    }
    const int64_t best = brute_force_peak(storages);
    EXPECT_GE(best, packing_bound(storages));
    EXPECT_GE(pack_first_fit(storages).peak, best);
    for (int switches = 0; switches < 8; ++switches) {
      ArenaSearchOptions options;
      options.decompose = (switches & 1) != 0;
      options.hatless = (switches & 2) != 0;
      options.dominance = (switches & 4) != 0;
      EXPECT_EQ(search_packing(storages, best, options).end, ArenaSearchEnd::kFound);
      EXPECT_EQ(search_packing(storages, best - 1, options).end, ArenaSearchEnd::kImpossible);
    }
  }
}

}  // namespace
}  // namespace bessemer
