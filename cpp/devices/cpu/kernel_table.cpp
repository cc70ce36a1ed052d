#include "devices/cpu/kernels.h"

namespace bessemer::cpu {
namespace {

struct Entry {
  std::string_view name;
  KernelFn function;
};

// One line a kernel, in alphabetical order.
constexpr Entry kTable[] = {
    {"arg_reduce", arg_reduce},
    {"attention", attention},
    {"concat", concat},
    {"copy", copy},
    {"copy_bytes", copy_bytes},
    {"cumulative", cumulative},
    {"elementwise", elementwise},
    {"embedding", embedding},
    {"gather", gather},
    {"iota", iota},
    {"linear", linear},
    {"matmul", matmul},
    {"norm", norm},
    {"pad", pad},
    {"reduce", reduce},
    {"rope", rope},
    {"rope_append", rope_append},
    {"scatter_rows", scatter_rows},
    {"softmax", softmax},
    {"top_k", top_k},
    {"tri", tri},
};

}  // namespace

KernelFn find_kernel(std::string_view name) {
  name = name.substr(0, name.find("__"));
  for (const Entry& entry : kTable) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace bessemer::cpu
