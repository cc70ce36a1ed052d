#include "runtime/weights.h"

#include <algorithm>
#include <cstring>

namespace bessemer {

Weights::Weights(std::shared_ptr<const Program> program) : program_(std::move(program)) {
  blocks_.resize(program_->params().size());
  mapped_.resize(blocks_.size());
}

Result<size_t> Weights::check(const std::string& name, DType dtype,
                              std::span<const int64_t> shape) const {
  if (sealed_) {
    return Error{ErrorKind::kState, "weights are sealed; `" + name + "` cannot be set", {}};
  }
  const auto& params = program_->params();
  const auto it =
      std::find_if(params.begin(), params.end(), [&](const Port& p) { return p.name == name; });
  if (it == params.end()) {
    return Error{
        ErrorKind::kName,
        "no param named `" + name + "`; the graph has " + std::to_string(params.size()) + " params",
        {}};
  }
  const Type& type = it->type;
  if (dtype != type.dtype) {
    return Error{ErrorKind::kDtype,
                 "param `" + name + "` is " + std::string(to_string(type.dtype)) + ", got " +
                     std::string(to_string(dtype)),
                 {}};
  }
  bool same = shape.size() == type.shape.size();
  for (size_t i = 0; same && i < shape.size(); ++i) same = type.shape[i].constant() == shape[i];
  if (!same) {
    return Error{
        ErrorKind::kShape,
        "param `" + name + "` is " + to_string(type.shape, {}) + ", got " + shape_text(shape),
        {}};
  }
  return static_cast<size_t>(it - params.begin());
}

Status Weights::set(const std::string& name, DType dtype, std::span<const int64_t> shape,
                    const std::byte* data) {
  BSM_ASSIGN(const size_t index, check(name, dtype, shape));
  const int64_t bytes = bytes_at(program_->params()[index].type, {});
  // A fresh block: a session may still hold the old one.
  BSM_ASSIGN(BlockPtr block, program_->device()->allocate(bytes, "param `" + name + "`"));
  if (bytes > 0) std::memcpy(block->host(), data, static_cast<size_t>(bytes));
  blocks_[index] = std::move(block);
  mapped_[index] = false;
  ++version_;
  return {};
}

Status Weights::map(const std::string& name, DType dtype, std::span<const int64_t> shape,
                    const std::byte* data, int64_t bytes, std::shared_ptr<const void> keep) {
  BSM_ASSIGN(const size_t index, check(name, dtype, shape));
  const int64_t want = bytes_at(program_->params()[index].type, {});
  if (bytes != want) {
    return Error{ErrorKind::kShape,
                 "param `" + name + "` takes " + std::to_string(want) + " bytes, the mapping has " +
                     std::to_string(bytes),
                 {}};
  }
  BSM_ASSIGN(blocks_[index],
             program_->device()->wrap(data, bytes, std::move(keep), "param `" + name + "`"));
  mapped_[index] = true;
  ++version_;
  return {};
}

Status Weights::read(const std::string& name, std::byte* into) const {
  const auto& params = program_->params();
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name != name) continue;
    if (blocks_[i] == nullptr) {
      return Error{ErrorKind::kState, "param `" + name + "` has no data yet", {}};
    }
    const auto bytes = static_cast<size_t>(blocks_[i]->bytes());
    if (bytes > 0) std::memcpy(into, blocks_[i]->host(), bytes);
    return {};
  }
  return Error{ErrorKind::kName, "no param named `" + name + "`", {}};
}

Status Weights::check_complete() const {
  std::string missing;
  int count = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] != nullptr) continue;
    if (++count <= 5) missing += (missing.empty() ? "`" : ", `") + program_->params()[i].name + "`";
  }
  if (count == 0) return {};
  if (count > 5) missing += " and " + std::to_string(count - 5) + " more";
  return Error{ErrorKind::kState, "params without data: " + missing, {}};
}

Status Weights::seal() {
  BSM_TRY(check_complete());
  sealed_ = true;
  return {};
}

int64_t Weights::bytes() const {
  int64_t sum = 0;
  for (const BlockPtr& b : blocks_) sum += b == nullptr ? 0 : b->bytes();
  return sum;
}

int64_t Weights::mapped_bytes() const {
  int64_t sum = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] != nullptr && mapped_[i]) sum += blocks_[i]->bytes();
  }
  return sum;
}

}  // namespace bessemer
