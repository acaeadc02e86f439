// The common work of the oversubscription row: the same total, whatever the number of ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

/// This rank's share, between two barriers; the time between them. Collective.
std::uint64_t do_share(Session& s);

}  // namespace grapnel::bench
