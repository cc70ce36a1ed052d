#pragma once

namespace bessemer {

// Gives memory that the allocator holds but nobody uses back to the system, where the C library can
// (glibc). Loading a model makes tens of megabytes of short-lived strings; without this they stay
// resident, and loads of many models fragment the heap. Takes a few milliseconds; thread-safe.
void release_free_memory();

}  // namespace bessemer
