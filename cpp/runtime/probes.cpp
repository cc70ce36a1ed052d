#include "runtime/self_test.h"

namespace bessemer {
namespace {

// Sizes are odd where a kernel has edges, and pass a kernel's tile at least once.
constexpr Probe kProbes[] = {
    {"elementwise f32", R"(graph "p" {
  %0 = input "x" : f32[5, 77]
  %1 = input "y" : f32[77]
  %2 = multiply(%0, %1) : f32[5, 77]
  %3 = gelu_tanh(%2) : f32[5, 77]
  %4 = add(%3, %0) : f32[5, 77]
  output "z" = %4
})",
     1e-5},
    {"elementwise f16", R"(graph "p" {
  %0 = input "x" : f16[300]
  %1 = exp(%0) : f16[300]
  output "z" = %1
})",
     2e-3},
    {"elementwise i32", R"(graph "p" {
  %0 = input "x" : i32[300]
  %1 = input "y" : i32[300]
  %2 = multiply(%0, %1) : i32[300]
  output "z" = %2
})",
     0},
    {"transpose", R"(graph "p" {
  %0 = input "x" : f32[33, 5, 18]
  %1 = transpose(%0) {perm = (2, 0, 1)} : f32[18, 33, 5]
  output "z" = %1
})",
     0},
    {"concat", R"(graph "p" {
  %0 = input "x" : f32[7, 33]
  %1 = input "y" : f32[7, 5]
  %2 = concat(%0, %1) {axis = 1} : f32[7, 38]
  output "z" = %2
})",
     0},
    {"gather", R"(graph "p" {
  %0 = input "x" : f32[8, 33]
  %1 = input "i" : i32[5]
  %2 = gather(%0, %1) {axis = 0} : f32[5, 33]
  output "z" = %2
})",
     0},
    {"embedding q4_1", R"(graph "p" {
  %0 = param "w" : q4_1[8, 64]
  %1 = input "i" : i32[5]
  %2 = embedding(%0, %1) : f32[5, 64]
  output "z" = %2
})",
     1e-6},
    {"embedding q6_k", R"(graph "p" {
  %0 = param "w" : q6_k[8, 512]
  %1 = input "i" : i32[5]
  %2 = embedding(%0, %1) : f32[5, 512]
  output "z" = %2
})",
     1e-6},
    {"sum", R"(graph "p" {
  %0 = input "x" : f32[9, 1000]
  %1 = sum(%0) {axes = (1)} : f32[9]
  output "z" = %1
})",
     1e-5},
    {"argmax", R"(graph "p" {
  %0 = input "x" : f32[9, 1000]
  %1 = argmax(%0) {axis = 1} : i32[9]
  output "z" = %1
})",
     0},
    {"softmax", R"(graph "p" {
  %0 = input "x" : f32[9, 1000]
  %1 = softmax(%0) {axis = -1} : f32[9, 1000]
  output "z" = %1
})",
     1e-5},
    {"cumsum", R"(graph "p" {
  %0 = input "x" : f32[3, 1000]
  %1 = cumsum(%0) {axis = 1} : f32[3, 1000]
  output "z" = %1
})",
     1e-4},
    {"top_k", R"(graph "p" {
  %0 = input "x" : f32[3, 1000]
  %1 = top_k(%0) {k = 9} : f32[3, 9], i32[3, 9]
  output "v" = %1
  output "i" = %1.1
})",
     0},
    {"rms_norm", R"(graph "p" {
  %0 = input "x" : f32[7, 333]
  %1 = input "w" : f32[333]
  %2 = rms_norm(%0, %1) {epsilon = 1e-05, has_weight = true} : f32[7, 333]
  output "z" = %2
})",
     1e-5},
    {"rope", R"(graph "p" {
  %0 = input "x" : f32[7, 3, 64]
  %1 = input "pos" : i32[7]
  %2 = rope(%0, %1) : f32[7, 3, 64]
  output "z" = %2
})",
     1e-4},
    {"scatter_rows", R"(graph "p" {
  %0 = state "s" : f16[2, 32, 3, 32]
  %1 = input "x" : f32[10, 3, 32]
  %2 = input "seq" : i32[10]
  %3 = input "pos" : i32[10]
  %4 = scatter_rows(%0, %1, %2, %3) : f16[2, 32, 3, 32]
  output "z" = %4
  update "s" = %4
})",
     1e-3},
    {"linear q4_0, 1 row", R"(graph "p" {
  %0 = input "x" : f32[1, 256]
  %1 = param "w" : q4_0[70, 256]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[1, 70]
  output "z" = %2
})",
     1e-4},
    {"linear q4_1, 5 rows", R"(graph "p" {
  %0 = input "x" : f32[5, 256]
  %1 = param "w" : q4_1[70, 256]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[5, 70]
  output "z" = %2
})",
     1e-4},
    {"linear q8_0, 70 rows", R"(graph "p" {
  %0 = input "x" : f32[70, 256]
  %1 = param "w" : q8_0[70, 256]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[70, 70]
  output "z" = %2
})",
     1e-4},
    {"linear q4_k, 1 row", R"(graph "p" {
  %0 = input "x" : f32[1, 512]
  %1 = param "w" : q4_k[70, 512]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[1, 70]
  output "z" = %2
})",
     1e-4},
    {"linear q6_k, 70 rows", R"(graph "p" {
  %0 = input "x" : f32[70, 512]
  %1 = param "w" : q6_k[70, 512]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[70, 70]
  output "z" = %2
})",
     1e-4},
    {"linear f16, 70 rows", R"(graph "p" {
  %0 = input "x" : f32[70, 100]
  %1 = param "w" : f16[70, 100]
  %2 = matmul(%0, %1) {transpose_b = true} : f32[70, 70]
  output "z" = %2
})",
     1e-4},
    {"matmul, small", R"(graph "p" {
  %0 = input "x" : f32[3, 2, 37]
  %1 = input "y" : f32[3, 37, 33]
  %2 = matmul(%0, %1) : f32[3, 2, 33]
  output "z" = %2
})",
     1e-5},
    {"matmul, large", R"(graph "p" {
  %0 = input "x" : f32[70, 100]
  %1 = input "y" : f32[100, 70]
  %2 = matmul(%0, %1) : f32[70, 70]
  output "z" = %2
})",
     1e-5},
    {"attention, decode", R"(graph "p" {
  %0 = input "q" : f32[2, 6, 64]
  %1 = state "k" : f16[2, 300, 2, 64]
  %2 = state "v" : f16[2, 300, 2, 64]
  %3 = input "seq" : i32[2]
  %4 = input "far" : i32[2]
  %5 = input "kx" : f32[600, 2, 64]
  %6 = input "seq_of_key" : i32[600]
  %7 = input "pos_of_key" : i32[600]
  %8 = scatter_rows(%1, %5, %6, %7) : f16[2, 300, 2, 64]
  %9 = attention(%0, %8, %8, %3, %4) {causal = true} : f32[2, 6, 64]
  output "z" = %9
  update "k" = %8
})",
     1e-3},
    {"attention, prefill", R"(graph "p" {
  %0 = input "q" : f32[40, 6, 64]
  %1 = input "k" : f32[40, 2, 64]
  %2 = input "v" : f32[40, 2, 64]
  %3 = input "seq" : i32[40]
  %4 = input "pos" : i32[40]
  %5 = attention(%0, %1, %2, %3, %4, %3, %4) {causal = true} : f32[40, 6, 64]
  output "z" = %5
})",
     1e-4},
};

}  // namespace

std::span<const Probe> probes() { return kProbes; }

}  // namespace bessemer
