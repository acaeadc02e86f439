// The rank processes: started, signalled, collected.
//
// Each rank leads a process group of its own, so that a forwarded signal reaches the program behind a wrapper script
// as it would from a terminal. The kernel kills a rank when the process that forked it dies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::tool {

class Ranks {
 public:
  struct Start {
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;  ///< "NAME=value"
    int input = -1;                        ///< descriptors that become 0, 1 and 2
    int output = 1;
    int errors = 2;
    int launcher = -1;         ///< its end of the socket to the launcher,
    int launcher_number = -1;  ///< and the descriptor that this becomes
    std::vector<int> kept;     ///< descriptors of the launcher's own start that the ranks have, too; ascending
    rlim_t descriptors = 0;    ///< the soft limit of open files
  };
  struct End {
    int rank;
    int wait_status;
  };

  /// Starts the next rank; from the main thread only (the kernel ties the death signal to the thread that forked).
  /// No signal is blocked in a rank; those that were ignored at the launcher's start stay so (nohup), but for SIGCHLD.
  /// Errors: system, when it cannot be forked or executed; timed_out.
  Status start(const Start& start);

  /// Those that ended since the last call; those killed by a signal first, because exits are mostly their consequence.
  /// Orphans of ranks are collected and not reported.
  std::vector<End> collect();
  /// Whether one that was not collected yet has begun to end. The kernel closes its sockets before its end can be
  /// collected, so that others may end first because of it.
  bool has_dying() const;

  /// To every rank that lives, and its group.
  void signal_all(int signal) const;
  std::size_t living() const;

 private:
  std::vector<pid_t> processes_;  ///< by rank; 0 when it has ended
};

}  // namespace grapnel::tool
