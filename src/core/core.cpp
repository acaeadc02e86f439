// SPDX-License-Identifier: Apache-2.0
#include "core/core.hpp"

namespace grapnel::core {

void no_such_service() {
  GRAPNEL_CHECK(false, "a service is not in the array of services, or behind those that need it");
  __builtin_unreachable();
}

}  // namespace grapnel::core
