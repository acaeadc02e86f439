// SPDX-License-Identifier: Apache-2.0
#include "os/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace grapnel::os {

void fill_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Programs that this one starts get it, too.
    if (const int opened = ::open("/dev/null", O_RDWR); opened > STDERR_FILENO) ::close(opened);
  }
}

}  // namespace grapnel::os
