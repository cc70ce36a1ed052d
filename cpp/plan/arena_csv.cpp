#include "plan/arena_csv.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "base/thread_pool.h"
#include "plan/arena_search.h"
#include "plan/place.h"

namespace bessemer {
namespace {

Error at_line(size_t line, const std::string& message) {
  return Error{ErrorKind::kParse, "line " + std::to_string(line) + ": " + message, {}};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

struct Columns {
  size_t id = 0;
  size_t lower = 0;
  size_t upper = 0;
  size_t size = 0;
  size_t count = 0;
};

Result<Columns> parse_header(std::string_view header) {
  const std::vector<std::string_view> names = fields_of(header);
  Columns c;
  c.count = names.size();
  const std::pair<const char*, size_t*> wanted[] = {
      {"id", &c.id}, {"lower", &c.lower}, {"upper", &c.upper}, {"size", &c.size}};
  for (const auto& [name, index] : wanted) {
    const auto count = std::count(names.begin(), names.end(), std::string_view(name));
    if (count != 1) {
      return at_line(1, std::string("the header needs one column `") + name + "`, it has " +
                            std::to_string(count));
    }
    *index = static_cast<size_t>(std::find(names.begin(), names.end(), std::string_view(name)) -
                                 names.begin());
  }
  if (std::count(names.begin(), names.end(), std::string_view("offset")) != 0) {
    return at_line(1, "the problem has an `offset` column already");
  }
  return c;
}

Result<int64_t> number(std::string_view text, size_t line, const char* name) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return at_line(line, std::string("`") + name + "` is not a 64-bit integer: `" +
                             std::string(text.substr(0, 40)) + "`");
  }
  return value;
}

// Steps for times: only their order matters.
std::vector<ArenaStorage> storages_of(const ArenaCsv& csv) {
  std::vector<int64_t> times;
  for (const ArenaCsvRow& row : csv.rows) {
    times.push_back(row.lower);
    times.push_back(row.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto step = [&](int64_t t) {
    return static_cast<uint32_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
  };
  std::vector<ArenaStorage> storages;
  for (const ArenaCsvRow& row : csv.rows) {
    storages.push_back({row.size, step(row.lower), step(row.upper)});
  }
  return storages;
}

}  // namespace

Result<ArenaCsv> parse_arena_csv(std::string_view text) {
  ArenaCsv csv;
  Columns columns;
  std::set<std::string, std::less<>> ids;
  int64_t total = 0;
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++line_number;
    if (line_number == 1) {
      BSM_ASSIGN(columns, parse_header(line));
      csv.header = line;
      continue;
    }
    if (trimmed(line).empty()) {
      if (trimmed(text).empty() || text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        break;
      return at_line(line_number, "an empty line between rows");
    }
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != columns.count) {
      return at_line(line_number, std::to_string(fields.size()) + " fields, the header has " +
                                      std::to_string(columns.count));
    }
    ArenaCsvRow row;
    row.line = line;
    if (!ids.insert(std::string(fields[columns.id])).second) {
      return at_line(line_number,
                     "second buffer with id `" + std::string(fields[columns.id]) + "`");
    }
    BSM_ASSIGN(row.lower, number(fields[columns.lower], line_number, "lower"));
    BSM_ASSIGN(row.upper, number(fields[columns.upper], line_number, "upper"));
    BSM_ASSIGN(row.size, number(fields[columns.size], line_number, "size"));
    if (row.size < 0) return at_line(line_number, "negative size " + std::to_string(row.size));
    if (row.upper < row.lower) {
      return at_line(line_number, "upper " + std::to_string(row.upper) + " is below lower " +
                                      std::to_string(row.lower));
    }
    if (__builtin_add_overflow(total, row.size, &total)) {
      return at_line(line_number, "the sizes add up to more than 64 bits hold");
    }
    csv.rows.push_back(std::move(row));
  }
  if (line_number == 0) return at_line(1, "expected a header with id, lower, upper and size");
  return csv;
}

Result<ArenaCsvReport> solve_arena_csv(std::string_view text, int64_t capacity, double budget_s,
                                       int threads) {
  if (capacity < 0 || !(budget_s >= 0)) {
    return Error{ErrorKind::kInvalidArgument, "capacity and budget must not be negative", {}};
  }
  const auto start = std::chrono::steady_clock::now();
  BSM_ASSIGN(const ArenaCsv csv, parse_arena_csv(text));
  const std::vector<ArenaStorage> all = storages_of(csv);
  // What is never alive or takes nothing lies anywhere.
  std::vector<ArenaStorage> storages;
  std::vector<size_t> index;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size == 0 || all[i].lower == all[i].upper) continue;
    storages.push_back(all[i]);
    index.push_back(i);
  }
  Packed packed = pack_first_fit(storages);
  ArenaCsvReport report;
  report.bound = packing_bound(storages);
  report.proven = report.bound > capacity;
  if (packed.peak > capacity && !report.proven) {
    ArenaSearchOptions options;
    options.budget_s = budget_s;
    options.threads = threads > 0 ? threads : ThreadPool::usable_cpus();
    const ArenaSearchResult found = search_packing(storages, capacity, options);
    if (found.end == ArenaSearchEnd::kFound) {
      packed.offsets = found.offsets;
      packed.peak = 0;
      for (size_t i = 0; i < storages.size(); ++i) {
        packed.peak = std::max(packed.peak, packed.offsets[i] + storages[i].size);
      }
    }
    report.proven = found.end == ArenaSearchEnd::kImpossible;
  }
  report.found = packed.peak <= capacity;
  report.peak = packed.peak;
  std::vector<int64_t> offsets(all.size(), 0);
  for (size_t i = 0; i < index.size(); ++i) offsets[index[i]] = packed.offsets[i];
  report.csv = csv.header + ",offset\n";
  for (size_t i = 0; i < csv.rows.size(); ++i) {
    report.csv += csv.rows[i].line + "," + std::to_string(offsets[i]) + "\n";
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace bessemer
