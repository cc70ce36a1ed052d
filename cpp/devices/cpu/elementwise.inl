// The elementwise kernel's body, compiled once an instruction set by elementwise_*.cpp, each of
// which defines BSM_ELEMENTWISE, the function's name, before including this.
//
// The program is interpreted over tiles of kTile elements: each value of a tile has a register (a
// buffer that stays in the L1 cache), each instruction is one loop over it. Contiguous f32 and i64
// operands are read and written in place instead. Register types: float for f32, f16 and bf16;
// int64_t for integers; int32_t 0 or 1 for bool; double for f64.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "devices/cpu/elementwise.h"
#include "devices/cpu/kernel.h"
#include "kernel_abi/elementwise_params.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bessemer::cpu {
namespace {

#include "ops/scalar_math.inl"

// Operands may coincide exactly (in place), which is no dependence between iterations.
#if defined(__clang__)
// A few rows (division, powers) cannot be vectorised, and clang says so of each.
#pragma clang diagnostic ignored "-Wpass-failed"
#define BSM_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define BSM_IVDEP _Pragma("GCC ivdep")
#endif

constexpr int64_t kTile = 512;
constexpr int kMaxValues = abi::kElementwiseMaxInputs + abi::kElementwiseMaxInstrs;

enum Class : uint8_t { kFloat, kInt, kBool, kDouble };

Class class_of(uint8_t dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return kFloat;
    case DType::kF64:
      return kDouble;
    case DType::kBool:
      return kBool;
    default:
      return kInt;
  }
}

// ---- Instructions: one loop a row of the table and a class ----

using Loop = void (*)(const void* x, const void* y, const void* z, void* out, int64_t n);

#define BSM_LOOP_1(loop, T, R, expr)                                         \
  void loop(const void* px, const void*, const void*, void* po, int64_t n) { \
    const T* xs = static_cast<const T*>(px);                                 \
    R* os = static_cast<R*>(po);                                             \
    BSM_IVDEP for (int64_t i = 0; i < n; ++i) {                              \
      const T x = xs[i];                                                     \
      os[i] = static_cast<R>(expr);                                          \
    }                                                                        \
  }
#define BSM_LOOP_2(loop, T, R, expr)                                            \
  void loop(const void* px, const void* py, const void*, void* po, int64_t n) { \
    const T* xs = static_cast<const T*>(px);                                    \
    const T* ys = static_cast<const T*>(py);                                    \
    R* os = static_cast<R*>(po);                                                \
    BSM_IVDEP for (int64_t i = 0; i < n; ++i) {                                 \
      const T x = xs[i];                                                        \
      const T y = ys[i];                                                        \
      os[i] = static_cast<R>(expr);                                             \
    }                                                                           \
  }
#define BSM_LOOP_3(loop, X, T, expr)                                               \
  void loop(const void* px, const void* py, const void* pz, void* po, int64_t n) { \
    const X* xs = static_cast<const X*>(px);                                       \
    const T* ys = static_cast<const T*>(py);                                       \
    const T* zs = static_cast<const T*>(pz);                                       \
    T* os = static_cast<T*>(po);                                                   \
    BSM_IVDEP for (int64_t i = 0; i < n; ++i) {                                    \
      const X x = xs[i];                                                           \
      const T y = ys[i];                                                           \
      const T z = zs[i];                                                           \
      os[i] = static_cast<T>(expr);                                                \
    }                                                                              \
  }

