#if defined(__AVX512F__)
#define BSM_ELEMENTWISE elementwise_avx512
#include "devices/cpu/elementwise.inl"
#endif
