// The text form of graphs: any bytes either give a typed error, or a graph that prints, parses back
// identically, and whose types can be checked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ir/graph.h"
#include "ops/op_impl.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = bessemer::parse_graph(text);
  if (!graph) return 0;
  const std::string printed = bessemer::to_string(*graph);
  const auto again = bessemer::parse_graph(printed);
  if (!again || !bessemer::identical(*graph, *again)) std::abort();
  (void)bessemer::ops::verify(*graph).ok();
  return 0;
}
