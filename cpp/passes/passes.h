// Every pass; pipeline.cpp has their order and docs/passes.md what each matches. A pass reads the
// rewriter's graph, asks for changes, and gives how many rewrites it made.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "passes/pipeline.h"
#include "passes/rewriter.h"

namespace bessemer::passes {

using PassFunction = Result<int64_t>(Rewriter& r, const PassOptions& options);

// Clean-up.
PassFunction dce;
PassFunction canonicalise;
PassFunction constant_fold;
PassFunction algebraic;
PassFunction cse;
// Recognition of structured ops from primitives.
PassFunction recognise_activation;
PassFunction recognise_norm;
PassFunction recognise_attention;
// Fusion.
PassFunction sink_reshape;
PassFunction linear;
PassFunction linear_bias;
PassFunction linear_activation;
PassFunction linear_gate;
PassFunction linear_residual;
PassFunction shared_input;
PassFunction norm_prologue;
PassFunction norm_add;
PassFunction add_norm;
PassFunction rope_append;
PassFunction regions;
// Choice of arithmetic.
PassFunction precision;

}  // namespace bessemer::passes
