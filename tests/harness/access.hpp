// What is inside a Runtime, for tests of single layers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/implementation.hpp"

namespace grapnel {

struct RuntimeAccess {
  static Runtime::Implementation& parts(Runtime& g) { return *g.implementation_; }
};

}  // namespace grapnel
