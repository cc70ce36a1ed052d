#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "ops/op_impl.h"
#include "passes/passes.h"

namespace bessemer::passes {
namespace {

struct Pass {
  const char* name;
  PassFunction* run;
};

// THE list. A name may stand more than once: its reports are added up.
constexpr Pass kPipeline[] = {
    // Readers are counted by what follows: only those that matter may be left.
    {"dce", dce},
    {"canonicalise", canonicalise},
    {"constant_fold", constant_fold},
    {"algebraic", algebraic},
    {"cse", cse},
    // From the smallest pattern to the largest.
    {"recognise_activation", recognise_activation},
    {"recognise_norm", recognise_norm},
    {"recognise_attention", recognise_attention},
    // Recognised attention leaves transposes that cancel with those around it.
    {"canonicalise", canonicalise},
    {"sink_reshape", sink_reshape},
    // A product first, then what may stand behind it, in the order of the kernel's epilogue.
    {"linear", linear},
    {"linear_bias", linear_bias},
    {"linear_activation", linear_activation},
    {"linear_gate", linear_gate},
    {"linear_residual", linear_residual},
    // Sharing comes after the epilogues, which need one result, and before the prologue, which
    // needs one reader.
    {"shared_input", shared_input},
    {"norm_prologue", norm_prologue},
    {"norm_add", norm_add},
    {"add_norm", add_norm},
    {"rope_append", rope_append},
    // Whatever is left over.
    {"regions", regions},
    {"precision", precision},
};

PassReport& report_of(std::vector<PassReport>& reports, const char* name) {
  const auto it = std::find_if(reports.begin(), reports.end(),
                               [&](const PassReport& r) { return r.name == name; });
  if (it != reports.end()) return *it;
  reports.push_back({name, 0, 0});
  return reports.back();
}

Status check_names(const std::set<std::string>& disabled) {
  const std::vector<std::string> known = pass_names();
  for (const std::string& name : disabled) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
    return Error{ErrorKind::kName, "no pass named `" + name + "`; there are: " + list, {}};
  }
  return {};
}

// Runs one pass and replaces the graph; how many rewrites it made.
Result<int64_t> run_pass(const Pass& pass, const PassOptions& options, Graph& graph) {
  Rewriter rewriter(std::move(graph));
  BSM_ASSIGN(const int64_t rewrites, pass.run(rewriter, options));
  BSM_ASSIGN(graph, std::move(rewriter).finish());
  if (rewrites > 0) BSM_TRY(ops::verify(graph));
  return rewrites;
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPipeline) {
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) {
      names.emplace_back(pass.name);
    }
  }
  return names;
}

Result<Graph> run_passes(const Graph& graph, const PassOptions& options,
                         std::vector<PassReport>* reports) {
  BSM_TRY(check_names(options.disabled));
  if (options.precision != "default" && options.precision != "f32") {
    return Error{ErrorKind::kInvalidArgument,
                 "precision is `default` or `f32`, got `" + options.precision + "`",
                 {}};
  }
  if (reports != nullptr) reports->clear();
  Graph current = graph;
  if (options.opt_level <= 0) return current;
  for (const Pass& pass : kPipeline) {
    if (options.disabled.contains(pass.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    auto rewrites = run_pass(pass, options, current);
    if (!rewrites) {
      Error error = std::move(rewrites).error();
      error.kind = ErrorKind::kInternal;
      return std::move(error).with_note("in pass `" + std::string(pass.name) + "`");
    }
    if (reports == nullptr) continue;
    PassReport& report = report_of(*reports, pass.name);
    report.rewrites += *rewrites;
    report.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return current;
}

}  // namespace bessemer::passes