#define BSM_U_kFloat(name, fe, ie) BSM_LOOP_1(f_##name, float, float, fe)
#define BSM_U_kNumeric(name, fe, ie) \
  BSM_LOOP_1(f_##name, float, float, fe) BSM_LOOP_1(i_##name, int64_t, int64_t, ie)
#define BSM_U_kBits(name, fe, ie) \
  BSM_LOOP_1(i_##name, int64_t, int64_t, ie) BSM_LOOP_1(b_##name, int32_t, int32_t, (ie) & 1)
#define BSM_U_kLogical(name, fe, ie) BSM_LOOP_1(b_##name, int32_t, int32_t, (ie) & 1)
#define BSM_U_kTest(name, fe, ie) BSM_LOOP_1(f_##name, float, int32_t, fe)
#define BSM_B_kFloat(name, fe, ie) BSM_LOOP_2(f_##name, float, float, fe)
#define BSM_B_kNumeric(name, fe, ie) \
  BSM_LOOP_2(f_##name, float, float, fe) BSM_LOOP_2(i_##name, int64_t, int64_t, ie)
#define BSM_B_kBits(name, fe, ie) \
  BSM_LOOP_2(i_##name, int64_t, int64_t, ie) BSM_LOOP_2(b_##name, int32_t, int32_t, (ie) & 1)
#define BSM_B_kLogical(name, fe, ie) BSM_LOOP_2(b_##name, int32_t, int32_t, (ie) & 1)
#define BSM_B_kCompare(name, fe, ie)         \
  BSM_LOOP_2(f_##name, float, int32_t, fe)   \
  BSM_LOOP_2(i_##name, int64_t, int32_t, ie) \
  BSM_LOOP_2(b_##name, int32_t, int32_t, ie)
#define BSM_T_kFloat(name, fe, ie) BSM_LOOP_3(f_##name, float, float, fe)
#define BSM_T_kNumeric(name, fe, ie) \
  BSM_LOOP_3(f_##name, float, float, fe) BSM_LOOP_3(i_##name, int64_t, int64_t, ie)
#define BSM_T_kSelect(name, fe, ie)          \
  BSM_LOOP_3(f_##name, int32_t, float, fe)   \
  BSM_LOOP_3(i_##name, int32_t, int64_t, ie) \
  BSM_LOOP_3(b_##name, int32_t, int32_t, ie)

#define BSM_UNARY(name, rule, fe, ie, doc, example) BSM_U_##rule(name, fe, ie)
#define BSM_BINARY(name, rule, fe, ie, doc, example) BSM_B_##rule(name, fe, ie)
#define BSM_TERNARY(name, rule, fe, ie, doc, example) BSM_T_##rule(name, fe, ie)
#include "op_table.def"

// By class of the data operands: float, int, bool.
struct Loops {
  Loop by_class[3];
};
#define BSM_R_kFloat(name) {{f_##name, nullptr, nullptr}},
#define BSM_R_kNumeric(name) {{f_##name, i_##name, nullptr}},
#define BSM_R_kBits(name) {{nullptr, i_##name, b_##name}},
#define BSM_R_kLogical(name) {{nullptr, nullptr, b_##name}},
#define BSM_R_kTest(name) {{f_##name, nullptr, nullptr}},
#define BSM_R_kCompare(name) {{f_##name, i_##name, b_##name}},
#define BSM_R_kSelect(name) {{f_##name, i_##name, b_##name}},
constexpr Loops kLoops[] = {
#define BSM_UNARY(name, rule, ...) BSM_R_##rule(name)
#define BSM_BINARY(name, rule, ...) BSM_R_##rule(name)
#define BSM_TERNARY(name, rule, ...) BSM_R_##rule(name)
#include "op_table.def"
};
static_assert(sizeof(kLoops) / sizeof(kLoops[0]) == abi::kElementwise_cast);

// The time of an instruction per element, in units of an addition's (about 0.13 ns in the cache).
#define BSM_C_kFloat 4
#define BSM_C_kNumeric 1
#define BSM_C_kBits 1
#define BSM_C_kLogical 1
#define BSM_C_kTest 1
#define BSM_C_kCompare 1
#define BSM_C_kSelect 1
constexpr uint8_t kCosts[] = {
#define BSM_UNARY(name, rule, ...) BSM_C_##rule,
#define BSM_BINARY(name, rule, ...) BSM_C_##rule,
#define BSM_TERNARY(name, rule, ...) BSM_C_##rule,
#include "op_table.def"
    1,  // cast
};

// The fast loops of sin, cos and tan reduce arguments below 2^20 only; a tile with a larger one
// takes the library's way, element by element.
template <float (*Complete)(float), Loop Fast>
void trigonometric(const void* px, const void* py, const void* pz, void* po, int64_t n) {
  const float* xs = static_cast<const float*>(px);
  int32_t large = 0;
  for (int64_t i = 0; i < n; ++i) large |= fabs(xs[i]) < 0x1p20f ? 0 : 1;
  if (large == 0) return Fast(px, py, pz, po, n);
  float* os = static_cast<float*>(po);
  for (int64_t i = 0; i < n; ++i) os[i] = Complete(xs[i]);
}

Loop find_loop(uint16_t op, Class c) {
  if (op == abi::kElementwise_sin) return trigonometric<sin_complete, f_sin>;
  if (op == abi::kElementwise_cos) return trigonometric<cos_complete, f_cos>;
  if (op == abi::kElementwise_tan) return trigonometric<tan_complete, f_tan>;
  return kLoops[op].by_class[c];
}

// ---- Conversions ----

void from_f16(const uint16_t* in, float* out, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(h));
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(h));
  }
#endif
  for (; i < n; ++i) out[i] = bsm_from_f16(in[i]);
}

void to_f16(const float* in, uint16_t* out, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const __m256i h =
        _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), h);
  }
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i h =
        _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), h);
  }
#endif
  for (; i < n; ++i) out[i] = bsm_to_f16(in[i]);
}

// Loads n elements, `stride` apart, from `base` into a register.
#define BSM_LOAD(loop, S, R, convert)                                 \
  void loop(const void* base, int64_t stride, void* reg, int64_t n) { \
    const S* in = static_cast<const S*>(base);                        \
    R* out = static_cast<R*>(reg);                                    \
    if (stride == 1) {                                                \
      BSM_IVDEP for (int64_t i = 0; i < n; ++i) {                     \
        const S v = in[i];                                            \
        out[i] = static_cast<R>(convert);                             \
      }                                                               \
    } else if (stride == 0) {                                         \
      const S v = in[0];                                              \
      const R r = static_cast<R>(convert);                            \
      for (int64_t i = 0; i < n; ++i) out[i] = r;                     \
    } else {                                                          \
      for (int64_t i = 0; i < n; ++i) {                               \
        const S v = in[i * stride];                                   \
        out[i] = static_cast<R>(convert);                             \
      }                                                               \
    }                                                                 \
  }
BSM_LOAD(load_f32, float, float, v)
BSM_LOAD(load_f16_any, uint16_t, float, bsm_from_f16(v))
BSM_LOAD(load_bf16, uint16_t, float, bsm_from_bf16(v))
BSM_LOAD(load_f64, double, double, v)
BSM_LOAD(load_i8, int8_t, int64_t, v)
BSM_LOAD(load_u8, uint8_t, int64_t, v)
BSM_LOAD(load_i16, int16_t, int64_t, v)
BSM_LOAD(load_i32, int32_t, int64_t, v)
BSM_LOAD(load_i64, int64_t, int64_t, v)
BSM_LOAD(load_u32, uint32_t, int64_t, v)
BSM_LOAD(load_bool, uint8_t, int32_t, (v != 0 ? 1 : 0))

void load_f16(const void* base, int64_t stride, void* reg, int64_t n) {
  if (stride != 1) return load_f16_any(base, stride, reg, n);
  from_f16(static_cast<const uint16_t*>(base), static_cast<float*>(reg), n);
}

using Load = void (*)(const void* base, int64_t stride, void* reg, int64_t n);
// By DType.
constexpr Load kLoads[] = {load_f32, load_f16, load_bf16, load_f64, load_i8,  load_u8,
                           load_i16, load_i32, load_i64,  load_u32, load_bool};

// Stores n elements of a register, rounding to the storage type; integers wrap.
#define BSM_STORE(loop, R, S, convert)                \
  void loop(const void* reg, void* base, int64_t n) { \
    const R* in = static_cast<const R*>(reg);         \
    S* out = static_cast<S*>(base);                   \
    BSM_IVDEP for (int64_t i = 0; i < n; ++i) {       \
      const R v = in[i];                              \
      out[i] = static_cast<S>(convert);               \
    }                                                 \
  }
BSM_STORE(store_f32, float, float, v)
BSM_STORE(store_bf16, float, uint16_t, bsm_to_bf16(v))
BSM_STORE(store_f64, double, double, v)
BSM_STORE(store_8, int64_t, uint8_t, v)
BSM_STORE(store_16, int64_t, uint16_t, v)
BSM_STORE(store_32, int64_t, uint32_t, v)
BSM_STORE(store_64, int64_t, int64_t, v)
BSM_STORE(store_bool, int32_t, uint8_t, v)
void store_f16(const void* reg, void* base, int64_t n) {
  to_f16(static_cast<const float*>(reg), static_cast<uint16_t*>(base), n);
}

using Store = void (*)(const void* reg, void* base, int64_t n);
constexpr Store kStores[] = {store_f32, store_f16, store_bf16, store_f64, store_8,   store_8,
                             store_16,  store_32,  store_64,   store_32,  store_bool};

// Brings a register to the values that its dtype holds.
using Narrow = void (*)(void* reg, int64_t n);
void narrow_f16(void* reg, int64_t n) {
  float* v = static_cast<float*>(reg);
  uint16_t half[kTile];
  to_f16(v, half, n);
  from_f16(half, v, n);
}
#define BSM_NARROW(loop, R, convert)       \
  void loop(void* reg, int64_t n) {        \
    R* values = static_cast<R*>(reg);      \
    for (int64_t i = 0; i < n; ++i) {      \
      const R v = values[i];               \
      values[i] = static_cast<R>(convert); \
    }                                      \
  }
BSM_NARROW(narrow_bf16, float, bsm_from_bf16(bsm_to_bf16(v)))
BSM_NARROW(narrow_i8, int64_t, static_cast<int8_t>(v))
BSM_NARROW(narrow_u8, int64_t, static_cast<uint8_t>(v))
BSM_NARROW(narrow_i16, int64_t, static_cast<int16_t>(v))
BSM_NARROW(narrow_i32, int64_t, static_cast<int32_t>(v))
BSM_NARROW(narrow_u32, int64_t, static_cast<uint32_t>(v))
constexpr Narrow kNarrows[] = {nullptr,   narrow_f16, narrow_bf16, nullptr,
                               narrow_i8, narrow_u8,  narrow_i16,  narrow_i32,
                               nullptr,   narrow_u32, nullptr};

// Casts between classes. What remains to do for the dtype is left to Narrow.
#define BSM_CAST(loop, S, R, convert) BSM_LOOP_1(loop, S, R, convert)
BSM_CAST(cast_float_bool, float, int32_t, (x != 0.0f))
BSM_CAST(cast_float_double, float, double, x)
BSM_CAST(cast_int_float, int64_t, float, x)
BSM_CAST(cast_int_float_odd, int64_t, float, bsm_to_float_odd(x))
BSM_CAST(cast_int_bool, int64_t, int32_t, (x != 0))
BSM_CAST(cast_int_double, int64_t, double, x)
BSM_CAST(cast_bool_float, int32_t, float, x)
BSM_CAST(cast_bool_int, int32_t, int64_t, x)
BSM_CAST(cast_bool_double, int32_t, double, x)
BSM_CAST(cast_double_float, double, float, x)
BSM_CAST(cast_double_float_odd, double, float, bsm_to_float_odd(x))
BSM_CAST(cast_double_bool, double, int32_t, (x != 0.0))
template <class S, int64_t kLow, int64_t kHigh>
BSM_CAST(cast_to_int, S, int64_t, bsm_to_int(static_cast<double>(x), kLow, kHigh))

template <class S>
Loop cast_to_int_of(DType to) {
  switch (to) {
    case DType::kI8:
      return cast_to_int<S, -128, 127>;
    case DType::kU8:
      return cast_to_int<S, 0, 255>;
    case DType::kI16:
      return cast_to_int<S, -32768, 32767>;
    case DType::kI32:
      return cast_to_int<S, INT32_MIN, INT32_MAX>;
    case DType::kU32:
      return cast_to_int<S, 0, UINT32_MAX>;
    default:
      return cast_to_int<S, INT64_MIN, INT64_MAX>;
  }
}

// nullptr: the register stays as it is.
Loop find_cast(Class from, uint8_t to_dtype) {
  const Class to = class_of(to_dtype);
  if (from == to) return nullptr;
  const bool to_16_bits = to_dtype == static_cast<uint8_t>(DType::kF16) ||
                          to_dtype == static_cast<uint8_t>(DType::kBF16);
  switch (from) {
    case kFloat:
      if (to == kInt) return cast_to_int_of<float>(static_cast<DType>(to_dtype));
      return to == kBool ? cast_float_bool : cast_float_double;
    case kInt:
      if (to == kFloat) return to_16_bits ? cast_int_float_odd : cast_int_float;
      return to == kBool ? cast_int_bool : cast_int_double;
    case kBool:
      return to == kFloat ? cast_bool_float : to == kInt ? cast_bool_int : cast_bool_double;
    case kDouble:
      if (to == kFloat) return to_16_bits ? cast_double_float_odd : cast_double_float;
      if (to == kInt) return cast_to_int_of<double>(static_cast<DType>(to_dtype));
      return cast_double_bool;
  }
  return nullptr;
}

// ---- The plan of a call: axes merged, registers assigned ----

enum class Mode : uint8_t {
  kUniform,  // one element for all: filled once
  kInPlace,  // contiguous and of the register's type: no load
  kStream,   // contiguous
  kWalk,     // by rows
};

struct Input {
  Mode mode;
  Load load;
  const std::byte* base;
  int64_t element_bytes;
  int64_t strides[abi::kElementwiseMaxRank];
};

struct Step {
  Loop loop;
  Narrow narrow;  // nullptr: nothing to do
  uint8_t sources[3];
  uint8_t value;
  uint8_t element_bytes;  // of the result's register
};

struct Output {
  Store store;
  std::byte* base;
  int64_t element_bytes;
  uint8_t value;
};

struct Plan {
  int rank = 0;
  int64_t dims[abi::kElementwiseMaxRank];
  int64_t total = 1;
  int64_t cost = 0;  // of an element
  int n_inputs = 0;
  int n_steps = 0;
  int n_stores = 0;
  int n_direct = 0;
  int n_registers = 0;
  Input inputs[abi::kElementwiseMaxInputs];
  Step steps[abi::kElementwiseMaxInstrs];
  Output stores[abi::kElementwiseMaxOutputs];  // copied out of registers at the end of a tile
  Output direct[abi::kElementwiseMaxOutputs];  // computed in the output itself
  int16_t register_of[kMaxValues];             // -1: in an operand
  uint8_t root[kMaxValues];                    // the value whose register this one is
};

bool register_type(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(DType::kF32) || dtype == static_cast<uint8_t>(DType::kI64) ||
         dtype == static_cast<uint8_t>(DType::kF64);
}

void merge_axes(const abi::ElementwiseParams& p, Plan& plan) {
  const int n = static_cast<int>(p.n_inputs);
  for (int axis = 0; axis < static_cast<int>(p.rank); ++axis) {
    const int64_t size = p.dims[axis];
    if (size <= 0) {
      plan.total = 0;
      return;
    }
    plan.total *= size;
    if (size == 1) continue;
    bool merges = plan.rank > 0;
    const int last = plan.rank - 1;
    for (int i = 0; merges && i < n; ++i) {
      merges = plan.inputs[i].strides[last] == p.strides[i][axis] * size;
    }
    if (!merges) ++plan.rank;
    const int at = plan.rank - 1;
    plan.dims[at] = merges ? plan.dims[at] * size : size;
    for (int i = 0; i < n; ++i) plan.inputs[i].strides[at] = p.strides[i][axis];
  }
}

void make_plan(const KernelCall& call, Plan& plan) {
  const auto& p = *static_cast<const abi::ElementwiseParams*>(call.params);
  plan.n_inputs = static_cast<int>(p.n_inputs);
  merge_axes(p, plan);
  if (plan.total == 0) return;

  const int n_values = static_cast<int>(p.n_inputs + p.n_instrs);
  Class classes[kMaxValues];
  for (int i = 0; i < plan.n_inputs; ++i) {
    Input& input = plan.inputs[i];
    classes[i] = class_of(p.input_dtype[i]);
    input.base = call.operands[i];
    input.load = kLoads[p.input_dtype[i]];
    input.element_bytes = bytes_of(static_cast<DType>(p.input_dtype[i]), 1);
    bool uniform = true;
    bool contiguous = true;
    int64_t stride = 1;
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      uniform = uniform && input.strides[axis] == 0;
      contiguous = contiguous && input.strides[axis] == stride;
      stride *= plan.dims[axis];
    }
    input.mode = uniform                           ? Mode::kUniform
                 : !contiguous                     ? Mode::kWalk
                 : register_type(p.input_dtype[i]) ? Mode::kInPlace
                                                   : Mode::kStream;
    plan.root[i] = static_cast<uint8_t>(i);
  }

  // Casts within a class change nothing in the register but what Narrow does, so that one that
  // need not narrow shares its source's register.
  int last_read[kMaxValues];  // by root: the last instruction that reads it
  for (int v = 0; v < n_values; ++v) last_read[v] = -1;
  bool read_later[kMaxValues] = {};
  for (int k = static_cast<int>(p.n_instrs) - 1; k >= 0; --k) {
    const int arity = p.program[k].op == abi::kElementwise_cast ? 1 : 3;
    for (int s = 0; s < arity; ++s) read_later[p.program[k].sources[s]] = true;
  }
  for (int k = 0; k < static_cast<int>(p.n_instrs); ++k) {
    const abi::ElementwiseInstr& instr = p.program[k];
    const int value = plan.n_inputs + k;
    classes[value] = class_of(instr.dtype);
    plan.root[value] = static_cast<uint8_t>(value);
    Step step{};
    step.value = static_cast<uint8_t>(value);
    step.element_bytes = classes[value] == kFloat || classes[value] == kBool ? 4 : 8;
    const bool is_cast = instr.op == abi::kElementwise_cast;
    step.loop = is_cast ? find_cast(class_of(instr.data_dtype), instr.dtype)
                        : find_loop(instr.op, class_of(instr.data_dtype));
    // A value that is only stored is rounded by the store.
    step.narrow = read_later[value] ? kNarrows[instr.dtype] : nullptr;
    for (int s = 0; s < 3; ++s) {
      step.sources[s] = plan.root[instr.sources[is_cast ? 0 : s]];
      last_read[step.sources[s]] = k;
    }
    if (step.loop == nullptr && step.narrow == nullptr) {
      plan.root[value] = step.sources[0];
      continue;
    }
    plan.steps[plan.n_steps++] = step;
    plan.cost += kCosts[instr.op];
  }

  // Outputs: computed in the operand itself where its type is the register's and no later reader
  // needs an input that shares the storage; the others are stored at the end of a tile, those that
  // are an input's own register first, before any store can change the input.
  const auto output_of = [&](int o) {
    const int value = p.output_value[o];
    const uint8_t dtype = p.program[value - plan.n_inputs].dtype;
    return Output{kStores[dtype], call.operands[plan.n_inputs + o],
                  bytes_of(static_cast<DType>(dtype), 1), plan.root[value]};
  };
  const int n_outputs = static_cast<int>(p.n_outputs);
  for (int o = 0; o < n_outputs; ++o) {
    const int root = plan.root[p.output_value[o]];
    if (root >= plan.n_inputs) continue;
    last_read[root] = static_cast<int>(p.n_instrs);
    plan.stores[plan.n_stores++] = output_of(o);
  }
  bool in_operand[kMaxValues] = {};
  for (int o = 0; o < n_outputs; ++o) {
    const int value = p.output_value[o];
    if (plan.root[value] < plan.n_inputs) continue;
    const Output output = output_of(o);
    bool direct = register_type(p.program[value - plan.n_inputs].dtype) &&
                  plan.root[value] == value && !in_operand[value];
    for (int i = 0; direct && i < plan.n_inputs; ++i) {
      const bool shares =
          plan.inputs[i].mode == Mode::kInPlace && plan.inputs[i].base == output.base;
      if (shares && last_read[i] > value - plan.n_inputs) direct = false;
    }
    if (direct) {
      in_operand[value] = true;
      plan.direct[plan.n_direct++] = output;
    } else {
      last_read[output.value] = static_cast<int>(p.n_instrs);
      plan.stores[plan.n_stores++] = output;
    }
  }

  // Registers by lifetime, so that few are live and all stay in the cache.
  int free_list[kMaxValues];
  int n_free = 0;
  const auto take = [&] { return n_free > 0 ? free_list[--n_free] : plan.n_registers++; };
  for (int v = 0; v < n_values; ++v) plan.register_of[v] = -1;
  for (int i = 0; i < plan.n_inputs; ++i) {
    if (plan.inputs[i].mode != Mode::kInPlace) plan.register_of[i] = static_cast<int16_t>(take());
  }
  for (int s = 0; s < plan.n_steps; ++s) {
    const Step& step = plan.steps[s];
    const int k = step.value - plan.n_inputs;
    if (!in_operand[step.value]) plan.register_of[step.value] = static_cast<int16_t>(take());
    for (int j = 0; j < 3; ++j) {
      const int v = step.sources[j];
      const bool repeated = (j > 0 && step.sources[0] == v) || (j > 1 && step.sources[1] == v);
      // A uniform input is filled once for all tiles and keeps its register.
      const bool keeps = v < plan.n_inputs && plan.inputs[v].mode == Mode::kUniform;
      if (!repeated && !keeps && plan.register_of[v] >= 0 && last_read[v] == k) {
        free_list[n_free++] = plan.register_of[v];
      }
    }
  }
}

// ---- Running ----

constexpr int64_t kRegisterBytes = kTile * 8 + 64;  // the 64 spread registers over cache sets

// Loads elements [begin, begin + n) of the iteration space, row by row.
void walk(const Plan& plan, const Input& input, int64_t begin, void* reg, int64_t n) {
  int64_t at[abi::kElementwiseMaxRank];
  int64_t offset = 0;
  int64_t rest = begin;
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    at[axis] = rest % plan.dims[axis];
    rest /= plan.dims[axis];
    offset += at[axis] * input.strides[axis];
  }
  const int inner = plan.rank - 1;
  const int64_t register_element = input.load == load_bool || input.load == load_f32 ||
                                           input.load == load_f16 || input.load == load_bf16
                                       ? 4
                                       : 8;
  auto* out = static_cast<std::byte*>(reg);
  int64_t done = 0;
  while (true) {
    const int64_t row = plan.dims[inner] - at[inner];
    const int64_t run = row < n - done ? row : n - done;
    input.load(input.base + offset * input.element_bytes, input.strides[inner],
               out + done * register_element, run);
    done += run;
    if (done == n) return;
    offset -= at[inner] * input.strides[inner];
    at[inner] = 0;
    for (int axis = inner - 1; axis >= 0; --axis) {
      offset += input.strides[axis];
      if (++at[axis] < plan.dims[axis]) break;
      offset -= at[axis] * input.strides[axis];
      at[axis] = 0;
    }
  }
}

