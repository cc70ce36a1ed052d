#include <map>
#include <mutex>

#include "runtime/device.h"

namespace bessemer {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, DeviceFactory, std::less<>> factories;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void register_device(std::string name, DeviceFactory factory) {
  const std::lock_guard lock(registry().mutex);
  registry().factories.insert_or_assign(std::move(name), factory);
}

std::vector<std::string> device_names() {
  const std::lock_guard lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto& [name, factory] : registry().factories) names.push_back(name);
  return names;
}

Result<DevicePtr> open_device(std::string_view name, const DeviceOptions& options) {
  DeviceFactory factory = nullptr;
  {
    const std::lock_guard lock(registry().mutex);
    const auto& all = registry().factories;
    auto it = all.find(name);
    if (name == "auto") {
      it = all.find("metal");
      if (it == all.end()) it = all.find("cpu");
    }
    if (it != all.end()) factory = it->second;
  }
  if (factory == nullptr) {
    std::string have;
    for (const std::string& n : device_names()) have += (have.empty() ? "" : ", ") + n;
    return Error{
        ErrorKind::kName, "no device `" + std::string(name) + "`; this build has: " + have, {}};
  }
  return factory(options);
}

}  // namespace bessemer
