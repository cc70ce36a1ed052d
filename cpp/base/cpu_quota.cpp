#include "base/cpu_quota.h"

#include <fstream>
#include <sstream>
#include <string_view>

namespace bessemer {
namespace {

void tighten(std::optional<double>& limit, std::optional<double> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

// v2: "max 100000" or "150000 100000" (microseconds of CPU per period).
std::optional<double> read_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// v1: one number a file, a quota of -1 meaning none.
std::optional<double> read_v1(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return std::nullopt;
}

// Every directory from mount/path up to mount: an ancestor's quota binds too. Inside a container
// the path may name directories that are not visible; the mount itself is then the container's own
// group.
template <class Read>
std::optional<double> walk_up(const std::string& mount, std::string path, Read read) {
  std::optional<double> limit;
  while (true) {
    tighten(limit, read(mount + path));
    if (path.empty()) return limit;
    path.erase(path.find_last_of('/'));
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) break;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const std::string& root) {
  std::optional<double> limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;  // "hierarchy:controllers:path"; v2 is "0::path"
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    while (!path.empty() && path.back() == '/') path.pop_back();
    if (!path.empty() && path.front() != '/') continue;
    if (controllers.empty()) {
      tighten(limit, walk_up(root + "/sys/fs/cgroup", path, read_v2));
    } else if (lists_cpu(controllers)) {
      tighten(limit, walk_up(root + "/sys/fs/cgroup/" + controllers, path, read_v1));
      tighten(limit, walk_up(root + "/sys/fs/cgroup/cpu", path, read_v1));
    }
  }
  return limit;
}

}  // namespace bessemer
