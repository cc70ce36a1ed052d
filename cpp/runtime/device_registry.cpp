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

Result<DevicePtr> open_device(std::string_view full_name, const DeviceOptions& options) {
  const std::string_view name = full_name.substr(0, full_name.find(':'));
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
    return Error{ErrorKind::kName,
                 "no device `" + std::string(full_name) + "`; this build has: " + have,
                 {}};
  }
  if (name.size() == full_name.size()) return factory(options);
  DeviceOptions with_variant = options;
  with_variant.variant = full_name.substr(name.size() + 1);
  return factory(with_variant);
}

}  // namespace bessemer
