// No launcher: this process is the whole job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launch/launch.hpp"

namespace grapnel::launch {

Result<std::unique_ptr<Launch>> join_single(const base::Config& config, os::Host& host);

}  // namespace grapnel::launch
