// What the ranks of the launch tests do once they have joined, however they did.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"

namespace grapnel::probe {

/// One write, so that lines of ranks do not mix.
void say_line(const std::string& text);
/// "probe FAILED: …" and exit code 99.
[[noreturn]] void fail(const std::string& what);
void need(bool condition, const std::string& what);
void need(const Status& status, const std::string& what);

/// Everything that a launch promises; "probe ok …". Collective.
void check(launch::Launch& launch);

[[noreturn]] void sleep_for_ever();
/// "ready RANK PID", then `how` for ever: sleep, compute, fence (but for the last rank), health (until it fails).
[[noreturn]] void stay(launch::Launch& launch, const std::string& how);
/// `rank` exits with `code` after joining, without leaving the job, or aborts it; the others sleep.
[[noreturn]] void end_badly(launch::Launch& launch, bool abort, int rank, int code);

}  // namespace grapnel::probe
