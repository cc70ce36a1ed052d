#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "devices/cpu/kernel.h"
#include "kernel_abi/matmul_params.h"
#include "linear_case.h"

namespace bessemer::test {
namespace {

ThreadPool& pool() {
  static ThreadPool four(4);
  return four;
}

// An operand in memory with the strides that a graph may give it.
struct Operand {
  DType dtype = DType::kF32;
  std::vector<uint8_t> data;
  int64_t batch[4] = {};
  int64_t row = 0;
  int64_t col = 0;
  int64_t start = 0;  // element of index 0, where strides are negative
};

struct MatmulCase {
  int64_t m = 3;
  int64_t n = 5;
  int64_t k = 7;
  int64_t batch[4] = {1, 1, 1, 1};
  Operand a, b, out;
  std::vector<float> bias;
  std::vector<uint8_t> residual;
  bool has_bias = false;
  bool has_residual = false;
  abi::Activation activation = abi::kActNone;

  [[nodiscard]] abi::MatmulParams params() const {
    abi::MatmulParams p{};
    p.m = m;
    p.n = n;
    p.k = k;
    for (int i = 0; i < 4; ++i) {
      p.batch[i] = batch[i];
      p.a_batch[i] = a.batch[i];
      p.b_batch[i] = b.batch[i];
      p.out_batch[i] = out.batch[i];
    }
    p.a_row = a.row;
    p.a_col = a.col;
    p.b_row = b.row;
    p.b_col = b.col;
    p.out_row = out.row;
    p.a_dtype = static_cast<uint32_t>(a.dtype);
    p.b_dtype = static_cast<uint32_t>(b.dtype);
    p.out_dtype = static_cast<uint32_t>(out.dtype);
    p.has_bias = has_bias;
    p.activation = activation;
    p.has_residual = has_residual;
    return p;
  }

