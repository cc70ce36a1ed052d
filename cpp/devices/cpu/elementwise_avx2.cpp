#if defined(__AVX2__)
#define BSM_ELEMENTWISE elementwise_avx2
#include "devices/cpu/elementwise.inl"
#endif
