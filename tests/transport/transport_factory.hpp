// How a peer of a group gets its transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "transport/transport.hpp"

namespace grapnel::testing {

using TransportFactory = std::function<Result<std::unique_ptr<transport::Transport>>(int index, int count)>;

}  // namespace grapnel::testing
