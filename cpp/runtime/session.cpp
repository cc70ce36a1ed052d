#include "runtime/session.h"

#include <algorithm>
#include <cstring>

namespace bessemer {
namespace {

Error busy() {
  return Error{ErrorKind::kBusy,
               "the session is in use by another call; give each thread a session of its own",
               {}};
}

int64_t total_bytes(const std::vector<BlockPtr>& blocks) {
  int64_t sum = 0;
  for (const BlockPtr& b : blocks) sum += b->bytes();
  return sum;
}

void fill(const std::vector<BlockPtr>& blocks, std::byte value) {
  for (const BlockPtr& b : blocks) {
    if (b->bytes() == 0) continue;
    std::memset(b->host(), std::to_integer<int>(value), static_cast<size_t>(b->bytes()));
  }
}

}  // namespace

class Session::Turn {
 public:
  explicit Turn(std::atomic<bool>& flag) : flag_(flag), mine_(!flag.exchange(true)) {}
  ~Turn() {
    if (mine_) flag_.store(false);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool mine() const { return mine_; }

 private:
  std::atomic<bool>& flag_;
  bool mine_;
};

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Program> program,
                                                 std::shared_ptr<Weights> weights) {
  std::unique_ptr<Session> s(new Session());
  s->program_ = std::move(program);
  s->weights_ = std::move(weights);
  Device& device = *s->program_->device();
  for (int64_t bytes : s->program_->arena_block_bytes()) {
    BSM_ASSIGN(BlockPtr block, device.allocate(bytes, "arena"));
    s->arena_.push_back(std::move(block));
  }
  for (const Port& state : s->program_->states()) {
    BSM_ASSIGN(BlockPtr block,
               device.allocate(bytes_at(state.type, {}), "state `" + state.name + "`"));
    s->states_.push_back(std::move(block));
  }
  s->replays_.resize(s->program_->buckets().size());
  return s;
}

Result<ExtentValues> Session::resolve_extents(
    std::span<const InputView> inputs,
    std::span<const std::pair<std::string, int64_t>> given) const {
  const std::vector<Extent>& extents = program_->graph().extents();
  const std::vector<Port>& ports = program_->inputs();
  ExtentValues values(extents.size(), -1);
  const auto bind_value = [&](ExtentId id, int64_t value, const std::string& by) -> Status {
    const Extent& e = extents[id];
    if (value < 0 || value > e.max) {
      return Error{ErrorKind::kInvalidArgument,
                   by + " gives extent `" + e.name + "` = " + std::to_string(value) +
                       ", outside 0.." + std::to_string(e.max),
                   {}};
    }
    if (values[id] >= 0 && values[id] != value) {
      return Error{ErrorKind::kShape,
                   by + " gives extent `" + e.name + "` = " + std::to_string(value) +
                       ", elsewhere it is " + std::to_string(values[id]),
                   {}};
    }
    values[id] = value;
    return {};
  };
  for (const auto& [name, value] : given) {
    const auto it = std::find_if(extents.begin(), extents.end(),
                                 [&n = name](const Extent& e) { return e.name == n; });
    if (it == extents.end()) {
      return Error{ErrorKind::kName, "no extent named `" + name + "`", {}};
    }
    BSM_TRY(bind_value(static_cast<ExtentId>(it - extents.begin()), value, "the call"));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const Type& type = ports[i].type;
    const std::string by = "input `" + ports[i].name + "`";
    if (inputs[i].dtype != type.dtype) {
      return Error{ErrorKind::kDtype,
                   by + " is " + std::string(to_string(type.dtype)) + ", got " +
                       std::string(to_string(inputs[i].dtype)),
                   {}};
    }
    if (inputs[i].shape.size() != type.shape.size()) {
      return Error{
          ErrorKind::kShape,
          by + " is " + to_string(type.shape, extents) + ", got " + shape_text(inputs[i].shape),
          {}};
    }
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (type.shape[d].is_extent()) {
        BSM_TRY(bind_value(type.shape[d].extent_id(), inputs[i].shape[d], by));
      }
    }
  }
  for (size_t e = 0; e < values.size(); ++e) {
    if (values[e] >= 0) continue;
    return Error{
        ErrorKind::kInvalidArgument,
        "extent `" + extents[e].name + "` is not the size of any input; pass it in extents",
        {}};
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    for (size_t d = 0; d < ports[i].type.shape.size(); ++d) {
      if (ports[i].type.shape[d].evaluate(values) == inputs[i].shape[d]) continue;
      return Error{ErrorKind::kShape,
                   "input `" + ports[i].name + "` is " + to_string(ports[i].type.shape, extents) +
                       ", got " + shape_text(inputs[i].shape),
                   {}};
    }
  }
  return values;
}

