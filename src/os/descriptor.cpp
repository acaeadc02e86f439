// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor.hpp"

#include <unistd.h>

namespace grapnel::os {

void Descriptor::reset() {
  // Linux frees the number even where close reports EINTR, so there is never a second try.
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

}  // namespace grapnel::os
