#pragma once

namespace bessemer {

// Makes every device of this build known to open_device. Idempotent and thread-safe.
void register_all_devices();

}  // namespace bessemer
