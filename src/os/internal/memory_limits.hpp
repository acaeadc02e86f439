// How much memory may still be taken, from /proc/meminfo and the memory cgroups above a process.
//
// Every file is read below `root`, so that a test can lay out a machine of its own in a folder; "" is this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "os/shared_memory.hpp"

namespace grapnel::os::internal {

/// MemAvailable and then one limit for each memory cgroup, from the process's own up to the root of its hierarchy.
/// What cannot be read, or sets no limit, is left out.
std::vector<MemoryLimit> memory_limits(const std::string& root);

/// The least of `memory_limits`; where there is none (no /proc), no limit.
MemoryLimit tightest_memory_limit_below(const std::string& root);

}  // namespace grapnel::os::internal