Status Session::bind(size_t bucket) {
  if (bound_version_ != weights_->version()) {
    for (auto& replay : replays_) replay.reset();
    bound_version_ = weights_->version();
  }
  if (replays_[bucket] != nullptr) return {};
  BSM_TRY(weights_->check_complete());
  const Storage storage{arena_, weights_->blocks(), states_, program_->constants()};
  BSM_ASSIGN(replays_[bucket], program_->buckets()[bucket].compiled->bind(storage));
  replays_[bucket]->set_profiling(profiling_);
  return {};
}

Status Session::run(std::span<const int64_t> extents, std::span<const InputView> inputs,
                    std::span<std::byte* const> outputs) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  if (inputs.size() != program_->inputs().size() || outputs.size() != program_->outputs().size()) {
    return Error{ErrorKind::kInvalidArgument,
                 "a run of " + std::to_string(program_->inputs().size()) + " inputs and " +
                     std::to_string(program_->outputs().size()) + " outputs got " +
                     std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()),
                 {}};
  }
  const size_t bucket = program_->bucket_for(extents);
  BSM_TRY(bind(bucket));
  std::vector<const std::byte*> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i].data;
  return replays_[bucket]->run(extents, in, outputs);
}

Result<size_t> Session::find_state(const std::string& name, int64_t bytes) const {
  const auto& states = program_->states();
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].name != name) continue;
    if (bytes != states_[i]->bytes()) {
      return Error{ErrorKind::kShape,
                   "state `" + name + "` has " + std::to_string(states_[i]->bytes()) +
                       " bytes, got " + std::to_string(bytes),
                   {}};
    }
    return i;
  }
  return Error{ErrorKind::kName, "no state named `" + name + "`", {}};
}

Status Session::read_state(const std::string& name, std::byte* into, int64_t bytes) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  BSM_ASSIGN(const size_t i, find_state(name, bytes));
  if (bytes > 0) std::memcpy(into, states_[i]->host(), static_cast<size_t>(bytes));
  return {};
}

Status Session::write_state(const std::string& name, const std::byte* from, int64_t bytes) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  BSM_ASSIGN(const size_t i, find_state(name, bytes));
  if (bytes > 0) std::memcpy(states_[i]->host(), from, static_cast<size_t>(bytes));
  return {};
}

Status Session::fill_states(std::byte value) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  fill(states_, value);
  return {};
}

int64_t Session::state_bytes() const { return total_bytes(states_); }
int64_t Session::arena_bytes() const { return total_bytes(arena_); }

Status Session::poison_arena(std::byte value) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  fill(arena_, value);
  return {};
}

Result<std::vector<std::byte>> Session::read_arena() {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  std::vector<std::byte> out;
  for (const BlockPtr& a : arena_) out.insert(out.end(), a->host(), a->host() + a->bytes());
  return out;
}

Status Session::set_profiling(bool on) {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  profiling_ = on;
  for (auto& replay : replays_) {
    if (replay != nullptr) replay->set_profiling(on);
  }
  return {};
}

Result<std::vector<std::vector<ThunkTime>>> Session::times() {
  const Turn turn(busy_);
  if (!turn.mine()) return busy();
  std::vector<std::vector<ThunkTime>> all;
  for (const auto& replay : replays_) {
    all.push_back(replay == nullptr ? std::vector<ThunkTime>{} : replay->times());
  }
  return all;
}

}  // namespace bessemer
