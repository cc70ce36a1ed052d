// concat: kernel_abi/copy_params.h has the meaning. T is the widest unit that divides every size
// and offset in bytes.
#include "constants.h"
#include "kernel_abi/copy_params.h"

namespace bessemer {

// clang-format off
#define BSM_CONCAT_INPUTS                                                                        \
    const device uchar* in0 [[buffer(1), function_constant(kHasInput0)]],                 \
    const device uchar* in1 [[buffer(2), function_constant(kHasInput1)]],                 \
    const device uchar* in2 [[buffer(3), function_constant(kHasInput2)]],                 \
    const device uchar* in3 [[buffer(4), function_constant(kHasInput3)]],                 \
    const device uchar* in4 [[buffer(5), function_constant(kHasInput4)]],                 \
    const device uchar* in5 [[buffer(6), function_constant(kHasInput5)]],                 \
    const device uchar* in6 [[buffer(7), function_constant(kHasInput6)]],                 \
    const device uchar* in7 [[buffer(8), function_constant(kHasInput7)]],                 \
    const device uchar* in8 [[buffer(9), function_constant(kHasInput8)]],                 \
    const device uchar* in9 [[buffer(10), function_constant(kHasInput9)]],                 \
    const device uchar* in10 [[buffer(11), function_constant(kHasInput10)]],                 \
    const device uchar* in11 [[buffer(12), function_constant(kHasInput11)]],                 \
    const device uchar* in12 [[buffer(13), function_constant(kHasInput12)]],                 \
    const device uchar* in13 [[buffer(14), function_constant(kHasInput13)]],                 \
    const device uchar* in14 [[buffer(15), function_constant(kHasInput14)]],                 \
    const device uchar* in15 [[buffer(16), function_constant(kHasInput15)]],
// clang-format on

// A thread a unit of the joined rows; it looks for the input that its column falls in.
template <class T>
[[kernel]] void concat(constant abi::ConcatParams& p [[buffer(0)]],
                       BSM_CONCAT_INPUTS device uchar* out [[buffer(17)]],
                       uint2 position [[thread_position_in_grid]]) {
  if (position.y >= uint(p.outer)) return;
  const uint out_units = uint(ulong(p.out_row_bytes) / sizeof(T));
  const uint first = uint(ulong(p.column) / sizeof(T));
  device T* to = reinterpret_cast<device T*>(out) + ulong(position.y) * out_units + first;
  uint column = position.x;
#define BSM_JOIN(n)                                                                     \
  if (kInputCount > n) {                                                                \
    const uint units = uint(ulong(p.row_bytes[n]) / sizeof(T));                         \
    if (column < units) {                                                               \
      to[position.x] =                                                                  \
          reinterpret_cast<const device T*>(in##n)[ulong(position.y) * units + column]; \
      return;                                                                           \
    }                                                                                   \
    column -= units;                                                                    \
  }
  BSM_JOIN(0)
  BSM_JOIN(1)
  BSM_JOIN(2)
  BSM_JOIN(3)
  BSM_JOIN(4)
  BSM_JOIN(5)
  BSM_JOIN(6)
  BSM_JOIN(7)
  BSM_JOIN(8)
  BSM_JOIN(9)
  BSM_JOIN(10)
  BSM_JOIN(11)
  BSM_JOIN(12)
  BSM_JOIN(13)
  BSM_JOIN(14)
  BSM_JOIN(15)
#undef BSM_JOIN
}

}  // namespace bessemer
