// What a launcher's process was given at its start, and what of it the ranks get.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <vector>

namespace grapnel::tool {

/// Descriptors above 2 that were open when this process was started and are meant for the programs that it starts
/// (`<(command)` of a shell makes such), ascending. Not an outer launcher's socket. To be asked before others are
/// opened.
std::vector<int> inherited_descriptors();

/// Raises the soft limit of open files to `wanted` where the hard limit lets it. The answer is the limit before.
rlim_t want_descriptors(std::size_t wanted);

}  // namespace grapnel::tool
