// A machine's name, out of its identity.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "os/identity.hpp"

namespace grapnel::tool::selftest {

/// `machine`: an entry of launch::NodeMap::machine_of, or os::machine_identity().
inline std::string host_of(const std::string& machine) { return machine.substr(0, machine.find('/')); }
inline std::string host_name() { return host_of(os::machine_identity()); }

}  // namespace grapnel::tool::selftest
