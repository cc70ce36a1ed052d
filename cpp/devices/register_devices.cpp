#include "devices/register_devices.h"

#include <mutex>

#include "devices/cpu/cpu_device.h"
#include "devices/modelled/modelled_device.h"
#include "runtime/device.h"

namespace bessemer {

void register_all_devices() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_device("cpu", cpu::open);
    register_device("modelled", modelled::open);
  });
}

}  // namespace bessemer
