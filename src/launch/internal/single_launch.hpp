// No launcher: this process is the whole job.
#pragma once

#include <memory>

#include "launch/launch.hpp"

namespace grapnel::launch {

Result<std::unique_ptr<Launch>> join_single(const base::Config& config, os::Host& host);

}  // namespace grapnel::launch
