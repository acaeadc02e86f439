// The launcher's first process, the one that the user sees: passes signals (and a terminal's input) on, waits for the
// second one, and cleans up when that is killed.
#pragma once

#include <string>

#include "run/options.hpp"

namespace grapnel::tool {

/// Runs the job; `program` is a path. The answer is the exit code.
int run_front(const RunOptions& options, const std::string& program);

}  // namespace grapnel::tool
