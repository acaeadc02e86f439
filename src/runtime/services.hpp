// The services of the runtime, in the order in which they are opened.
//
// A new layer above the core adds one line to the array in services.cpp, and one row to the table of src/README.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/config.hpp"
#include "core/service.hpp"
#include "launch/launch.hpp"

namespace grapnel::runtime {

using ServiceTypes = std::vector<const core::ServiceType*>;

const ServiceTypes& standard_services();

/// The settings of the core and of these services, in the order in which `grapnel info` prints them.
base::SettingsGroups settings_groups(const ServiceTypes& services = standard_services());

/// What the core and these services carve from the node memory.
std::vector<launch::NodeMemoryNeed> node_memory_needs(const ServiceTypes& services = standard_services());

}  // namespace grapnel::runtime
