// Signal handlers of a rank, which are set only where the user asked for them and the disposition is the default:
// GRAPNEL_STATUS_SIGNAL (the watcher thread then prints a report) and GRAPNEL_BACKTRACE=1 (of a crash).
//
// Signal dispositions belong to the process, so this state does too. Threads: `open` and `close`: the rank's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "launch/status_socket.hpp"
#include "runtime/settings.hpp"

namespace grapnel::runtime {

/// `socket` may be null, and lives until `close`.
void open_signal_reports(const Settings& settings, const launch::StatusSocket* socket, std::size_t rank);
/// Sets the dispositions back, where they are still ours.
void close_signal_reports(const launch::StatusSocket* socket);

}  // namespace grapnel::runtime
