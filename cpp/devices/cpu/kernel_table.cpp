#include "devices/cpu/kernels.h"

namespace bessemer::cpu {
namespace {

struct Entry {
  std::string_view name;
  KernelFn function;
};

// One line a kernel, in alphabetical order.
constexpr Entry kTable[] = {
    {"attention", attention},
    {"concat", concat},
    {"copy", copy},
    {"copy_bytes", copy_bytes},
    {"elementwise", elementwise},
    {"embedding", embedding},
    {"gather", gather},
    {"iota", iota},
    {"linear", linear},
    {"matmul", matmul},
    {"norm", norm},
    {"pad", pad},
    {"rope", rope},
    {"rope_append", rope_append},
    {"scatter_rows", scatter_rows},
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
