// The launcher's second process: hosts the ranks' server, forks the ranks and ends the job.
//
// It is apart from the one that the user sees so that each can notice the other's death: whichever is killed, the other
// one prints so, kills what is left of the job and cleans up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "os/descriptor.hpp"
#include "run/options.hpp"

namespace grapnel::tool {

struct BackStart {
  std::string program;   ///< path
  os::Descriptor front;  ///< its end is the front's end; the verdict goes into it
  pid_t front_process = 0;
  int input = 0;           ///< rank 0's standard input
  std::vector<int> kept;   ///< descriptors that the ranks have, too
  rlim_t descriptors = 0;  ///< their soft limit of open files
};

/// The body of the second process; the answer is its exit code.
int run_back(const RunOptions& options, BackStart start);

}  // namespace grapnel::tool
