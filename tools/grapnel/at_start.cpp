// SPDX-License-Identifier: Apache-2.0
#include "at_start.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/standard_descriptors.hpp"

namespace grapnel::tool {
namespace {

// What the kernel's rt_sigaction writes; its size of a signal set is 8 bytes.
struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

bool hang_up_was_ignored = false;

// Runs before the constructors of any library: libucs takes SIGHUP in its own. No sanitizer is there yet.
__attribute__((no_sanitize("address", "thread", "undefined"))) void look_before_the_libraries(int, char**, char**) {
  KernelAction action = {};
  if (::syscall(SYS_rt_sigaction, SIGHUP, nullptr, &action, 8) == 0) {
    hang_up_was_ignored = action.handler == reinterpret_cast<void*>(1);  // SIG_IGN
  }
}

__attribute__((section(".preinit_array"), used)) void (*const kLook)(int, char**, char**) = look_before_the_libraries;

}  // namespace

void set_right_what_was_inherited() {
  os::fill_standard_descriptors();
  ::signal(SIGHUP, hang_up_was_ignored ? SIG_IGN : SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace grapnel::tool
