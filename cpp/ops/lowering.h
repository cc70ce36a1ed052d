// Lowering turns a graph into thunks over virtual buffers, for a Target. It decides kernels, views
// and which state updates happen in place; where things lie is the plan's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "ops/op_impl.h"
#include "target/target.h"
#include "thunk/thunk.h"

namespace bessemer {

// A storage that a thunk's operand refers to before planning. Values (space kValue) get a place in
// the arena; the other spaces name a block of their own by `index`.
struct VirtualBuffer {
  Space space = Space::kValue;
  uint32_t index = 0;  // of the weight, state, input, output or constant
  Dim bytes;           // contiguous size
  std::string label;   // for people
};

// The result of lowering: thunks in program order. Their operands have space kValue and `block` is
// an index into `buffers`, whatever the buffer's own space. Program order defines the meaning: a
// read sees the last write before it in this order. Any reordering must keep that.
struct LoweredGraph {
  std::vector<VirtualBuffer> buffers;
  std::vector<Thunk> thunks;
};

namespace ops {

// Where a value is: a contiguous row-major range of a buffer.
struct Tensor {
  uint32_t buffer = 0;
  Dim offset;  // bytes
  DType dtype = DType::kF32;
  Shape shape;

  [[nodiscard]] Dim bytes() const;  // of the whole tensor; quantised types by blocks
};

// A params struct being filled. `set` on a field with a Dim writes its value at the extents' maxima
// and remembers a patch when the dim is not constant.
template <class P>
class Params {
 public:
  static_assert(std::is_trivially_copyable_v<P>);
  P value{};

  template <class Field>
  void set(Field& field, const Dim& dim) {
    static_assert(std::is_same_v<Field, int64_t> || std::is_same_v<Field, int32_t>);
    dims_.push_back({static_cast<uint32_t>(reinterpret_cast<const std::byte*>(&field) -
                                           reinterpret_cast<const std::byte*>(&value)),
                     sizeof(Field), dim});
  }

  // Writes value's bytes and patches into the thunk.
  void store(Thunk& thunk, std::span<const int64_t> maxima) const {
    thunk.params.resize(sizeof(P));
    std::memcpy(thunk.params.data(), &value, sizeof(P));
    for (const Patch& patch : dims_) {
      const int64_t at_max = patch.value.evaluate(maxima);
      if (patch.width == 8) {
        std::memcpy(thunk.params.data() + patch.byte_offset, &at_max, 8);
      } else {
        const auto narrow = static_cast<int32_t>(at_max);
        std::memcpy(thunk.params.data() + patch.byte_offset, &narrow, 4);
      }
      if (!patch.value.is_constant()) thunk.patches.push_back(patch);
    }
  }

 private:
  std::vector<Patch> dims_;
};

class Lowering {
 public:
  // maxima: the largest value of each extent that the result must serve, at most its bound.
  Lowering(const Graph& graph, const Target& target, ExtentValues maxima);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] std::span<const int64_t> maxima() const { return maxima_; }
  [[nodiscard]] std::span<const Extent> extents() const { return graph_.extents(); }

  // The operand as a tensor. Valid for values lowered already.
  [[nodiscard]] const Tensor& operand(const Node& node, size_t i) const;

  // A result's storage: a fresh buffer, or an output's own when the value is an output.
  // Call once a result; then emit the thunk(s) that write it.
  [[nodiscard]] Tensor define(const Node& node, size_t result = 0);
  // Makes a result a view of an operand's storage: no thunk. offset in bytes into that tensor.
  void define_view(const Node& node, size_t result, const Tensor& of, const Dim& offset);
  // The result is a state's next version: storage for in-place writing that already holds `old`'s
  // contents (the state itself if that is safe, a copy otherwise, made here).
  [[nodiscard]] Result<Tensor> define_update(const Node& node, size_t result, size_t old_operand);

  // Scratch with the lifetime of one thunk.
  [[nodiscard]] Tensor scratch(const Dim& bytes);

  // Operands for a thunk. The overloads with a range touch only part of the tensor.
  [[nodiscard]] static Operand read(const Tensor& t);
  [[nodiscard]] static Operand write(const Tensor& t);
  [[nodiscard]] static Operand read_write(const Tensor& t);
  [[nodiscard]] static Operand range(const Tensor& t, Access access, const Dim& offset,
                                     const Dim& bytes);

  // Appends a thunk for `node`. Params, operands, flops and in-place hints are the caller's.
  template <class P>
  void emit(const Node& node, std::string kernel, std::vector<Operand> operands,
            const Params<P>& params, const Dim& flops, std::vector<InPlace> in_place = {}) {
    Thunk thunk;
    thunk.kernel = std::move(kernel);
    thunk.operands = std::move(operands);
    thunk.in_place = std::move(in_place);
    thunk.flops = flops;
    params.store(thunk, maxima_);
    append(node, std::move(thunk));
  }

  // A contiguous copy of `from` into `to` (same bytes).
  void emit_copy(const Node& node, const Tensor& from, const Tensor& to);

  // Runs over the whole graph.
  [[nodiscard]] Result<LoweredGraph> run() &&;

 private:
  void append(const Node& node, Thunk thunk);
  [[nodiscard]] uint32_t new_buffer(Space space, uint32_t index, const Dim& bytes,
                                    std::string label);
  void make_leaf_buffers();
  void find_last_readers();
  void find_versions();
  [[nodiscard]] Status finish_outputs_and_updates();

  const Graph& graph_;
  const Target& target_;
  ExtentValues maxima_;
  LoweredGraph out_;
  std::vector<std::vector<Tensor>> tensors_;  // by node, result
  // By node, result: the last node that reads it, itself or through a view; nodes().size() when an
  // output or an update does.
  std::vector<std::vector<uint32_t>> last_reader_;
  std::unordered_map<Value, uint32_t, ValueHash> output_of_;   // a value's own output buffer
  std::unordered_map<Value, uint32_t, ValueHash> version_of_;  // a state's versions: its buffer
  std::vector<uint32_t> state_buffers_;                        // by state index
  std::vector<uint32_t> output_buffers_;                       // by output index
  uint32_t current_ = 0;
};

// Lowers `graph` (fused or not) for `target`, for extents up to `maxima` (which choose kernels).
[[nodiscard]] Result<LoweredGraph> lower(const Graph& graph, const Target& target,
                                         ExtentValues maxima);
[[nodiscard]] inline Result<LoweredGraph> lower(const Graph& graph, const Target& target) {
  return lower(graph, target, graph.extent_maxima());
}

}  // namespace ops
}  // namespace bessemer
