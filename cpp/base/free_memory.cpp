#include "base/free_memory.h"

#include <cstdlib>  // defines __GLIBC__ where it is
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace bessemer {

void release_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace bessemer
