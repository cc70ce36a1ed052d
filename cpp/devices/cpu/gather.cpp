// gather and embedding: rows by index. Bound by memory; portable code.
#include <algorithm>
#include <cstring>

#include "base/dtype.h"
#include "base/half.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/quant/dequantize.h"
#include "devices/cpu/work_split.h"
#include "kernel_abi/gather_params.h"

namespace bessemer::cpu {
namespace {

template <class T>
int64_t index_as(const std::byte* base, int64_t i) {
  T v;
  std::memcpy(&v, base + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<int64_t>(v);
}

int64_t read_index(DType dtype, const std::byte* base, int64_t i) {
  switch (dtype) {
    case DType::kI8:
      return index_as<int8_t>(base, i);
    case DType::kU8:
      return index_as<uint8_t>(base, i);
    case DType::kI16:
      return index_as<int16_t>(base, i);
    case DType::kI32:
      return index_as<int32_t>(base, i);
    case DType::kU32:
      return index_as<uint32_t>(base, i);
    default:
      return index_as<int64_t>(base, i);
  }
}

// The row that index i names, or -1 and a fault.
int64_t row_of(const KernelCall& call, DType dtype, const std::byte* indices, int64_t i,
               int64_t size) {
  const int64_t index = read_index(dtype, indices, i);
  const int64_t row = index < 0 ? index + size : index;
  if (row >= 0 && row < size) return row;
  call.report(kIndexOutOfRange);
  return -1;
}

}  // namespace

void gather(const KernelCall& call) {
  const auto& p = *static_cast<const abi::GatherParams*>(call.params);
  const std::byte* x = call.operands[0];
  const std::byte* indices = call.operands[1];
  std::byte* out = call.operands[2];
  const auto dtype = static_cast<DType>(p.index_dtype);
  if (p.outer <= 0 || p.indices <= 0) return;
  const int64_t rows = p.outer * p.indices;
  const auto bytes = static_cast<size_t>(p.row_bytes);
  split_work(call, rows, rows * p.row_bytes, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t from = row_of(call, dtype, indices, r % p.indices, p.size);
      std::byte* to = out + r * p.row_bytes;
      if (from < 0) {
        std::memset(to, 0, bytes);
      } else {
        std::memcpy(to, x + (r / p.indices * p.size + from) * p.row_bytes, bytes);
      }
    }
  });
}

void embedding(const KernelCall& call) {
  const auto& p = *static_cast<const abi::EmbeddingParams*>(call.params);
  const std::byte* table = call.operands[0];
  const std::byte* ids = call.operands[1];
  std::byte* out = call.operands[2];
  const auto table_dtype = static_cast<DType>(p.table_dtype);
  const auto out_dtype = static_cast<DType>(p.out_dtype);
  const auto id_dtype = static_cast<DType>(p.id_dtype);
  const int64_t row_bytes = bytes_of(table_dtype, p.width);
  const int64_t out_row_bytes = bytes_of(out_dtype, p.width);
  // A piece at a time through f32: whole blocks of every format.
  constexpr int64_t kPiece = 512;
  const int64_t piece_bytes = bytes_of(table_dtype, kPiece);
  split_work(call, p.ids, p.ids * out_row_bytes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = row_of(call, id_dtype, ids, i, p.rows);
      std::byte* to = out + i * out_row_bytes;
      if (row < 0) {
        std::memset(to, 0, static_cast<size_t>(out_row_bytes));
        continue;
      }
      const std::byte* from = table + row * row_bytes;
      if (table_dtype == out_dtype) {
        std::memcpy(to, from, static_cast<size_t>(row_bytes));
        continue;
      }
      if (out_dtype == DType::kF32) {
        dequantize_row(table_dtype, from, reinterpret_cast<float*>(to), p.width);
        continue;
      }
      auto* half = reinterpret_cast<uint16_t*>(to);
      for (int64_t at = 0; at < p.width; at += kPiece, from += piece_bytes) {
        const int64_t n = std::min(kPiece, p.width - at);
        float values[kPiece];
        dequantize_row(table_dtype, from, values, n);
        for (int64_t j = 0; j < n; ++j) {
          half[at + j] = out_dtype == DType::kF16 ? f32_to_f16(values[j]) : f32_to_bf16(values[j]);
        }
      }
    }
  });
}

}  // namespace bessemer::cpu
