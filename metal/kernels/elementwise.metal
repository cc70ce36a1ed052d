// elementwise: kernel_abi/elementwise_params.h has the meaning.
//
// The program comes in through function constants, one word an instruction, so that the compiler
// unrolls the loop over it and folds the interpreter away. Instances differ in the most
// instructions they unroll.
//
//   word   op | dtype << 7 | class of the data << 11 | sources << 13, 19, 25
//   dtypes of inputs and outputs: 4 bits each; modes of inputs: 2 bits; output values: 8 bits
//
// A thread computes kLanes neighbours. Flat: over all elements, when each input is either laid out
// like the outputs or one element for all. Else by rows of the innermost axis.
#include "constants.h"
#include "elementwise_ops.h"
#include "wide_float.h"

namespace bessemer {

constant constexpr uint kClassFloat = 0;
constant constexpr uint kClassWhole = 1;
constant constexpr uint kClassBool = 2;
constant constexpr uint kClassDouble = 3;

constant constexpr uint kModeUniform = 0;
constant constexpr uint kModeLikeOutput = 1;
constant constexpr uint kModeStrided = 2;

inline uint class_of(uint dtype) {
  switch (dtype) {
    case abi::kCodeF32:
    case abi::kCodeF16:
    case abi::kCodeBF16:
      return kClassFloat;
    case abi::kCodeF64:
      return kClassDouble;
    case abi::kCodeBool:
      return kClassBool;
    default:
      return kClassWhole;
  }
}

inline uint program_word(uint i) {
  switch (i) {
    case 0:
      return kProgram0;
    case 1:
      return kProgram1;
    case 2:
      return kProgram2;
    case 3:
      return kProgram3;
    case 4:
      return kProgram4;
    case 5:
      return kProgram5;
    case 6:
      return kProgram6;
    case 7:
      return kProgram7;
    case 8:
      return kProgram8;
    case 9:
      return kProgram9;
    case 10:
      return kProgram10;
    case 11:
      return kProgram11;
    case 12:
      return kProgram12;
    case 13:
      return kProgram13;
    case 14:
      return kProgram14;
    case 15:
      return kProgram15;
    case 16:
      return kProgram16;
    case 17:
      return kProgram17;
    case 18:
      return kProgram18;
    case 19:
      return kProgram19;
    case 20:
      return kProgram20;
    case 21:
      return kProgram21;
    case 22:
      return kProgram22;
    case 23:
      return kProgram23;
    case 24:
      return kProgram24;
    case 25:
      return kProgram25;
    case 26:
      return kProgram26;
    case 27:
      return kProgram27;
    case 28:
      return kProgram28;
    case 29:
      return kProgram29;
    case 30:
      return kProgram30;
    default:
      return kProgram31;
  }
}

// Values of kLanes elements. Floats in `real`; integers, bools and the bits of f64 in `whole`.
template <uint kLanes, uint kValues>
struct Registers {
  float real[kValues][kLanes];
  long whole[kValues][kLanes];
};

// Elements [at, at + count) of row `row`.
struct LanePlace {
  uint row;
  uint at;
  uint count;
  uint first;  // number of the first in the outputs
};

template <uint kLanes, uint kValues>
inline void load_lanes(const device uchar* base, uint input, constant abi::ElementwiseParams& p,
                       LanePlace place, thread Registers<kLanes, kValues>& r) {
  const uint dtype = ((input < 8 ? kInputDtypes0 : kInputDtypes1) >> (input % 8 * 4)) & 15u;
  const uint mode = (kInputModes >> (input * 2)) & 3u;
  uint from = 0;
  uint stride = 0;
  if (mode == kModeLikeOutput) {
    from = place.first;
    stride = 1;
  } else if (mode == kModeStrided) {
    // Modulo 2^32: strides may be negative, offsets never are.
    uint rest = place.row;
    for (uint axis = kRank - 1; axis-- > 0;) {
      const uint size = uint(p.dims[axis]);
      from += (axis == 0 ? rest : rest % size) * uint(p.strides[input][axis]);
      rest /= size;
    }
    stride = uint(p.strides[input][kRank - 1]);
    from += place.at * stride;
  }
  const bool is_float = class_of(dtype) == kClassFloat;
  if (place.count == kLanes) {
    for (uint lane = 0; lane < kLanes; ++lane) {
      const uint at = from + lane * stride;
      if (is_float) {
        r.real[input][lane] = load_float(base, dtype, at);
      } else {
        r.whole[input][lane] = load_whole(base, dtype, at);
      }
    }
    return;
  }
  for (uint lane = 0; lane < kLanes; ++lane) {
    const uint at = from + min(lane, place.count - 1) * stride;
    if (is_float) {
      r.real[input][lane] = load_float(base, dtype, at);
    } else {
      r.whole[input][lane] = load_whole(base, dtype, at);
    }
  }
}

template <uint kLanes, uint kValues>
inline void store_lanes(device uchar* base, uint output, LanePlace place,
                        thread const Registers<kLanes, kValues>& r) {
  const uint value = ((output < 4 ? kOutputValues0 : kOutputValues1) >> (output % 4 * 8)) & 255u;
  const uint dtype = (kOutputDtypes >> (output * 4)) & 15u;
  const bool is_float = class_of(dtype) == kClassFloat;
  for (uint lane = 0; lane < kLanes; ++lane) {
    if (lane >= place.count) return;
    if (is_float) {
      store_float(base, dtype, place.first + lane, r.real[value][lane]);
    } else {
      store_whole(base, dtype, place.first + lane, r.whole[value][lane]);
    }
  }
}

// Smallest and largest of an integer dtype.
inline long lowest_of(uint dtype) {
  switch (dtype) {
    case abi::kCodeI8:
      return -128;
    case abi::kCodeI16:
      return -32768;
    case abi::kCodeI32:
      return -0x80000000l;
    case abi::kCodeI64:
      return long(kF64Sign);
    default:
      return 0;
  }
}
inline long highest_of(uint dtype) {
  switch (dtype) {
    case abi::kCodeI8:
      return 127;
    case abi::kCodeU8:
      return 255;
    case abi::kCodeI16:
      return 32767;
    case abi::kCodeI32:
      return 0x7fffffff;
    case abi::kCodeU32:
      return 0xffffffff;
    default:
      return 0x7fffffffffffffff;
  }
}

// A cast from a value of class `from`, in `real` or `whole`, to dtype `to`.
inline void cast_element(uint from, uint to, thread float& real, thread long& whole) {
  const bool narrow = to == abi::kCodeF16 || to == abi::kCodeBF16;
  switch (class_of(to)) {
    case kClassFloat:
      if (from == kClassWhole || from == kClassBool) real = f32_from_whole(whole, narrow);
      if (from == kClassDouble) real = f32_from_f64(ulong(whole), narrow);
      real = round_float(to, real);
      return;
    case kClassDouble:
      if (from == kClassFloat) whole = long(f64_from_f32(real));
      if (from == kClassWhole || from == kClassBool) whole = long(f64_from_whole(whole));
      return;
    case kClassBool:
      if (from == kClassFloat) {
        whole = real != 0.0f ? 1 : 0;
      } else if (from == kClassDouble) {
        whole = (ulong(whole) << 1) != 0 ? 1 : 0;
      } else {
        whole = whole != 0 ? 1 : 0;
      }
      return;
    default:
      if (from == kClassFloat) {
        whole = whole_from_f32(real, lowest_of(to), highest_of(to));
      } else if (from == kClassDouble) {
        whole = whole_from_f64(ulong(whole), lowest_of(to), highest_of(to));
      } else {
        whole = wrap_whole(to, whole);
      }
      return;
  }
}

template <uint kLanes, uint kValues>
inline void run_instruction(uint word, uint value, thread Registers<kLanes, kValues>& r) {
  const uint op = word & 127u;
  const uint dtype = (word >> 7) & 15u;
  const uint data = (word >> 11) & 3u;
  const uint x = (word >> 13) & 63u;
  const uint y = (word >> 19) & 63u;
  const uint z = (word >> 25) & 63u;
  for (uint lane = 0; lane < kLanes; ++lane) {
    if (op == abi::kElementwise_cast) {
      float real = data == kClassFloat ? r.real[x][lane] : 0.0f;
      long whole = data == kClassFloat ? 0 : r.whole[x][lane];
      cast_element(data, dtype, real, whole);
      if (class_of(dtype) == kClassFloat) {
        r.real[value][lane] = real;
      } else {
        r.whole[value][lane] = whole;
      }
    } else if (data == kClassFloat) {
      const float a =
          op == abi::kElementwise_where ? float(int(r.whole[x][lane])) : r.real[x][lane];
      const float b = r.real[y][lane];
      if (dtype == abi::kCodeBool) {
        r.whole[value][lane] = test_of_floats(op, a, b) ? 1 : 0;
      } else {
        const float c = r.real[z][lane];
        r.real[value][lane] = round_float(dtype, float_of_floats(op, a, b, c));
      }
    } else {
      const long v = whole_of_wholes(op, r.whole[x][lane], r.whole[y][lane], r.whole[z][lane]);
      r.whole[value][lane] = dtype == abi::kCodeBool ? v & 1 : wrap_whole(dtype, v);
    }
  }
}

// clang-format off
#define BSM_ELEMENTWISE_OPERANDS                                                                 \
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
    const device uchar* in15 [[buffer(16), function_constant(kHasInput15)]],                 \
    device uchar* out0 [[buffer(17), function_constant(kHasOutput0)]],                     \
    device uchar* out1 [[buffer(18), function_constant(kHasOutput1)]],                     \
    device uchar* out2 [[buffer(19), function_constant(kHasOutput2)]],                     \
    device uchar* out3 [[buffer(20), function_constant(kHasOutput3)]],                     \
    device uchar* out4 [[buffer(21), function_constant(kHasOutput4)]],                     \
    device uchar* out5 [[buffer(22), function_constant(kHasOutput5)]],                     \
    device uchar* out6 [[buffer(23), function_constant(kHasOutput6)]],                     \
    device uchar* out7 [[buffer(24), function_constant(kHasOutput7)]],
// clang-format on

template <uint kLanes, uint kMostInstrs>
[[kernel]] void elementwise(constant abi::ElementwiseParams& p [[buffer(0)]],
                            BSM_ELEMENTWISE_OPERANDS uint2 position [[thread_position_in_grid]]) {
  constexpr uint kValues = uint(abi::kElementwiseMaxInputs) + kMostInstrs;
  uint width = 1;
  uint height = 1;
  if (kRank > 0) width = uint(p.dims[kRank - 1]);
  for (uint axis = 0; axis + 1 < kRank; ++axis) height *= uint(p.dims[axis]);
  if (kFlat) {
    width *= height;
    height = 1;
  }
  LanePlace place;
  place.row = position.y;
  place.at = position.x * kLanes;
  if (place.at >= width || place.row >= height) return;
  place.count = min(kLanes, width - place.at);
  place.first = place.row * width + place.at;

  Registers<kLanes, kValues> r;
#define BSM_LOAD(n) \
  if (kInputCount > n) load_lanes<kLanes, kValues>(in##n, n, p, place, r);
  BSM_LOAD(0)
  BSM_LOAD(1)
  BSM_LOAD(2)
  BSM_LOAD(3)
  BSM_LOAD(4)
  BSM_LOAD(5)
  BSM_LOAD(6)
  BSM_LOAD(7)
  BSM_LOAD(8)
  BSM_LOAD(9)
  BSM_LOAD(10)
  BSM_LOAD(11)
  BSM_LOAD(12)
  BSM_LOAD(13)
  BSM_LOAD(14)
  BSM_LOAD(15)
#undef BSM_LOAD
  BSM_UNROLL
  for (uint i = 0; i < kMostInstrs; ++i) {
    if (i < kInstrCount) run_instruction<kLanes, kValues>(program_word(i), kInputCount + i, r);
  }
#define BSM_STORE(n) \
  if (kOutputCount > n) store_lanes<kLanes, kValues>(out##n, n, place, r);
  BSM_STORE(0)
  BSM_STORE(1)
  BSM_STORE(2)
  BSM_STORE(3)
  BSM_STORE(4)
  BSM_STORE(5)
  BSM_STORE(6)
  BSM_STORE(7)
#undef BSM_STORE
}

}  // namespace bessemer
