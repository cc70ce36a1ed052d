#include "devices/cpu/attention_isa.h"

#include "devices/cpu/simd/vec_generic.h"

// After the vector layer:
#include "devices/cpu/simd/vec_math.h"

// After both:
#include "devices/cpu/attention_span.inl"

namespace bessemer::cpu {

AttentionSpanFn attention_span_generic() { return attend_span; }

}  // namespace bessemer::cpu
