// This process: its machine, its processors; and random numbers that cannot be guessed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::os {

/// Equal for two processes exactly when they can share memory and abstract sockets: host name, boot id and network
/// namespace. Any thread.
std::string machine_identity();

/// The processors that the calling thread may run on, ascending.
std::vector<int> cpus_allowed();

/// unavailable where the kernel gives this process no random numbers: neither by getrandom nor in /dev/urandom. To be
/// asked once before the first of them.
Status check_random();

/// Whether a debugger has this process. Reads a file of /proc; false where that cannot be read. Any thread.
bool is_traced();

/// From the kernel's generator; fit for secrets.
std::uint64_t random_u64();

}  // namespace grapnel::os
