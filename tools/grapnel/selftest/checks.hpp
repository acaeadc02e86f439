// The ranks' part of a self-test: what `grapnel selftest` starts, under any launcher.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::tool::selftest {

/// Rank 0 sends the rows (lines.hpp). `stretch`: every deadline is so many times as long. The answer is the exit code:
/// 0 where the job has come to its end, whatever the verdicts.
int run_checks(double stretch);

/// The highest rank ends itself by SIGKILL; the others work until the launcher or their servers end the job.
int run_death(double stretch);

}  // namespace grapnel::tool::selftest
