#include "ops/lowering.h"

#include <algorithm>

#include "kernel_abi/copy_bytes_params.h"

namespace bessemer::ops {
namespace {

// Ops whose result may be a view of operand 0, so that reading the result reads the operand.
bool may_view(Op op) {
  switch (op) {
    case Op::k_reshape:
    case Op::k_slice:
    case Op::k_split:
    case Op::k_transpose:
    case Op::k_expand:
    case Op::k_cast:
    case Op::k_concat:
    case Op::k_reverse:
    case Op::k_tile:
    case Op::k_pad:
      return true;
    default:
      return false;
  }
}

// Operands that an op updates: {operand index, result index}.
std::vector<std::pair<size_t, uint32_t>> updated_operands(Op op) {
  if (op == Op::k_scatter_rows) return {{0, 0}};
  if (op == Op::k_rope_append) return {{5, 1}, {6, 2}};
  return {};
}

}  // namespace

Dim Tensor::bytes() const {
  const DTypeInfo& d = info(dtype);
  Dim elements = num_elements(shape);
  if (d.block_elements == 1) return elements * Dim(d.block_bytes);
  Dim blocks;
  // Rows of block-quantised params are whole blocks (verified with the graph).
  const bool whole = elements.divide_exactly(Dim(d.block_elements), &blocks);
  return whole ? blocks * Dim(d.block_bytes) : Dim(0);
}

Lowering::Lowering(const Graph& graph, const Target& target, ExtentValues maxima)
    : graph_(graph), target_(target), maxima_(std::move(maxima)) {
  tensors_.resize(graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    tensors_[i].resize(graph.nodes()[i].results.size());
  }
}

const Tensor& Lowering::operand(const Node& node, size_t i) const {
  const Value v = node.operands[i];
  return tensors_[v.node][v.result];
}

uint32_t Lowering::new_buffer(Space space, uint32_t index, const Dim& bytes, std::string label) {
  out_.buffers.push_back({space, index, bytes, std::move(label)});
  return static_cast<uint32_t>(out_.buffers.size() - 1);
}

Tensor Lowering::define(const Node& node, size_t result) {
  const Type& type = node.results[result];
  Tensor t{0, Dim(0), type.dtype, type.shape};
  const Value value{current_, static_cast<uint32_t>(result)};
  const auto own = output_of_.find(value);
  t.buffer = own != output_of_.end()
                 ? own->second
                 : new_buffer(Space::kValue, 0, t.bytes(),
                              "%" + std::to_string(current_) +
                                  (result == 0 ? "" : "." + std::to_string(result)));
  tensors_[current_][result] = t;
  return t;
}

void Lowering::define_view(const Node& node, size_t result, const Tensor& of, const Dim& offset) {
  const Type& type = node.results[result];
  tensors_[current_][result] = {of.buffer, of.offset + offset, type.dtype, type.shape};
}

Result<Tensor> Lowering::define_update(const Node& node, size_t result, size_t old_operand) {
  const Value old = node.operands[old_operand];
  const Tensor& from = tensors_[old.node][old.result];
  const auto version = version_of_.find({current_, static_cast<uint32_t>(result)});
  const bool in_place = version != version_of_.end() && from.buffer == version->second &&
                        last_reader_[old.node][old.result] == current_;
  if (in_place) {
    tensors_[current_][result] = from;
    return from;
  }
  const Tensor to = define(node, result);
  emit_copy(node, from, to);
  return to;
}

Tensor Lowering::scratch(const Dim& bytes) {
  Tensor t{0, Dim(0), DType::kU8, {bytes}};
  t.buffer = new_buffer(Space::kValue, 0, bytes, "%" + std::to_string(current_) + ".scratch");
  return t;
}

Operand Lowering::range(const Tensor& t, Access access, const Dim& offset, const Dim& bytes) {
  return {Space::kValue, access, t.buffer, t.offset + offset, bytes};
}
Operand Lowering::read(const Tensor& t) { return range(t, Access::kRead, Dim(0), t.bytes()); }
Operand Lowering::write(const Tensor& t) { return range(t, Access::kWrite, Dim(0), t.bytes()); }
Operand Lowering::read_write(const Tensor& t) {
  return range(t, Access::kReadWrite, Dim(0), t.bytes());
}

void Lowering::emit_copy(const Node& node, const Tensor& from, const Tensor& to) {
  Params<abi::CopyBytesParams> params;
  params.set(params.value.bytes, from.bytes());
  emit(node, "copy_bytes", {read(from), write(to)}, params, Dim(0), {{1, 0}});
}

void Lowering::append(const Node& node, Thunk thunk) {
  thunk.node = current_;
  if (thunk.label.empty()) {
    thunk.label = node.name.empty() ? std::string(to_string(node.op)) : node.name;
  }
  out_.thunks.push_back(std::move(thunk));
}

void Lowering::make_leaf_buffers() {
  uint32_t counts[4] = {0, 0, 0, 0};
  for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
    const Node& node = graph_.nodes()[id];
    if (!is_leaf(node.op)) continue;
    const Space space = node.op == Op::k_input   ? Space::kInput
                        : node.op == Op::k_param ? Space::kWeights
                        : node.op == Op::k_state ? Space::kState
                                                 : Space::kConstant;
    uint32_t& count = counts[node.op == Op::k_input   ? 0
                             : node.op == Op::k_param ? 1
                             : node.op == Op::k_state ? 2
                                                      : 3];
    Tensor t{0, Dim(0), node.results[0].dtype, node.results[0].shape};
    t.buffer = new_buffer(space, count++, t.bytes(),
                          node.name.empty() ? "%" + std::to_string(id) : node.name);
    if (space == Space::kState) state_buffers_.push_back(t.buffer);
    tensors_[id][0] = t;
  }
  for (uint32_t i = 0; i < graph_.outputs().size(); ++i) {
    const NamedValue& output = graph_.outputs()[i];
    const Type& type = graph_.type(output.value);
    const Tensor t{0, Dim(0), type.dtype, type.shape};
    output_buffers_.push_back(new_buffer(Space::kOutput, i, t.bytes(), output.name));
    // The value that is computed, behind reshapes, is written straight into the output.
    Value root = output.value;
    while (graph_.node(root).op == Op::k_reshape) root = graph_.node(root).operands[0];
    if (!is_leaf(graph_.node(root).op)) output_of_.emplace(root, output_buffers_.back());
  }
}

