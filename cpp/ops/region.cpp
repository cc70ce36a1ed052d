#include "ops/region.h"

#include <algorithm>
#include <charconv>

#include "kernel_abi/elementwise_params.h"
#include "ops/op_impl.h"

namespace bessemer::ops {
namespace {

Error parse_error(std::string_view program, const std::string& why) {
  return {ErrorKind::kParse, "region program \"" + std::string(program) + "\": " + why, {}};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The text up to `end`, which is removed from `text` together with it.
std::string_view take_until(std::string_view& text, char end) {
  const size_t at = text.find(end);
  const std::string_view piece = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return piece;
}

}  // namespace

bool region_op(Op op) { return is_elementwise(op) || op == Op::k_cast; }

Status check_cast(DType from, DType to) {
  if (is_quantised(from)) {
    return dtype_error("cast does not read block-quantised values; use embedding or matmul");
  }
  if (is_quantised(to)) {
    return dtype_error("cast does not make block-quantised values, asked for " +
                       std::string(to_string(to)));
  }
  return {};
}

DType RegionProgram::dtype_of(int value) const {
  const auto v = static_cast<size_t>(value);
  return v < inputs.size() ? inputs[v] : instrs[v - inputs.size()].dtype;
}

Result<int> RegionProgram::append(Op op, std::span<const int> sources) {
  if (!is_elementwise(op)) {
    return Error{ErrorKind::kInvalidArgument,
                 "`" + std::string(bessemer::to_string(op)) + "` is not elementwise",
                 {}};
  }
  const auto arity = static_cast<size_t>(info(op).min_operands);
  if (sources.size() != arity) {
    return Error{ErrorKind::kInvalidArgument,
                 "`" + std::string(bessemer::to_string(op)) + "` takes " + std::to_string(arity) +
                     " operands, got " + std::to_string(sources.size()),
                 {}};
  }
  Instr instr{op, DType::kF32, {-1, -1, -1}};
  DType dtypes[3] = {};
  for (size_t i = 0; i < arity; ++i) {
    if (sources[i] < 0 || sources[i] >= value_count()) {
      return Error{ErrorKind::kInvalidArgument,
                   "`" + std::string(bessemer::to_string(op)) + "` reads value " +
                       std::to_string(sources[i]) + " of " + std::to_string(value_count()),
                   {}};
    }
    instr.sources[i] = sources[i];
    dtypes[i] = dtype_of(sources[i]);
  }
  BSM_ASSIGN(instr.dtype, elementwise_dtype(op, std::span<const DType>(dtypes, arity)));
  instrs.push_back(instr);
  return value_count() - 1;
}

Result<int> RegionProgram::append_cast(DType to, int source) {
  if (source < 0 || source >= value_count()) {
    return Error{
        ErrorKind::kInvalidArgument,
        "cast reads value " + std::to_string(source) + " of " + std::to_string(value_count()),
        {}};
  }
  BSM_TRY(check_cast(dtype_of(source), to));
  instrs.push_back({Op::k_cast, to, {source, -1, -1}});
  return value_count() - 1;
}

Status RegionProgram::check() const {
  const auto limit = [](size_t got, int most, const char* what) -> Status {
    if (got <= static_cast<size_t>(most)) return {};
    return Error{ErrorKind::kUnsupported,
                 "a region takes at most " + std::to_string(most) + " " + what + ", got " +
                     std::to_string(got),
                 {}};
  };
  BSM_TRY(limit(inputs.size(), abi::kElementwiseMaxInputs, "inputs"));
  BSM_TRY(limit(instrs.size(), abi::kElementwiseMaxInstrs, "instructions"));
  BSM_TRY(limit(outputs.size(), abi::kElementwiseMaxOutputs, "outputs"));
  if (outputs.empty()) {
    return Error{ErrorKind::kInvalidArgument, "a region needs at least one output", {}};
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int v = outputs[i];
    if (v < static_cast<int>(inputs.size()) || v >= value_count()) {
      return Error{ErrorKind::kInvalidArgument,
                   "region output " + std::to_string(v) + " is not the result of an instruction (" +
                       std::to_string(inputs.size()) + " to " + std::to_string(value_count() - 1) +
                       ")",
                   {}};
    }
    if (std::count(outputs.begin(), outputs.end(), v) != 1) {
      return Error{ErrorKind::kInvalidArgument,
                   "region output " + std::to_string(v) + " is given twice",
                   {}};
    }
  }
  return {};
}

std::string RegionProgram::to_string() const {
  std::string text;
  for (const Instr& instr : instrs) {
    if (!text.empty()) text += "; ";
    text += bessemer::to_string(instr.op);
    if (instr.op == Op::k_cast) {
      text += ":";
      text += bessemer::to_string(instr.dtype);
    }
    for (const int source : instr.sources) {
      if (source >= 0) text += " " + std::to_string(source);
    }
  }
  return text;
}

Attrs RegionProgram::attrs() const {
  return Attrs{{"program", to_string()},
               {"outputs", std::vector<int64_t>(outputs.begin(), outputs.end())}};
}

Result<RegionProgram> RegionProgram::parse(std::string_view program, std::span<const DType> inputs,
                                           std::span<const int64_t> outputs) {
  RegionProgram region;
  region.inputs.assign(inputs.begin(), inputs.end());
  std::string_view rest = program;
  while (!trim(rest).empty()) {
    std::string_view text = trim(take_until(rest, ';'));
    std::string_view name = take_until(text, ' ');
    std::string_view dtype_name;
    if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
      dtype_name = name.substr(colon + 1);
      name = name.substr(0, colon);
    }
    const std::optional<Op> op = parse_op(name);
    if (!op || !region_op(*op)) {
      return parse_error(program, "`" + std::string(name) + "` is not an elementwise op");
    }
    std::vector<int> sources;
    for (text = trim(text); !text.empty(); text = trim(text)) {
      const std::string_view word = take_until(text, ' ');
      int value = -1;
      const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (code != std::errc{} || end != word.data() + word.size() || value < 0 ||
          value >= region.value_count()) {
        return parse_error(program, "`" + std::string(word) + "` is not a value known before `" +
                                        std::string(name) + "`");
      }
      sources.push_back(value);
    }
    if (*op == Op::k_cast) {
      const std::optional<DType> to = parse_dtype(dtype_name);
      if (!to) return parse_error(program, "`" + std::string(dtype_name) + "` is not a dtype");
      if (sources.size() != 1) return parse_error(program, "cast takes one value");
      BSM_TRY(region.append_cast(*to, sources[0]));
    } else {
      if (!dtype_name.empty()) {
        return parse_error(program, "only cast is written with a dtype, got `" + std::string(name) +
                                        ":" + std::string(dtype_name) + "`");
      }
      BSM_TRY(region.append(*op, sources));
    }
  }
  for (const int64_t v : outputs) {
    if (v < 0 || v >= region.value_count()) {
      return parse_error(program, "output " + std::to_string(v) + " is not a value of it");
    }
    region.outputs.push_back(static_cast<int>(v));
  }
  BSM_TRY(region.check());
  return region;
}

Result<RegionProgram> RegionProgram::of(const Graph& graph, const Node& node) {
  std::vector<DType> inputs;
  for (const Value& v : node.operands) inputs.push_back(graph.type(v).dtype);
  if (node.op == Op::k_region) {
    return parse(node.attrs.get<std::string>("program"), inputs,
                 node.attrs.get<std::vector<int64_t>>("outputs"));
  }
  RegionProgram region;
  region.inputs = std::move(inputs);
  int value = 0;
  if (node.op == Op::k_cast) {
    BSM_ASSIGN(value, region.append_cast(node.results[0].dtype, 0));
  } else {
    std::vector<int> sources(node.operands.size());
    for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<int>(i);
    BSM_ASSIGN(value, region.append(node.op, sources));
  }
  region.outputs = {value};
  return region;
}

}  // namespace bessemer::ops
