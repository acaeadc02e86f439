// The size of a worker's receive buffer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.hpp"

namespace grapnel::transport::local {

inline constexpr std::size_t kReadBytes = 128 * base::kKiB;

}  // namespace grapnel::transport::local
