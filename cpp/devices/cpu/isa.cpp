#include "devices/cpu/kernel.h"

namespace bessemer::cpu {

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kGeneric:
      return "generic";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512vnni";
    case Isa::kNeon:
      return "neon";
  }
  return "unknown";
}

// __builtin_cpu_supports asks cpuid and, for the AVX families, xgetbv: a CPU whose operating system
// does not save the wide registers does not count as having them.
bool isa_available(Isa isa) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  switch (isa) {
    case Isa::kGeneric:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx512;
    case Isa::kAvx512Vnni:
      return avx512 && __builtin_cpu_supports("avx512vnni");
    case Isa::kNeon:
      return false;
  }
  return false;
#else
  // No NEON variants in this build yet: the portable ones, which compilers vectorise, serve arm64.
  return isa == Isa::kGeneric;
#endif
}

Isa detect_isa() {
  for (const Isa isa : {Isa::kAvx512Vnni, Isa::kAvx512, Isa::kAvx2, Isa::kNeon}) {
    if (isa_available(isa)) return isa;
  }
  return Isa::kGeneric;
}

}  // namespace bessemer::cpu
