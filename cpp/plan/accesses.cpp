#include "plan/accesses.h"

#include <algorithm>
#include <unordered_map>

namespace bessemer {
namespace {

Error operand_error(const LoweredGraph& lowered, std::span<const Extent> extents, size_t thunk,
                    size_t operand, const std::string& what) {
  const Thunk& t = lowered.thunks[thunk];
  return Error{ErrorKind::kInternal,
               describe(t, thunk) + ", operand " + std::to_string(operand) + " (" +
                   to_string(t.operands[operand], extents) + "): " + what,
               {}};
}

}  // namespace

std::string describe(const Thunk& thunk, size_t index) {
  return "thunk " + std::to_string(index) + " `" + thunk.label + "` (" + thunk.kernel + ")";
}

Result<AccessTable> collect_accesses(const LoweredGraph& lowered, std::span<const Extent> extents) {
  AccessTable table;
  for (const Extent& e : extents) table.maxima.push_back(e.max);
  const std::span<const int64_t> maxima = table.maxima;

  std::unordered_map<uint64_t, uint32_t> storage_by_name;
  for (const VirtualBuffer& b : lowered.buffers) {
    const int64_t bytes = bounds(b.bytes, maxima).high;
    table.buffer_bytes.push_back(std::max<int64_t>(bytes, 0));
    if (b.space == Space::kArena) {
      return Error{
          ErrorKind::kInternal, "buffer `" + b.label + "` is in the arena before planning", {}};
    }
    uint32_t storage = table.storages;
    if (b.space != Space::kValue) {
      const uint64_t name = (static_cast<uint64_t>(b.space) << 32) | b.index;
      storage = storage_by_name.emplace(name, storage).first->second;
    }
    if (storage == table.storages) ++table.storages;
    table.storage_of.push_back(storage);
  }

  std::vector<uint8_t> written(table.storages, 0);
  table.begin.push_back(0);
  for (size_t t = 0; t < lowered.thunks.size(); ++t) {
    const Thunk& thunk = lowered.thunks[t];
    for (size_t i = 0; i < thunk.operands.size(); ++i) {
      const Operand& o = thunk.operands[i];
      if (o.space != Space::kValue || o.block >= lowered.buffers.size()) {
        return operand_error(lowered, extents, t, i, "is not a virtual buffer of this graph");
      }
      const VirtualBuffer& buffer = lowered.buffers[o.block];
      AccessRecord record{table.storage_of[o.block], o.access, byte_range(o, maxima)};
      ByteRange& range = record.range;
      if (!range.empty()) {
        const int64_t size = table.buffer_bytes[o.block];
        // The hull may be wider than any actual range. Then the dims must prove the range.
        if (range.low < 0 && bounds(o.offset, maxima).low < 0) {
          return operand_error(lowered, extents, t, i, "starts before `" + buffer.label + "`");
        }
        if (range.high > size && bounds(buffer.bytes - o.offset - o.bytes, maxima).low < 0) {
          return operand_error(lowered, extents, t, i,
                               "reaches past `" + buffer.label + "` of " +
                                   buffer.bytes.to_string(extents) + " = " + std::to_string(size) +
                                   " bytes");
        }
        range.high = std::min(range.high, size);
        if (buffer.space == Space::kValue && o.access == Access::kRead &&
            written[record.storage] == 0) {
          return operand_error(lowered, extents, t, i,
                               "reads `" + buffer.label + "`, which nothing has written");
        }
        if (buffer.space != Space::kValue && buffer.space != Space::kState &&
            buffer.space != Space::kOutput && writes(o.access)) {
          return operand_error(
              lowered, extents, t, i,
              "writes `" + buffer.label + "`, a " + std::string(to_string(buffer.space)));
        }
      }
      table.records.push_back(record);
    }
    for (const AccessRecord* r = table.records.data() + table.begin.back();
         r != table.records.data() + table.records.size(); ++r) {
      if (writes(r->access)) written[r->storage] = 1;
    }
    for (const InPlace& hint : thunk.in_place) {
      if (hint.out >= thunk.operands.size() || hint.in >= thunk.operands.size() ||
          !writes(thunk.operands[hint.out].access) || !reads(thunk.operands[hint.in].access)) {
        return Error{ErrorKind::kInternal,
                     describe(thunk, t) + " has an in-place hint without such operands",
                     {}};
      }
    }
    table.begin.push_back(static_cast<uint32_t>(table.records.size()));
  }
  return table;
}

}  // namespace bessemer
