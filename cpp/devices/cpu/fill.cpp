// Kernels that arrange elements or make them: concat, pad, tri, iota.
#include <algorithm>
#include <cstring>

#include "base/dtype.h"
#include "base/half.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/work_split.h"
#include "kernel_abi/copy_params.h"

namespace bessemer::cpu {
namespace {

void copy_run(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

template <class T>
void pad_as(const KernelCall& call, const abi::PadParams& p) {
  const auto* in = reinterpret_cast<const T*>(call.operands[0]);
  auto* out = reinterpret_cast<T*>(call.operands[1]);
  T value;
  std::memcpy(&value, &p.value, sizeof(T));
  const int rank = static_cast<int>(p.rank);
  if (rank == 0) {
    *out = *in;
    return;
  }
  const int64_t width = p.out_dims[rank - 1];
  const int64_t in_width = p.in_dims[rank - 1];
  const int64_t left = p.before[rank - 1];
  int64_t rows = 1;
  for (int axis = 0; axis < rank - 1; ++axis) rows *= p.out_dims[axis];
  split_work(
      call, rows, rows * width * static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          // The row of x that this one shows, if any.
          int64_t rest = row;
          int64_t source = 0;
          int64_t stride = 1;
          bool inside = true;
          for (int axis = rank - 2; axis >= 0; --axis) {
            const int64_t at = rest % p.out_dims[axis] - p.before[axis];
            rest /= p.out_dims[axis];
            inside = inside && at >= 0 && at < p.in_dims[axis];
            source += at * stride;
            stride *= p.in_dims[axis];
          }
          T* to = out + row * width;
          if (!inside || in_width == 0) {
            std::fill_n(to, width, value);
            continue;
          }
          std::fill_n(to, left, value);
          std::memcpy(to + left, in + source * in_width, static_cast<size_t>(in_width) * sizeof(T));
          std::fill_n(to + left + in_width, width - left - in_width, value);
        }
      });
}

template <class T>
void tri_as(const KernelCall& call, const abi::TriParams& p) {
  const auto* in = reinterpret_cast<const T*>(call.operands[0]);
  auto* out = reinterpret_cast<T*>(call.operands[1]);
  const int64_t rows = p.batch * p.rows;
  split_work(call, rows, rows * p.cols * static_cast<int64_t>(sizeof(T)),
             [&](int64_t begin, int64_t end) {
               for (int64_t row = begin; row < end; ++row) {
                 // The lower part keeps columns [0, r + k + 1), the upper one [r + k, cols).
                 const int64_t edge = row % p.rows + (p.upper != 0 ? p.k : p.k + 1);
                 const int64_t cut = std::clamp<int64_t>(edge, 0, p.cols);
                 const int64_t keep = p.upper != 0 ? cut : 0;
                 const int64_t kept = p.upper != 0 ? p.cols - cut : cut;
                 const T* from = in + row * p.cols;
                 T* to = out + row * p.cols;
                 if (from != to) {
                   std::memcpy(to + keep, from + keep, static_cast<size_t>(kept) * sizeof(T));
                 }
                 std::fill_n(p.upper != 0 ? to : to + cut, p.cols - kept, T{0});
               }
             });
}

template <class T, class Convert>
void iota_as(const KernelCall& call, const abi::IotaParams& p, Convert convert) {
  auto* out = reinterpret_cast<T*>(call.operands[0]);
  const int64_t runs = p.outer * p.count;
  split_work(call, runs, runs * p.inner * static_cast<int64_t>(sizeof(T)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 std::fill_n(out + i * p.inner, p.inner, static_cast<T>(convert(i % p.count)));
               }
             });
}

}  // namespace

void concat(const KernelCall& call) {
  const auto& p = *static_cast<const abi::ConcatParams*>(call.params);
  std::byte* out = call.operands[p.n_inputs] + p.column;
  int64_t row_bytes = 0;
  for (uint32_t i = 0; i < p.n_inputs; ++i) row_bytes += p.row_bytes[i];
  if (p.outer == 1) {
    // One row: each input is one run, to be split itself.
    for (uint32_t i = 0; i < p.n_inputs; ++i) {
      const std::byte* from = call.operands[i];
      split_work(call, p.row_bytes[i], p.row_bytes[i], [&](int64_t begin, int64_t end) {
        copy_run(out + begin, from + begin, end - begin);
      });
      out += p.row_bytes[i];
    }
    return;
  }
  split_work(call, p.outer, p.outer * row_bytes, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = out + row * p.out_row_bytes;
      for (uint32_t i = 0; i < p.n_inputs; ++i) {
        copy_run(to, call.operands[i] + row * p.row_bytes[i], p.row_bytes[i]);
        to += p.row_bytes[i];
      }
    }
  });
}

void pad(const KernelCall& call) {
  const auto& p = *static_cast<const abi::PadParams*>(call.params);
  switch (p.element_bytes) {
    case 1:
      return pad_as<uint8_t>(call, p);
    case 2:
      return pad_as<uint16_t>(call, p);
    case 4:
      return pad_as<uint32_t>(call, p);
    default:
      return pad_as<uint64_t>(call, p);
  }
}

void tri(const KernelCall& call) {
  const auto& p = *static_cast<const abi::TriParams*>(call.params);
  switch (p.element_bytes) {
    case 1:
      return tri_as<uint8_t>(call, p);
    case 2:
      return tri_as<uint16_t>(call, p);
    case 4:
      return tri_as<uint32_t>(call, p);
    default:
      return tri_as<uint64_t>(call, p);
  }
}

void iota(const KernelCall& call) {
  const auto& p = *static_cast<const abi::IotaParams*>(call.params);
  const auto same = [](int64_t i) { return i; };
  switch (static_cast<DType>(p.dtype)) {
    case DType::kF32:
      return iota_as<float>(call, p, same);
    case DType::kF64:
      return iota_as<double>(call, p, same);
    case DType::kF16:
      return iota_as<uint16_t>(call, p,
                               [](int64_t i) { return f32_to_f16(static_cast<float>(i)); });
    case DType::kBF16:
      return iota_as<uint16_t>(call, p,
                               [](int64_t i) { return f32_to_bf16(static_cast<float>(i)); });
    case DType::kI8:
    case DType::kU8:
      return iota_as<uint8_t>(call, p, same);
    case DType::kI16:
      return iota_as<uint16_t>(call, p, same);
    case DType::kI32:
    case DType::kU32:
      return iota_as<uint32_t>(call, p, same);
    default:
      return iota_as<int64_t>(call, p, same);
  }
}

}  // namespace bessemer::cpu
