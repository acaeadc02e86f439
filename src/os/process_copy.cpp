// SPDX-License-Identifier: Apache-2.0
#include "os/process_copy.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace grapnel::os {
namespace {

using CopyCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

struct Direction {
  CopyCall call;
  const char* verb;
};
constexpr Direction kTo{::process_vm_writev, "write"}, kFrom{::process_vm_readv, "read"};

Status failure(int error, const Direction& way, const ProcessName& target, std::uintptr_t address) {
  Status why(
      error == ESRCH ? Code::peer_dead : Code::refused,
      fmt::format("cannot {} memory at {:#x} of process {}: {}; the kernel must allow this process to trace that "
                  "one (same user; kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE)",
                  way.verb, address, target.pid, std::strerror(error)));
  errno = error;
  return why;
}

// At most kMostCopyRuns. The kernel may copy less than it was asked for; the loop asks for the rest.
Status copy_some(const Direction& way, const ProcessName& target, std::span<const CopyRun> runs) {
  std::array<iovec, kMostCopyRuns> here, there;
  std::size_t left = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    here[i] = {runs[i].local, runs[i].bytes};
    there[i] = {reinterpret_cast<void*>(runs[i].remote), runs[i].bytes};
    left += runs[i].bytes;
  }
  std::size_t first = 0;
  while (left > 0) {
    const std::size_t count = runs.size() - first;
    const ssize_t moved = way.call(static_cast<pid_t>(target.pid), &here[first], count, &there[first], count, 0);
    if (moved < 0 && errno == EINTR) continue;
    const auto at = [&] { return reinterpret_cast<std::uintptr_t>(there[first].iov_base); };
    if (moved < 0) return failure(errno, way, target, at());
    if (moved == 0) return failure(EFAULT, way, target, at());
    auto done = static_cast<std::size_t>(moved);
    left -= done;
    while (done > 0 || (left > 0 && there[first].iov_len == 0)) {
      const std::size_t part = std::min(done, there[first].iov_len);
      for (iovec* side : {&here[first], &there[first]}) {
        side->iov_base = static_cast<std::byte*>(side->iov_base) + part;
        side->iov_len -= part;
      }
      done -= part;
      if (there[first].iov_len == 0) ++first;
    }
  }
  return {};
}

Status copy(const Direction& way, const ProcessName& target, std::span<const CopyRun> runs) {
  while (!runs.empty()) {
    const std::size_t count = std::min(runs.size(), kMostCopyRuns);
    GRAPNEL_TRY(copy_some(way, target, runs.first(count)));
    runs = runs.subspan(count);
  }
  return {};
}

}  // namespace

ProcessName my_process_name() {
  struct stat description {};
  if (::stat("/proc/self/ns/pid", &description) != 0) return {};
  return {.pid = ::getpid(), .pid_namespace = description.st_ino};
}

// Without Yama the kernel has no such call, and needs none.
void allow_process_copies() { static_cast<void>(::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)); }

Status copy_to_process(const ProcessName& target, std::span<const CopyRun> runs) { return copy(kTo, target, runs); }
Status copy_from_process(const ProcessName& target, std::span<const CopyRun> runs) { return copy(kFrom, target, runs); }

Status copy_to_process(const ProcessName& target, ByteView local, std::uintptr_t remote_address) {
  // The kernel only reads from the local side of a write; the structure has no const variant.
  const CopyRun run{const_cast<std::byte*>(local.data()), remote_address, local.size()};
  return copy_to_process(target, {&run, 1});
}

Status copy_from_process(const ProcessName& target, ByteSpan local, std::uintptr_t remote_address) {
  const CopyRun run{local.data(), remote_address, local.size()};
  return copy_from_process(target, {&run, 1});
}

}  // namespace grapnel::os
