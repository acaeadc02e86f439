// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_process_copy.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace grapnel::transport::ucx {
namespace {

using CopyCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

Status copy(CopyCall call, const char* doing, const ProcessName& target, void* local, std::uintptr_t remote_address,
            std::size_t bytes) {
  std::size_t copied = 0;
  while (copied < bytes) {
    const iovec here{static_cast<std::byte*>(local) + copied, bytes - copied};
    // The address is the target's: never followed here.
    const iovec there{reinterpret_cast<void*>(remote_address + copied), bytes - copied};
    const ssize_t moved = call(static_cast<pid_t>(target.pid), &here, 1, &there, 1, 0);
    if (moved > 0) {
      copied += static_cast<std::size_t>(moved);
      continue;
    }
    const int error = moved < 0 ? errno : EFAULT;
    if (error == EINTR) continue;
    return {
        error == ESRCH ? Code::peer_dead : Code::refused,
        fmt::format("cannot {} {} bytes at {:#x} of process {}: {}; the kernel must allow this process to trace that "
                    "one (same user; kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE)",
                    doing, bytes, remote_address, target.pid, std::strerror(error))};
  }
  return {};
}

}  // namespace

ProcessName my_process_name() {
  struct stat description {};
  if (::stat("/proc/self/ns/pid", &description) != 0) return {};
  return {.pid = ::getpid(), .pid_namespace = description.st_ino};
}

Status copy_to_process(const ProcessName& target, ByteView local, std::uintptr_t remote_address) {
  // The kernel only reads from the local side of a write; the structure has no const variant.
  return copy(::process_vm_writev, "write", target, const_cast<std::byte*>(local.data()), remote_address, local.size());
}

Status copy_from_process(const ProcessName& target, ByteSpan local, std::uintptr_t remote_address) {
  return copy(::process_vm_readv, "read", target, local.data(), remote_address, local.size());
}

}  // namespace grapnel::transport::ucx
