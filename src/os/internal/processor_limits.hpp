// How many processors a process may keep busy, from the cgroups above it.
//
// Every file is read below `root`, so that a test can lay out a machine of its own in a folder; "" is this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace grapnel::os::internal {

/// The least of `online` and what each cgroup grants: the processors of its cpuset, and its quota of processor time,
/// rounded up. At least 1. Not what the process is bound to: a launcher binds ranks to single cores, and the others'
/// count too. What cannot be read is no limit.
std::size_t usable_processors(const std::string& root, std::size_t online);

}  // namespace grapnel::os::internal