  [[nodiscard]] std::vector<uint8_t> run(cpu::Isa isa, int threads) const {
    const abi::MatmulParams p = params();
    std::vector<std::byte*> operands;
    const auto push = [&](const std::vector<uint8_t>& data, DType dtype, int64_t start) {
      const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
      operands.push_back(const_cast<std::byte*>(bytes) + bytes_of(dtype, start));
    };
    push(a.data, a.dtype, a.start);
    push(b.data, b.dtype, b.start);
    if (has_bias) {
      operands.push_back(reinterpret_cast<std::byte*>(const_cast<float*>(bias.data())));
    }
    if (has_residual) push(residual, out.dtype, 0);
    std::vector<uint8_t> result = out.data;
    push(result, out.dtype, 0);
    cpu::find_kernel("matmul")({&p, operands.data(), pool(), threads, isa});
    return result;
  }
};

void fill(Operand& operand, int64_t elements, std::mt19937& random) {
  std::normal_distribution<double> normal;
  operand.data.assign(static_cast<size_t>(bytes_of(operand.dtype, elements)), 0);
  for (int64_t i = 0; i < elements; ++i)
    put_element(operand.dtype, operand.data, i, normal(random));
}

// Lays an operand out: `order` picks row-major, transposed, gaps between the elements, or reversed
// rows; batch dims are packed, or broadcast where `broadcast` has their bit.
void lay_out(Operand& o, int order, int broadcast, int64_t rows, int64_t cols, const int64_t* batch,
             std::mt19937& random) {
  int64_t size = 0;
  if (order == 1) {
    o.row = 1;
    o.col = rows + 1;
    size = o.col * cols + rows;
  } else if (order == 2) {
    o.col = 3;
    o.row = 3 * cols + 2;
    size = o.row * (rows + 1);
  } else {
    o.col = 1;
    o.row = cols + (order == 3 ? 5 : 0);
    size = o.row * (rows + 1) + cols;
  }
  int64_t stride = size;
  for (int i = 3; i >= 0; --i) {
    o.batch[i] = (broadcast >> i) % 2 == 1 ? 0 : stride;
    if (o.batch[i] != 0) stride *= batch[i];
  }
  fill(o, stride, random);
  if (order == 3 && rows > 0) {
    o.start = o.row * (rows - 1);
    o.row = -o.row;
  }
}

MatmulCase make(int64_t m, int64_t n, int64_t k, std::mt19937& random, int a_order, int b_order,
                DType a, DType b, DType out) {
  MatmulCase c;
  c.m = m;
  c.n = n;
  c.k = k;
  for (int64_t& size : c.batch) size = static_cast<int64_t>(1 + random() % 3 / 2);
  c.a.dtype = a;
  c.b.dtype = b;
  c.out.dtype = out;
  lay_out(c.a, a_order, static_cast<int>(random() % 16), m, k, c.batch, random);
  lay_out(c.b, b_order, static_cast<int>(random() % 16), k, n, c.batch, random);
  // Some columns between the rows of out belong to others.
  c.out.row = n + static_cast<int64_t>(random() % 2 * 3);
  c.out.col = 1;
  int64_t stride = c.out.row * m + 1;
  for (int i = 3; i >= 0; --i) {
    c.out.batch[i] = stride;
    stride *= c.batch[i];
  }
  fill(c.out, stride, random);
  c.residual = c.out.data;
  c.bias.resize(static_cast<size_t>(n));
  for (float& f : c.bias) f = static_cast<float>(static_cast<int>(random() % 200) - 100) / 64;
  return c;
}

void check(const MatmulCase& c, cpu::Isa isa, const std::vector<uint8_t>& got) {
  const double ulp = c.out.dtype == DType::kF32 ? 1e-6 : c.out.dtype == DType::kF16 ? 1e-3 : 8e-3;
  std::vector<bool> written(c.out.data.size() / static_cast<size_t>(bytes_of(c.out.dtype, 1)));
  int failures = 0;
  for (int64_t e = 0; e < c.batch[0] * c.batch[1] * c.batch[2] * c.batch[3] * c.m * c.n; ++e) {
    const int64_t j = e % c.n;
    const int64_t i = e / c.n % c.m;
    int64_t rest = e / c.n / c.m;
    int64_t at_a = c.a.start + i * c.a.row;
    int64_t at_b = c.b.start + j * c.b.col;
    int64_t at = i * c.out.row + j;
    for (int d = 3; d >= 0; --d) {
      at_a += rest % c.batch[d] * c.a.batch[d];
      at_b += rest % c.batch[d] * c.b.batch[d];
      at += rest % c.batch[d] * c.out.batch[d];
      rest /= c.batch[d];
    }
    double total = c.has_bias ? c.bias[static_cast<size_t>(j)] : 0.0;
    double size = std::fabs(total);
    for (int64_t l = 0; l < c.k; ++l) {
      const double term = element(c.a.dtype, c.a.data, at_a + l * c.a.col) *
                          element(c.b.dtype, c.b.data, at_b + l * c.b.row);
      total += term;
      size += std::fabs(term);
    }
    if (c.activation == abi::kActSilu) total = total / (1 + std::exp(-total));
    if (c.has_residual) total += element(c.out.dtype, c.residual, at);
    const double value = element(c.out.dtype, got, at);
    written[static_cast<size_t>(at)] = true;
    if (!(std::fabs(value - total) <= 4e-6 * size + ulp * std::fabs(total) + 1e-6) &&
        ++failures <= 3) {
      ADD_FAILURE() << cpu::to_string(isa) << " m=" << c.m << " n=" << c.n << " k=" << c.k
                    << " a=" << to_string(c.a.dtype) << "/" << c.a.row << "," << c.a.col
                    << " b=" << to_string(c.b.dtype) << "/" << c.b.row << "," << c.b.col
                    << " element " << e << " is " << value << ", not " << total;
    }
  }
  for (size_t i = 0; i < written.size(); ++i) {
    if (!written[i]) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_EQ(element(c.out.dtype, got, at), element(c.out.dtype, c.out.data, at))
          << "element " << i << " is not of the result";
    }
  }
}

TEST(Matmul, any_strides_dtypes_and_batches_give_the_reference_answer) {
  std::mt19937 random(5);
  constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
  constexpr int64_t kSizes[] = {1, 2, 3, 5, 9, 16, 33, 70};
  for (int i = 0; i < 400; ++i) {
    MatmulCase c =
        make(kSizes[random() % 8], kSizes[random() % 8] + (i % 5 == 0 ? 130 : 0),
             kSizes[random() % 8] + (i % 7 == 0 ? 512 : 0), random, static_cast<int>(random() % 4),
             static_cast<int>(random() % 4), kFloats[i % 2 == 0 ? 0 : random() % 3],
             kFloats[i % 3 == 0 ? 0 : random() % 3], kFloats[random() % 3]);
    c.has_bias = random() % 2 == 0;
    c.has_residual = random() % 2 == 0;
    c.activation = random() % 2 == 0 ? abi::kActSilu : abi::kActNone;
    for (const cpu::Isa isa : available_isas()) check(c, isa, c.run(isa, 3));
  }
}

TEST(Matmul, a_row_has_the_same_bits_in_every_batch_and_for_any_number_of_threads) {
  std::mt19937 random(6);
  for (int b_order = 0; b_order < 3; ++b_order) {
    for (const cpu::Isa isa : available_isas()) {
      const MatmulCase all =
          make(77, 150, 600, random, 0, b_order, DType::kF32, DType::kF16, DType::kF32);
      const std::vector<uint8_t> batch = all.run(isa, 4);
      EXPECT_EQ(batch, all.run(isa, 1));
      for (const int64_t m : {1, 2, 3, 4, 5, 8, 9}) {
        MatmulCase part = all;
        part.m = m;
        part.a.start += (77 - m) * part.a.row;
        const std::vector<uint8_t> some = part.run(isa, 2);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < 150; ++j) {
            ASSERT_EQ(element(DType::kF32, some, i * part.out.row + j),
                      element(DType::kF32, batch, (77 - m + i) * all.out.row + j))
                << cpu::to_string(isa) << " m=" << m << " row " << i;
          }
        }
      }
    }
  }
}

TEST(Matmul, empty_sizes_are_no_work_and_an_empty_sum_is_the_bias) {
  std::mt19937 random(7);
  for (const cpu::Isa isa : available_isas()) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{0, 4, 5}, {4, 0, 5}, {4, 5, 0}, {1, 1, 1}}) {
      MatmulCase c = make(m, n, k, random, 0, 0, DType::kF32, DType::kF32, DType::kF32);
      c.has_bias = true;
      check(c, isa, c.run(isa, 2));
    }
  }
}

TEST(Matmul, nan_and_infinity_are_not_skipped) {
  std::mt19937 random(8);
  for (const cpu::Isa isa : available_isas()) {
    for (const int64_t m : {1, 6}) {
      MatmulCase c = make(m, 9, 20, random, 0, 0, DType::kF32, DType::kF32, DType::kF32);
      for (int64_t& size : c.batch) size = 1;
      for (int64_t l = 0; l < 20; ++l) put_element(DType::kF32, c.a.data, l, 0.0);
      put_element(DType::kF32, c.b.data, 3 * c.b.row + 4, INFINITY);
      const std::vector<uint8_t> got = c.run(isa, 1);
      EXPECT_TRUE(std::isnan(element(DType::kF32, got, 4)));  // 0 * infinity
      EXPECT_EQ(element(DType::kF32, got, 5), 0.0);
    }
  }
}

}  // namespace
}  // namespace bessemer::test
