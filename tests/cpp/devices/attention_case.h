// One attention op with its data, its run through lowering and kernels, and the answer in double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "float_data.h"

namespace bessemer::testing {

struct AttentionCase {
  int64_t heads = 2;
  int64_t kv_heads = 1;
  int64_t head_dim = 16;
  int64_t v_head_dim = 16;
  int64_t sequences = 1;  // 0: flat, with `keys` rows
  int64_t keys = 40;      // of one sequence, or in all
  DType q_dtype = DType::kF32;
  DType k_dtype = DType::kF32;
  DType v_dtype = DType::kF32;
  bool causal = true;
  int64_t window = 0;
  double softcap = 0;
  double scale = 0;
  bool mask = false;
  int64_t bias_heads = 0;             // 0: no bias
  std::vector<int32_t> seq, pos;      // one a token
  std::vector<int32_t> k_seq, k_pos;  // one a key, flat

  // Values, as stored; set by fill().
  std::vector<double> q, k, v, bias;
  std::vector<uint8_t> mask_values;

  void fill(uint32_t seed);
  [[nodiscard]] int64_t tokens() const { return static_cast<int64_t>(seq.size()); }

  // The same case with only these tokens, in this order.
  [[nodiscard]] AttentionCase with_tokens(const std::vector<size_t>& which) const;

  // [tokens, heads, v_head_dim] of q_dtype. fault: what the kernel reported.
  [[nodiscard]] Bytes run(cpu::Isa isa, int threads, uint32_t* fault = nullptr) const;

  [[nodiscard]] bool sees(int64_t token, int64_t key) const;
  [[nodiscard]] std::vector<double> expected() const;
};

// Tells the first difference.
[[nodiscard]] std::optional<std::string> compare(const AttentionCase& c, const Bytes& got);

}  // namespace bessemer::testing
