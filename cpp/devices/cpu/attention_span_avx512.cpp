#include "devices/cpu/attention_isa.h"
#if defined(__x86_64__)
#include "devices/cpu/simd/vec_avx512.h"

// After the vector layer:
#include "devices/cpu/simd/vec_math.h"

// After both:
#include "devices/cpu/attention_span.inl"

namespace bessemer::cpu {

AttentionSpanFn attention_span_avx512() { return attend_span; }

}  // namespace bessemer::cpu
#endif
