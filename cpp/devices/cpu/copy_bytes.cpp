#include <cstring>

#include "devices/cpu/kernels.h"
#include "devices/cpu/rows.h"
#include "kernel_abi/copy_bytes_params.h"

namespace bessemer::cpu {

void copy_bytes(const KernelCall& call) {
  const auto& p = *static_cast<const abi::CopyBytesParams*>(call.params);
  const std::byte* from = call.operands[0];
  std::byte* to = call.operands[1];
  if (from == to || p.bytes <= 0) return;
  auto body = [&](int worker, int n) {
    const Share s = share_of(p.bytes, worker, n);
    std::memcpy(to + s.begin, from + s.begin, static_cast<size_t>(s.end - s.begin));
  };
  call.pool.run(p.bytes < (1 << 20) ? 1 : call.threads, body);
}

}  // namespace bessemer::cpu
