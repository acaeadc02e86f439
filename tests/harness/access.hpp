// What is inside a Runtime, for tests of single layers.
#pragma once

#include "runtime/implementation.hpp"

namespace grapnel {

struct RuntimeAccess {
  static Runtime::Implementation& parts(Runtime& g) { return *g.implementation_; }
};

}  // namespace grapnel
