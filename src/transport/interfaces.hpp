// Which of this machine's interfaces a job between machines uses.
//
// Threads: stateless, any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/interfaces.hpp"

namespace grapnel::transport {

/// The smallest set: the interfaces with an address in a network in which every other machine has another address.
/// Where there is none (routed networks), those whose address no other machine has: a bridge such as docker0 or virbr0
/// has the same on many machines and leads to none of them. Empty: no choice is made.
std::vector<std::string> choose_interfaces(const std::vector<os::Interface>& mine,
                                           const std::vector<std::vector<os::Interface>>& other_machines);

/// Collective, in jobs of several machines: asks the others' leaders, and chooses. Errors: the launcher's.
Result<std::vector<std::string>> agree_on_interfaces(launch::Launch& launch);

}  // namespace grapnel::transport
