// What the user asked `grapnel selftest` for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace grapnel::tool {

struct SelftestOptions {
  int ranks = 0;      ///< 0: what fits the hosts
  int nodes = 0;      ///< virtual nodes per machine; 0: two where all is on this machine, else GRAPNEL_NODES as it is
  std::string hosts;  ///< as `grapnel run` takes them
  std::string launcher;  ///< as `grapnel run` takes it
  std::string json;      ///< the file that gets the results; empty: none
  double limit_s = 60;   ///< the whole ends within this time
  std::string part;      ///< of a rank that the selftest itself has started: "checks" or "death"; empty: the command
};

/// `grapnel selftest`. The answer is the exit code: 0 where every line is good.
int run_selftest(const SelftestOptions& options);

}  // namespace grapnel::tool