void Lowering::find_last_readers() {
  const auto end = static_cast<uint32_t>(graph_.nodes().size());
  last_reader_.resize(end);
  for (uint32_t i = 0; i < end; ++i) last_reader_[i].assign(graph_.nodes()[i].results.size(), 0);
  for (const NamedValue& o : graph_.outputs()) last_reader_[o.value.node][o.value.result] = end;
  // Backwards, so that a view's own last reader is known when its operand is looked at.
  for (uint32_t i = end; i-- > 0;) {
    const Node& node = graph_.nodes()[i];
    uint32_t last = i;
    if (may_view(node.op)) {
      for (uint32_t r : last_reader_[i]) last = std::max(last, r);
    }
    for (const Value& v : node.operands) {
      uint32_t& reader = last_reader_[v.node][v.result];
      reader = std::max(reader, last);
    }
  }
}

// Walks each update back to its state: the values between are the state's versions, which may all
// live in the state itself. A version is claimed once: two updates that share one get a copy.
void Lowering::find_versions() {
  uint32_t index = 0;
  std::unordered_map<std::string, uint32_t> buffer_of;
  for (const Node& node : graph_.nodes()) {
    if (node.op == Op::k_state) buffer_of[node.name] = state_buffers_[index++];
  }
  for (const NamedValue& u : graph_.updates()) {
    std::vector<Value> chain;
    Value v = u.value;
    while (true) {
      const Node& node = graph_.node(v);
      if (node.op == Op::k_state) break;
      bool stepped = false;
      for (const auto& [operand_index, result] : updated_operands(node.op)) {
        if (result != v.result) continue;
        chain.push_back(v);
        v = node.operands[operand_index];
        stepped = true;
        break;
      }
      if (!stepped) break;
    }
    if (graph_.node(v).op != Op::k_state || graph_.node(v).name != u.name) continue;
    for (const Value& each : chain) version_of_.emplace(each, buffer_of[u.name]);
  }
}

