// Signals as something to poll on.
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

/// Blocks the forwarded signals, SIGCHLD, SIGPIPE and the terminal's stop signals; `before` gets the mask until now,
/// for the ranks.
void block_signals(sigset_t& before);

/// The blocked ones and SIGCHLD arrive here. One per process: it belongs to who created it. Errors: system.
Result<os::Descriptor> open_signals();

/// The next signal, if there is one.
std::optional<int> next_signal(const os::Descriptor& signals);

}  // namespace grapnel::tool
