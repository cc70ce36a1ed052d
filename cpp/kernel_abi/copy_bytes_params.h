// copy_bytes: a contiguous copy. Operands: from, to.
#pragma once

#include "kernel_abi/abi.h"

namespace bessemer {
namespace abi {

struct CopyBytesParams {
  int64_t bytes;
};
static_assert(sizeof(CopyBytesParams) == 8);

}  // namespace abi
}  // namespace bessemer