Status Lowering::finish_outputs_and_updates() {
  current_ = static_cast<uint32_t>(graph_.nodes().size());
  // Outputs first: an output may be a state's old value.
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const NamedValue& output = graph_.outputs()[i];
    const Tensor& from = tensors_[output.value.node][output.value.result];
    if (from.buffer == output_buffers_[i] && from.offset == Dim(0)) continue;
    Tensor to = from;
    to.buffer = output_buffers_[i];
    to.offset = Dim(0);
    Node copy;
    copy.op = Op::k_reshape;
    copy.name = "output " + output.name;
    emit_copy(copy, from, to);
  }
  struct Pending {
    Tensor from;
    Tensor to;
    std::string name;
  };
  std::vector<Pending> pending;
  for (const NamedValue& u : graph_.updates()) {
    const Value leaf = *graph_.find_leaf(Op::k_state, u.name);
    const Tensor& state = tensors_[leaf.node][0];
    Tensor from = tensors_[u.value.node][u.value.result];
    if (from.buffer == state.buffer && from.offset == Dim(0)) continue;
    // Another state's contents may be overwritten by its own update: take them aside first.
    if (out_.buffers[from.buffer].space == Space::kState) {
      Tensor aside = from;
      aside.buffer = new_buffer(Space::kValue, 0, from.bytes(), "update " + u.name);
      aside.offset = Dim(0);
      Node copy;
      copy.op = Op::k_reshape;
      copy.name = "update " + u.name;
      emit_copy(copy, from, aside);
      from = aside;
    }
    pending.push_back({from, state, u.name});
  }
  for (const Pending& p : pending) {
    Node copy;
    copy.op = Op::k_reshape;
    copy.name = "update " + p.name;
    emit_copy(copy, p.from, p.to);
  }
  return {};
}

Result<LoweredGraph> Lowering::run() && {
  if (maxima_.size() != graph_.extents().size()) {
    return Error{ErrorKind::kInternal, "lowering needs a bound for each extent", {}};
  }
  make_leaf_buffers();
  for (const VirtualBuffer& b : out_.buffers) {
    const int64_t bytes = b.bytes.evaluate(maxima_);
    if (bytes > target_.max_block_bytes) {
      return Error{ErrorKind::kUnsupported,
                   "`" + b.label + "` takes " + std::to_string(bytes) + " bytes; a block of " +
                       target_.name + " holds at most " + std::to_string(target_.max_block_bytes),
                   {}};
    }
  }
  find_last_readers();
  find_versions();
  for (uint32_t id = 0; id < graph_.nodes().size(); ++id) {
    const Node& node = graph_.nodes()[id];
    if (is_leaf(node.op)) continue;
    current_ = id;
    for (const Type& t : node.results) {
      const Tensor whole{0, Dim(0), t.dtype, t.shape};
      const int64_t bytes = whole.bytes().evaluate(maxima_);
      if (bytes < 0 || bytes > target_.max_block_bytes) {
        return Error{ErrorKind::kUnsupported,
                     describe(graph_, node.op, node.operands) + " gives " +
                         to_string(t, graph_.extents()) + ", more than a block of " +
                         std::to_string(target_.max_block_bytes) + " bytes holds",
                     {node.where}};
      }
    }
    const OpImpl* impl = find_impl(node.op);
    if (impl == nullptr || impl->lower == nullptr) {
      return Error{
          ErrorKind::kInternal, "op `" + std::string(to_string(node.op)) + "` has no lowering", {}};
    }
    if (auto r = impl->lower(*this, node); !r) {
      Error e = std::move(r).error();
      e.message = describe(graph_, node.op, node.operands) + ": " + e.message;
      if (!node.where.empty()) e.notes.push_back("at " + node.where);
      return e;
    }
  }
  BSM_TRY(finish_outputs_and_updates());
  return std::move(out_);
}

Result<LoweredGraph> lower(const Graph& graph, const Target& target, ExtentValues maxima) {
  return Lowering(graph, target, std::move(maxima)).run();
}

}  // namespace bessemer::ops
