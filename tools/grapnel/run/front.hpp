// The launcher's first process, the one that the user sees: passes signals (and a terminal's input) on, waits for the
// second one, and cleans up when that is killed.
//
// It alone prints why the job ends: the second one sends it the verdict. So the line arrives once, and arrives even
// when the second one dies right after it has decided.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "run/options.hpp"

namespace grapnel::tool {

/// Runs the job; `program` is a path. The answer is the exit code.
int run_front(const RunOptions& options, const std::string& program);

}  // namespace grapnel::tool
