// Any bytes are either refused with an error or give an index whose views all lie inside them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/gguf.h"
#include "runtime/sentencepiece_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto index = bessemer::GgufIndex::parse(file);
  if (!index) return 0;
  size_t sum = 0;  // reads every byte that a view reaches, under the address sanitizer
  const auto touch = [&](const std::byte* from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) sum += std::to_integer<size_t>(from[i]);
  };
  for (const bessemer::GgufEntry& e : index->entries()) {
    if (index->find(e.key) != &e.value) std::abort();
    touch(e.value.data.data(), e.value.data.size());
    if (e.value.type == bessemer::GgufType::kArray &&
        e.value.element == bessemer::GgufType::kString) {
      const bessemer::GgufStrings strings(e.value);
      for (size_t i = 0; i < strings.size(); ++i) {
        touch(reinterpret_cast<const std::byte*>(strings[i].data()), strings[i].size());
      }
    }
    const auto number = e.value.as_int();
    sum += number.ok() ? static_cast<size_t>(*number) : 0;
  }
  for (const bessemer::GgufTensor& t : index->tensors()) {
    if (index->find_tensor(t.name) != &t) std::abort();
    touch(file.data() + t.offset, t.bytes);
  }
  const auto model = bessemer::sentencepiece_model(*index);
  sum += model.ok() ? model->size() : 0;
  volatile size_t sink = sum;
  (void)sink;
  return 0;
}
