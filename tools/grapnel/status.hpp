// `grapnel status`: what the ranks of a job on this machine wait for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace grapnel::tool {

/// Of the job of which `process` is a launcher or a rank; 0: the user's jobs on this machine. The answer is the exit
/// code.
int status(int process);

/// The same as text, for the launcher `process`; a sentence where no rank has joined.
std::string status_of_job(int process);

}  // namespace grapnel::tool
