// Signals as something to poll on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <optional>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::tool {

/// Signals that the launcher passes on to the ranks; those that were ignored when it started (nohup) stay ignored.
sigset_t forwarded_signals();

/// Ends the job, where the ranks let it: INT, TERM, HUP, QUIT.
bool asks_to_end(int signal);

/// The stop that a terminal asks for is apart: it must stay pending until the launcher is ready to stop. A continue
/// that arrives before then takes it away again, in the kernel, so that stop and continue cannot pass each other.
class StopRequests {
 public:
  /// Errors: system.
  Status open();
  /// For poll(): readable while a stop is asked for.
  int number() const { return signals_.number(); }
  bool pending() const;
  /// Stops this process until it is continued, if the stop is still asked for. Where no shell could continue it (an
  /// orphaned process group) the kernel ignores the request, and so does this.
  void stop() const;

 private:
  os::Descriptor signals_;
};

/// Blocks the forwarded signals, SIGCHLD, SIGPIPE and the terminal's stop signals.
void block_signals();

enum class Stops { included, apart };
/// The blocked ones and SIGCHLD arrive here, but for SIGTSTP where stops are `apart`. One per process: it belongs to
/// who created it. Errors: system.
Result<os::Descriptor> open_signals(Stops stops);

/// The next signal, if there is one.
std::optional<int> next_signal(const os::Descriptor& signals);

}  // namespace grapnel::tool
