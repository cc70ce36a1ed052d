// copy: strided. It is bound by memory; the compiler's memcpy and plain loops reach its speed on
// every instruction set.
#include <algorithm>
#include <cstring>

#include "devices/cpu/kernels.h"
#include "devices/cpu/work_split.h"
#include "kernel_abi/copy_params.h"

namespace bessemer::cpu {
namespace {

constexpr int kMaxRank = abi::kCopyMaxRank;

// The copy with axes of one element dropped and axes merged that both sides step evenly over.
struct Shape {
  int rank = 0;
  int64_t dims[kMaxRank];
  int64_t src[kMaxRank];
  int64_t dst[kMaxRank];
  int64_t total = 1;
};

Shape simplify(const abi::CopyParams& p) {
  Shape s;
  for (uint32_t axis = 0; axis < p.rank; ++axis) {
    const int64_t n = p.dims[axis];
    if (n <= 0) {
      s.total = 0;
      return s;
    }
    s.total *= n;
    if (n == 1) continue;
    const int last = s.rank - 1;
    if (s.rank > 0 && s.src[last] == p.src_strides[axis] * n &&
        s.dst[last] == p.dst_strides[axis] * n) {
      s.dims[last] *= n;
    } else {
      s.dims[s.rank++] = n;
    }
    s.src[s.rank - 1] = p.src_strides[axis];
    s.dst[s.rank - 1] = p.dst_strides[axis];
  }
  return s;
}

// Positions along all axes but the last `inner` ones.
struct Walker {
  const Shape& s;
  int outer;
  int64_t at[kMaxRank] = {};
  int64_t src = 0;
  int64_t dst = 0;

  Walker(const Shape& shape, int inner, int64_t start) : s(shape), outer(shape.rank - inner) {
    for (int axis = outer - 1; axis >= 0; --axis) {
      at[axis] = start % s.dims[axis];
      start /= s.dims[axis];
      src += at[axis] * s.src[axis];
      dst += at[axis] * s.dst[axis];
    }
  }
  void next() {
    for (int axis = outer - 1; axis >= 0; --axis) {
      src += s.src[axis];
      dst += s.dst[axis];
      if (++at[axis] < s.dims[axis]) return;
      src -= s.dims[axis] * s.src[axis];
      dst -= s.dims[axis] * s.dst[axis];
      at[axis] = 0;
    }
  }
};

template <class T>
void copy_row(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t n) {
  if (dst_stride == 1 && src_stride == 0) {
    std::fill_n(dst, n, *src);
  } else if (dst_stride == 1 && src_stride == -1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

// dst[r * dst_row + c] = src[c * src_row + r]: a transpose, by blocks of a cache line in both
// directions. Four blocks in a row make runs that the prefetchers see on both sides.
template <class T>
void copy_transposed(const T* src, int64_t src_row, T* dst, int64_t dst_row, int64_t rows,
                     int64_t cols) {
  constexpr int64_t kBlock = 64 / sizeof(T) > 16 ? 16 : 64 / sizeof(T);
  constexpr int64_t kWide = 4 * kBlock;
  for (int64_t wide = 0; wide < cols; wide += kWide) {
    const int64_t wide_end = std::min(wide + kWide, cols);
    for (int64_t r = 0; r < rows; r += kBlock) {
      const int64_t rn = std::min(kBlock, rows - r);
      for (int64_t c = wide; c < wide_end; c += kBlock) {
        const int64_t cn = std::min(kBlock, wide_end - c);
        const T* from = src + c * src_row + r;
        T* to = dst + r * dst_row + c;
        if (cn == kBlock && rn == kBlock) {
          T block[kBlock * kBlock];
          for (int64_t i = 0; i < kBlock; ++i) {
            for (int64_t j = 0; j < kBlock; ++j) block[j * kBlock + i] = from[i * src_row + j];
          }
          for (int64_t j = 0; j < kBlock; ++j) {
            std::memcpy(to + j * dst_row, block + j * kBlock, kBlock * sizeof(T));
          }
        } else {
          for (int64_t j = 0; j < rn; ++j) {
            for (int64_t i = 0; i < cn; ++i) to[j * dst_row + i] = from[i * src_row + j];
          }
        }
      }
    }
  }
}

template <class T>
void copy_elements(const KernelCall& call, const Shape& s, const T* src, T* dst) {
  const auto bytes = static_cast<int64_t>(sizeof(T));
  const int last = s.rank - 1;
  if (s.rank == 0) {
    *dst = *src;
    return;
  }
  if (s.rank == 1 && s.src[0] == 1 && s.dst[0] == 1) {
    split_work(call, s.total, s.total * bytes, [&](int64_t begin, int64_t end) {
      std::memcpy(dst + begin, src + begin, static_cast<size_t>((end - begin) * bytes));
    });
    return;
  }
  if (s.rank == 1) {
    split_work(call, s.total, s.total * bytes, [&](int64_t begin, int64_t end) {
      copy_row(src + begin * s.src[0], s.src[0], dst + begin * s.dst[0], s.dst[0], end - begin);
    });
    return;
  }
  const int64_t inner = s.dims[last];
  const bool runs = s.src[last] == 1 && s.dst[last] == 1;
  const bool transposes = !runs && s.dst[last] == 1 && s.src[last - 1] == 1 && inner >= 4;
  if (transposes) {
    const int64_t rows = s.dims[last - 1];
    const int64_t planes = s.total / (inner * rows);
    // By planes and bands of rows.
    constexpr int64_t kBand = 64;
    const int64_t bands = (rows + kBand - 1) / kBand;
    split_work(call, planes * bands, s.total * bytes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Walker w(s, 2, i / bands);
        const int64_t r = i % bands * kBand;
        copy_transposed(src + w.src + r, s.src[last], dst + w.dst + r * s.dst[last - 1],
                        s.dst[last - 1], std::min(kBand, rows - r), inner);
      }
    });
    return;
  }
  split_work(call, s.total / inner, s.total * bytes, [&](int64_t begin, int64_t end) {
    Walker w(s, 1, begin);
    for (int64_t i = begin; i < end; ++i, w.next()) {
      if (runs) {
        std::memcpy(dst + w.dst, src + w.src, static_cast<size_t>(inner * bytes));
      } else {
        copy_row(src + w.src, s.src[last], dst + w.dst, s.dst[last], inner);
      }
    }
  });
}

template <class T>
void copy_as(const KernelCall& call, const abi::CopyParams& p, const Shape& s) {
  copy_elements(call, s, reinterpret_cast<const T*>(call.operands[0]) + p.src_offset,
                reinterpret_cast<T*>(call.operands[1]) + p.dst_offset);
}

}  // namespace

void copy(const KernelCall& call) {
  const auto& p = *static_cast<const abi::CopyParams*>(call.params);
  const Shape s = simplify(p);
  if (s.total == 0) return;
  switch (p.element_bytes) {
    case 1:
      return copy_as<uint8_t>(call, p, s);
    case 2:
      return copy_as<uint16_t>(call, p, s);
    case 4:
      return copy_as<uint32_t>(call, p, s);
    default:
      return copy_as<uint64_t>(call, p, s);
  }
}

}  // namespace bessemer::cpu
