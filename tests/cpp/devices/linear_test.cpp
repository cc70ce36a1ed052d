#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "devices/cpu/quant/dequantize.h"
#include "gguf_reference.h"
#include "linear_case.h"

namespace bessemer::test {
namespace {

constexpr DType kWeightTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                                  DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                  DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

ThreadPool& pool() {
  static ThreadPool four(4);
  return four;
}

TEST(Dequantize, gives_the_value_that_the_format_defines_bit_for_bit) {
  std::mt19937 random(3);
  for (const DType dtype : kWeightTypes) {
    const int64_t k = 3 * 256;
    const std::vector<uint8_t> row = random_row(dtype, k, random);
    std::vector<float> got(static_cast<size_t>(k));
    cpu::dequantize_row(dtype, reinterpret_cast<const std::byte*>(row.data()), got.data(), k);
    for (int64_t i = 0; i < k; ++i) {
      ASSERT_EQ(got[static_cast<size_t>(i)], static_cast<float>(weight_at(dtype, row.data(), i)))
          << to_string(dtype) << " element " << i;
    }
  }
}

TEST(Linear, every_weight_type_variant_mode_and_size_gives_the_reference_answer) {
  for (const DType dtype : kWeightTypes) {
    const int64_t block = info(dtype).block_elements;
    // One block, an odd number of them, and past a chunk of k.
    std::vector<int64_t> ks = {block, 3 * block, 1024 + (block > 32 ? 256 : 5 * block)};
    if (!is_quantised(dtype)) ks = {1, 37, 1029};
    for (const int64_t k : ks) {
      for (const int64_t m : {1, 2, 3, 4, 5, 8, 17, 64}) {
        for (const bool int8 : {false, true}) {
          LinearCase c;
          c.weights = {dtype};
          c.k = k;
          c.m = m;
          c.n = {m == 64 ? 70 : 37};
          c.int8 = int8;
          c.seed = static_cast<uint32_t>(k * 100 + m);
          c.fill();
          for (const cpu::Isa isa : available_isas()) expect_answers(c, isa, c.run(isa, pool(), 3));
        }
      }
    }
  }
}

TEST(Linear, everything_around_the_product_is_folded_in) {
  const abi::Norm norms[] = {abi::kNormNone, abi::kNormRms, abi::kNormLayer};
  const DType floats[] = {DType::kF32, DType::kF16, DType::kBF16};
  std::mt19937 random(11);
  for (int i = 0; i < 240; ++i) {
    LinearCase c;
    c.m = std::vector<int64_t>{1, 2, 6, 19}[random() % 4];
    c.norm = norms[random() % 3];
    c.norm_bias = c.norm != abi::kNormNone && random() % 2 == 0;
    c.bias = random() % 2 == 0;
    c.activation = static_cast<abi::Activation>(random() % 7);
    c.x_dtype = floats[random() % 3];
    c.out_dtype = floats[random() % 3];
    c.int8 = random() % 2 == 0;
    c.k = 256 * (1 + random() % 2);
    c.seed = random();
    const size_t weights = 1 + random() % 4;
    c.n.clear();
    c.weights.clear();
    for (size_t j = 0; j < weights; ++j) {
      c.n.push_back(static_cast<int64_t>(1 + random() % 50));
      c.weights.push_back(kWeightTypes[random() % 11]);
    }
    if (weights == 2 && random() % 2 == 0) {
      c.gated = true;
      c.n[1] = c.n[0];
    }
    c.residual = c.outputs() == 1 && random() % 2 == 0;
    c.fill();
    for (const cpu::Isa isa : available_isas()) expect_answers(c, isa, c.run(isa, pool(), 2));
  }
}

TEST(Linear, empty_sizes_are_no_work_and_an_empty_sum_is_the_bias) {
  for (const cpu::Isa isa : available_isas()) {
    for (const bool int8 : {false, true}) {
      LinearCase c;
      c.int8 = int8;
      c.bias = true;
      c.m = 0;
      c.fill();
      EXPECT_TRUE(c.run(isa, pool(), 2)[0].empty());
      c.m = 3;
      c.n = {0};
      c.fill();
      EXPECT_TRUE(c.run(isa, pool(), 2)[0].empty());
      c.n = {5};
      c.k = 0;
      c.fill();
      expect_answers(c, isa, c.run(isa, pool(), 2));
      c.m = 8;
      c.fill();
      expect_answers(c, isa, c.run(isa, pool(), 2));
    }
  }
}

// The bits of row `r` of output `i`.
std::vector<uint8_t> row_bits(const LinearCase& c, const std::vector<std::vector<uint8_t>>& out,
                              size_t i, int64_t r) {
  const int64_t bytes = bytes_of(c.out_dtype, c.n[i]);
  return {out[i].begin() + r * bytes, out[i].begin() + (r + 1) * bytes};
}

TEST(Linear, a_row_has_the_same_bits_in_every_batch) {
  for (const DType dtype : kWeightTypes) {
    for (const bool int8 : {false, true}) {
      for (const cpu::Isa isa : available_isas()) {
        LinearCase all;
        all.m = 150;
        all.k = 1280;
        all.n = {45, 19};
        all.weights = {dtype, dtype};
        all.norm = abi::kNormRms;
        all.activation = abi::kActSilu;
        all.int8 = int8;
        all.fill();
        const auto batch = all.run(isa, pool(), 4);
        for (const int64_t m : {1, 2, 3, 4, 5, 7, 12, 33}) {
          LinearCase part = all;
          const int64_t from = 150 - m;
          part.m = m;
          part.x.erase(part.x.begin(), part.x.begin() + bytes_of(all.x_dtype, from * all.k));
          const auto some = part.run(isa, pool(), 1);
          for (int64_t r = 0; r < m; ++r) {
            for (size_t i = 0; i < 2; ++i) {
              ASSERT_EQ(row_bits(part, some, i, r), row_bits(all, batch, i, from + r))
                  << part.name() << " " << cpu::to_string(isa) << " row " << r;
            }
          }
        }
      }
    }
  }
}

TEST(Linear, the_number_of_threads_does_not_change_a_bit) {
  for (const cpu::Isa isa : available_isas()) {
    for (const int64_t m : {1, 3, 9, 100}) {
      LinearCase c;
      c.m = m;
      c.k = 512;
      c.n = {130, 130};
      c.weights = {DType::kQ4_K, DType::kQ6_K};
      c.gated = true;
      c.activation = abi::kActGeluTanh;
      c.norm = abi::kNormLayer;
      for (const bool int8 : {false, true}) {
        c.int8 = int8;
        c.fill();
        const auto one = c.run(isa, pool(), 1);
        for (const int threads : {2, 3, 4, 9}) {
          EXPECT_EQ(one, c.run(isa, pool(), threads)) << c.name();
        }
      }
    }
  }
}

TEST(Linear, values_that_are_not_finite_reach_their_row_and_no_other) {
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY)}) {
    for (const DType dtype : kWeightTypes) {
      for (const int64_t m : {3, 9}) {
        for (const bool int8 : {false, true}) {
          for (const cpu::Isa isa : available_isas()) {
            LinearCase c;
            c.m = m;
            c.k = 512;
            c.weights = {dtype};
            c.int8 = int8;
            c.fill();
            const auto before = c.run(isa, pool(), 2);
            put_element(c.x_dtype, c.x, 1 * c.k + 300, bad);
            // A weight of zero hides nothing: 0 * NaN and 0 * infinity are NaN.
            if (dtype == DType::kF32) put_element(dtype, c.w[0], 2 * c.k + 300, 0.0);
            const auto after = c.run(isa, pool(), 2);
            for (int64_t r = 0; r < m; ++r) {
              for (int64_t j = 0; j < c.n[0]; ++j) {
                const double value = element(c.out_dtype, after[0], r * c.n[0] + j);
                if (r == 1) {
                  EXPECT_FALSE(std::isfinite(value)) << c.name() << " column " << j;
                } else if (j != 2 || dtype != DType::kF32) {
                  EXPECT_EQ(value, element(c.out_dtype, before[0], r * c.n[0] + j));
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Linear, tiny_and_huge_rows_do_not_break_the_quantisation) {
  for (const cpu::Isa isa : available_isas()) {
    for (const double size : {0.0, 1e-45, 1e-38, 1e-30, 1e30}) {
      LinearCase c;
      c.int8 = true;
      c.weights = {DType::kQ8_0};
      c.m = 2;
      c.fill();
      for (int64_t i = 0; i < c.m * c.k; ++i) {
        put_element(c.x_dtype, c.x, i, element(c.x_dtype, c.x, i) * size);
      }
      const auto out = c.run(isa, pool(), 1);
      for (int64_t i = 0; i < c.m * c.n[0]; ++i) {
        EXPECT_LE(std::fabs(element(c.out_dtype, out[0], i)), 1000 * size + 1e-30);
      }
    }
  }
}

}  // namespace
}  // namespace bessemer::test
