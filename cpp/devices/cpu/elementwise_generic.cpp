#define BSM_ELEMENTWISE elementwise_generic
#include "devices/cpu/elementwise.inl"
