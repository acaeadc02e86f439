// The process of the launcher that started this rank on this machine (mpirun, orted, prted, hydra's proxy, slurmstepd).
//
// A job that joined over a communicator has no connection to its launcher; the end of this process is the end of the
// launcher here. Where daemons of other machines lose their launcher, they end by themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "os/descriptor.hpp"

namespace grapnel::launch {

/// A pidfd of the nearest ancestor that is a launcher: readable once that process has ended. Invalid where no ancestor
/// is one (another process namespace, a launcher with another name), or where the kernel has no pidfds.
os::Descriptor open_launcher_process();

/// Whether a process of this name (/proc/PID/stat; 15 characters at most) is a launcher's.
bool is_launcher_name(std::string_view name);

}  // namespace grapnel::launch
