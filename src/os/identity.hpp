// Who and where this process is: its machine, its processors; and random numbers that nobody can guess.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace grapnel::os {

/// Equal for two processes exactly when they can share memory and abstract sockets: host name, boot id and network
/// namespace. Any thread.
std::string machine_identity();

/// The processors that the calling thread may run on, ascending.
std::vector<int> cpus_allowed();

/// From the kernel's generator; fit for secrets.
std::uint64_t random_u64();

}  // namespace grapnel::os
