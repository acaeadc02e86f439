// What the user asked `grapnel run` for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace grapnel::tool {

struct RunOptions {
  int ranks = 1;
  int nodes = 0;         ///< virtual nodes per machine; 0: GRAPNEL_NODES as it is
  bool label = false;    ///< every line of output begins with its rank
  bool mpi = false;      ///< the program calls MPI_Init: its own launcher has to start it
  std::string hosts;     ///< "a,b" or "a:2,b:1" (ranks each); empty: this machine
  std::string launcher;  ///< what to hand over to; empty: what is there
  double timeout_s = 0;  ///< 0: none
  std::vector<std::string> command;
};

/// `grapnel run`. The answer is the exit code.
int run(RunOptions options);

}  // namespace grapnel::tool