void run_range(const Plan& plan, int64_t begin, int64_t end) {
  alignas(64) std::byte registers[kMaxValues * kRegisterBytes];
  std::byte* where[kMaxValues] = {};
  for (int v = 0; v < plan.n_inputs + abi::kElementwiseMaxInstrs && v < kMaxValues; ++v) {
    const int r = plan.register_of[v];
    if (r >= 0) where[v] = registers + r * kRegisterBytes;
  }
  const int64_t widest = end - begin < kTile ? end - begin : kTile;
  for (int i = 0; i < plan.n_inputs; ++i) {
    const Input& input = plan.inputs[i];
    if (input.mode == Mode::kUniform) input.load(input.base, 0, where[i], widest);
  }
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = end - at < kTile ? end - at : kTile;
    for (int i = 0; i < plan.n_inputs; ++i) {
      const Input& input = plan.inputs[i];
      switch (input.mode) {
        case Mode::kUniform:
          break;
        case Mode::kInPlace:
          // Only ever read: a value in an operand is written by its own step alone.
          where[i] = const_cast<std::byte*>(input.base + at * input.element_bytes);
          break;
        case Mode::kStream:
          input.load(input.base + at * input.element_bytes, 1, where[i], n);
          break;
        case Mode::kWalk:
          walk(plan, input, at, where[i], n);
          break;
      }
    }
    for (int o = 0; o < plan.n_direct; ++o) {
      const Output& output = plan.direct[o];
      where[output.value] = output.base + at * output.element_bytes;
    }
    for (int s = 0; s < plan.n_steps; ++s) {
      const Step& step = plan.steps[s];
      std::byte* out = where[step.value];
      if (step.loop != nullptr) {
        step.loop(where[step.sources[0]], where[step.sources[1]], where[step.sources[2]], out, n);
      } else {
        // A cast within the floats or within the integers.
        std::memcpy(out, where[step.sources[0]], static_cast<size_t>(n * step.element_bytes));
      }
      if (step.narrow != nullptr) step.narrow(out, n);
    }
    for (int o = 0; o < plan.n_stores; ++o) {
      const Output& output = plan.stores[o];
      output.store(where[output.value], output.base + at * output.element_bytes, n);
    }
  }
}

}  // namespace

void BSM_ELEMENTWISE(const KernelCall& call) {
  Plan plan;
  make_plan(call, plan);
  if (plan.total == 0) return;
  // About 20 microseconds of work a thread: what waking it costs, several times over.
  constexpr int64_t kCostPerWorker = 131072;
  const int64_t cost = plan.cost > 0 ? plan.cost : 1;
  int64_t workers = plan.total / (kCostPerWorker / cost > 0 ? kCostPerWorker / cost : 1);
  if (workers > call.threads) workers = call.threads;
  const int64_t tiles = (plan.total + kTile - 1) / kTile;
  if (workers > tiles) workers = tiles;
  if (workers <= 1) return run_range(plan, 0, plan.total);
  auto part = [&plan, tiles](int worker, int count) {
    const int64_t first = tiles * worker / count * kTile;
    const int64_t last = tiles * (worker + 1) / count * kTile;
    run_range(plan, first, last < plan.total ? last : plan.total);
  };
  call.pool.run(static_cast<int>(workers), part);
}

}  // namespace bessemer::cpu
