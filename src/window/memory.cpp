// Memory that a window gets after it was made.
// SPDX-License-Identifier: Apache-2.0
#include "window/window.hpp"

namespace grapnel::window {

// No window is dynamic yet: `Windows::create_dynamic` answers why.
Outcome Window::attach(void*, std::size_t) {
  return Outcome(Fault::flavor, "attach: the window is not dynamic; it has the memory that it was made with");
}

Outcome Window::detach(const void*) {
  return Outcome(Fault::flavor, "detach: the window is not dynamic; it has the memory that it was made with");
}

}  // namespace grapnel::window
