// Every process that a job has started, however it hides: found by parentage, because groups and sessions can be left.
//
// The launcher's processes are subreapers: a rank's orphans become their children and so stay in the tree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

namespace grapnel::tool {

/// From now on orphans among this process's descendants become its children.
void adopt_orphans();

/// Children of this process.
std::set<pid_t> children();

/// Kills all descendants of this process, except the trees of `spared`, and collects them; gives up after two seconds
/// (a process in an uninterruptible system call).
void kill_descendants(const std::set<pid_t>& spared);

}  // namespace grapnel::tool
