// The limit of memory that adapters may pin, as an ordinary user has it: root's capability is given up in a child.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.hpp"
#include "os/limits.hpp"

namespace grapnel::os {
namespace {

bool give_up_pinning() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  return ::syscall(SYS_capset, &header, data) == 0;
}

// In a child with this limit: the first letter of what came.
int answer_with_limit(rlim_t limit_bytes, std::size_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{limit_bytes, limit_bytes};
    if (!give_up_pinning() || ::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) ::_exit('?');
    const std::string words = pinning_limit_met(bytes);
    const bool names_limit = words.find("may pin 64 KiB") != std::string::npos;
    const bool names_remedy = words.find("ulimit -l unlimited") != std::string::npos;
    ::_exit(words.empty() ? 'n' : names_limit && names_remedy ? 'y' : 'w');
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PinningLimit, IsNamedWithItsRemedyWhereItIsTooLow) {
  EXPECT_EQ(answer_with_limit(64 * base::kKiB, base::kMiB), 'y');
}

// Where the memory begins inside a page, the kernel pins one page more than its length has.
TEST(PinningLimit, IsNamedWhereThePageOfTheBeginningIsOneTooMany) {
  EXPECT_EQ(answer_with_limit(64 * base::kKiB, 64 * base::kKiB), 'y');
  EXPECT_EQ(answer_with_limit(64 * base::kKiB, 60 * base::kKiB), 'n');
}

TEST(PinningLimit, IsNotNamedWhereItIsEnough) { EXPECT_EQ(answer_with_limit(64 * base::kKiB, 4096), 'n'); }

}  // namespace
}  // namespace grapnel::os
