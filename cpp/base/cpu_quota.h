// How many CPUs the control group of this process grants.
#pragma once

#include <optional>
#include <string>

namespace bessemer {

// The tightest CPU quota, in CPUs (1.5 = one and a half), over the cgroup v2 and v1 hierarchies of
// this process and their ancestors; empty where there is no quota or no cgroup file system.
// `root` is put before every path ("" for the running system; tests pass a directory).
[[nodiscard]] std::optional<double> cgroup_cpu_quota(const std::string& root = "");

}  // namespace bessemer
