// SPDX-License-Identifier: Apache-2.0
#include "run/inherited.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace grapnel::tool {

std::vector<int> inherited_descriptors() {
  std::vector<int> found;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return found;
  const char* const outer = std::getenv("PMI_FD");
  const int outer_socket = outer != nullptr ? std::atoi(outer) : -1;
  while (const dirent* entry = ::readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (number <= STDERR_FILENO || number == ::dirfd(folder) || number == outer_socket) continue;
    const int flags = ::fcntl(number, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found.push_back(number);
  }
  ::closedir(folder);
  std::sort(found.begin(), found.end());
  return found;
}

rlim_t want_descriptors(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  if (before < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return before;
}

}  // namespace grapnel::tool
