// Whole layers of the model graphs: how many nodes compute something after all passes, and which.
#include <gtest/gtest.h>

#include "ops/op_impl.h"
#include "passes/graph_text.h"
#include "passes/pipeline.h"

namespace bessemer {
namespace {

using testing::graph_of;
using testing::plain;
using testing::text_of;

std::string all_passes(std::string_view text) {
  std::vector<passes::PassReport> reports;
  const Result<Graph> result = passes::run_passes(graph_of(text), {}, &reports);
  if (!result.ok()) return result.error().to_string();
  return text_of(*result);
}

// A llama layer as the decoder builds it: grouped heads, separate projections, SwiGLU.
TEST(LayerTest, LlamaIsSixNodes) {
  EXPECT_EQ(all_passes(R"(
    extent tokens <= 16
    %0 = input "x" : f32[tokens, 64]
    %1 = input "seq" : i32[tokens]
    %2 = input "pos" : i32[tokens]
    %3 = param "attn_norm" : f32[64]
    %4 = param "wq" : q4_1[64, 64]
    %5 = param "wk" : q4_1[32, 64]
    %6 = param "wv" : q8_0[32, 64]
    %7 = param "wo" : q4_1[64, 64]
    %8 = param "ffn_norm" : f32[64]
    %9 = param "gate" : q4_1[128, 64]
    %10 = param "up" : q4_1[128, 64]
    %11 = param "down" : q4_1[64, 128]
    %12 = state "k0" : f16[2, 32, 2, 16]
    %13 = state "v0" : f16[2, 32, 2, 16]
    %14 = param "unused" : f32[3]
    %15 = rms_norm(%0, %3) {epsilon = 1e-05, has_weight = true}
    %16 = matmul(%15, %4) {transpose_b = true}
    %17 = matmul(%15, %5) {transpose_b = true}
    %18 = matmul(%15, %6) {transpose_b = true}
    %19 = reshape(%16) {shape = [tokens, 4, 16]}
    %20 = reshape(%17) {shape = [tokens, 2, 16]}
    %21 = reshape(%18) {shape = [tokens, 2, 16]}
    %22 = rope(%19, %2) {base = 10000.0, interleaved = true, n_rot = 16, scale = 1.0}
    %23 = rope(%20, %2) {base = 10000.0, interleaved = true, n_rot = 16, scale = 1.0}
    %24 = scatter_rows(%12, %23, %1, %2)
    %25 = scatter_rows(%13, %21, %1, %2)
    %26 = attention(%22, %24, %25, %1, %2) {causal = true, scale = 0.25}
    %27 = reshape(%26) {shape = [tokens, 64]}
    %28 = matmul(%27, %7) {transpose_b = true}
    %29 = add(%0, %28)
    %30 = rms_norm(%29, %8) {epsilon = 1e-05, has_weight = true}
    %31 = matmul(%30, %9) {transpose_b = true}
    %32 = matmul(%30, %10) {transpose_b = true}
    %33 = silu(%31)
    %34 = multiply(%33, %32)
    %35 = matmul(%34, %11) {transpose_b = true}
    %36 = add(%29, %35)
    output "y" = %36
    update "k0" = %24
    update "v0" = %25
  )"),
            plain(R"(
    extent tokens <= 16
    %0 = input "x" : f32[tokens, 64]
    %1 = input "seq" : i32[tokens]
    %2 = input "pos" : i32[tokens]
    %3 = param "attn_norm" : f32[64]
    %4 = param "wq" : q4_1[64, 64]
    %5 = param "wk" : q4_1[32, 64]
    %6 = param "wv" : q8_0[32, 64]
    %7 = param "wo" : q4_1[64, 64]
    %8 = param "ffn_norm" : f32[64]
    %9 = param "gate" : q4_1[128, 64]
    %10 = param "up" : q4_1[128, 64]
    %11 = param "down" : q4_1[64, 128]
    %12 = state "k0" : f16[2, 32, 2, 16]
    %13 = state "v0" : f16[2, 32, 2, 16]
    %14 = param "unused" : f32[3]
    %15 = linear(%0, %3, %4, %5, %6) {epsilon = 1e-05, int8 = true, n_weights = 3, norm = "rms"}
    %16 = reshape(%15) {shape = [tokens, 4, 16]}
    %17 = reshape(%15.1) {shape = [tokens, 2, 16]}
    %18 = reshape(%15.2) {shape = [tokens, 2, 16]}
    %19 = rope_append(%16, %17, %18, %2, %1, %12, %13) {base = 10000.0, interleaved = true, n_rot = 16, scale = 1.0}
    %20 = attention(%19, %19.1, %19.2, %1, %2) {causal = true, scale = 0.25}
    %21 = reshape(%20) {shape = [tokens, 64]}
    %22 = linear(%21, %7, %0) {has_residual = true, int8 = true, n_weights = 1}
    %23 = linear(%22, %8, %9, %10) {activation = "silu", epsilon = 1e-05, gated = true, int8 = true, n_weights = 2, norm = "rms"}
    %24 = linear(%23, %11, %22) {has_residual = true, int8 = true, n_weights = 1}
    output "y" = %24
    update "k0" = %19.1
    update "v0" = %19.2
  )"));
}

// A Gemma 3 layer: norms of q and k by head, norms behind each block, GeGLU.
TEST(LayerTest, GemmaIsEightNodes) {
  EXPECT_EQ(all_passes(R"(
    extent tokens <= 16
    %0 = input "x" : f32[tokens, 64]
    %1 = input "seq" : i32[tokens]
    %2 = input "pos" : i32[tokens]
    %3 = param "attn_norm" : f32[64]
    %4 = param "wq" : q8_0[64, 64]
    %5 = param "wk" : q8_0[16, 64]
    %6 = param "wv" : q4_0[16, 64]
    %7 = param "q_norm" : f32[16]
    %8 = param "k_norm" : f32[16]
    %9 = param "wo" : q8_0[64, 64]
    %10 = param "post_attn" : f32[64]
    %11 = param "ffn_norm" : f32[64]
    %12 = param "gate" : q8_0[128, 64]
    %13 = param "up" : q8_0[128, 64]
    %14 = param "down" : q8_0[64, 128]
    %15 = param "post_ffn" : f32[64]
    %16 = state "k0" : f16[1, 32, 1, 16]
    %17 = state "v0" : f16[1, 32, 1, 16]
    %18 = rms_norm(%0, %3) {epsilon = 1e-06, has_weight = true}
    %19 = matmul(%18, %4) {transpose_b = true}
    %20 = matmul(%18, %5) {transpose_b = true}
    %21 = matmul(%18, %6) {transpose_b = true}
    %22 = reshape(%19) {shape = [-1, 4, 16]}
    %23 = reshape(%20) {shape = [-1, 1, 16]}
    %24 = reshape(%21) {shape = [-1, 1, 16]}
    %25 = rms_norm(%22, %7) {epsilon = 1e-06, has_weight = true}
    %26 = rms_norm(%23, %8) {epsilon = 1e-06, has_weight = true}
    %27 = rope(%25, %2) {base = 10000.0, n_rot = 16, scale = 1.0}
    %28 = rope(%26, %2) {base = 10000.0, n_rot = 16, scale = 1.0}
    %29 = scatter_rows(%16, %28, %1, %2)
    %30 = scatter_rows(%17, %24, %1, %2)
    %31 = attention(%27, %29, %30, %1, %2) {causal = true, scale = 0.0625, window = 8}
    %32 = reshape(%31) {shape = [-1, 64]}
    %33 = matmul(%32, %9) {transpose_b = true}
    %34 = rms_norm(%33, %10) {epsilon = 1e-06, has_weight = true}
    %35 = add(%0, %34)
    %36 = rms_norm(%35, %11) {epsilon = 1e-06, has_weight = true}
    %37 = matmul(%36, %12) {transpose_b = true}
    %38 = matmul(%36, %13) {transpose_b = true}
    %39 = gelu_tanh(%37)
    %40 = multiply(%39, %38)
    %41 = matmul(%40, %14) {transpose_b = true}
    %42 = rms_norm(%41, %15) {epsilon = 1e-06, has_weight = true}
    %43 = add(%35, %42)
    output "y" = %43
    update "k0" = %29
    update "v0" = %30
  )"),
            plain(R"(
    extent tokens <= 16
    %0 = input "x" : f32[tokens, 64]
    %1 = input "seq" : i32[tokens]
    %2 = input "pos" : i32[tokens]
    %3 = param "attn_norm" : f32[64]
    %4 = param "wq" : q8_0[64, 64]
    %5 = param "wk" : q8_0[16, 64]
    %6 = param "wv" : q4_0[16, 64]
    %7 = param "q_norm" : f32[16]
    %8 = param "k_norm" : f32[16]
    %9 = param "wo" : q8_0[64, 64]
    %10 = param "post_attn" : f32[64]
    %11 = param "ffn_norm" : f32[64]
    %12 = param "gate" : q8_0[128, 64]
    %13 = param "up" : q8_0[128, 64]
    %14 = param "down" : q8_0[64, 128]
    %15 = param "post_ffn" : f32[64]
    %16 = state "k0" : f16[1, 32, 1, 16]
    %17 = state "v0" : f16[1, 32, 1, 16]
    %18 = linear(%0, %3, %4, %5, %6) {epsilon = 1e-06, int8 = true, n_weights = 3, norm = "rms"}
    %19 = reshape(%18) {shape = [tokens, 4, 16]}
    %20 = reshape(%18.1) {shape = [tokens, 1, 16]}
    %21 = reshape(%18.2) {shape = [tokens, 1, 16]}
    %22 = rope_append(%19, %20, %21, %2, %1, %16, %17, %7, %8) {base = 10000.0, epsilon = 1e-06, has_qk_norm = true, interleaved = false, n_rot = 16, scale = 1.0}
    %23 = attention(%22, %22.1, %22.2, %1, %2) {causal = true, scale = 0.0625, window = 8}
    %24 = reshape(%23) {shape = [tokens, 64]}
    %25 = linear(%24, %9) {int8 = true, n_weights = 1}
    %26 = norm_add(%25, %0, %10) {epsilon = 1e-06, norm = "rms"}
    %27 = linear(%26, %11, %12, %13) {activation = "gelu_tanh", epsilon = 1e-06, gated = true, int8 = true, n_weights = 2, norm = "rms"}
    %28 = linear(%27, %14) {int8 = true, n_weights = 1}
    %29 = norm_add(%28, %26, %15) {epsilon = 1e-06, norm = "rms"}
    output "y" = %29
    update "k0" = %22.1
    update "v0" = %22.2
  )"));
}

}  // namespace
}  // namespace bessemer
