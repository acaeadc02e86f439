// Copies between the memories of two processes of one machine: the caller's kernel copies (process_vm_writev,
// process_vm_readv), the other process takes no part and its memory needs no preparation.
//
// The kernel must allow the caller to trace the other process: the same user, and, with Yama's ptrace_scope 1, a call
// of `allow_process_copies` in the other one. A process may always copy its own memory, and an address without memory
// is an error here, not a fault.
//
// Threads: stateless, any thread.
// Source: process_vm_readv(2); UCX's cma transport does the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::os {

/// Names a process to others of its machine. `pid` 0: not reachable this way.
struct ProcessName {
  std::int64_t pid = 0;
  std::uint64_t pid_namespace = 0;  ///< a pid means nothing in another one
};

ProcessName my_process_name();

/// Lets every process of this user copy from and to this one, where the kernel requires that.
void allow_process_copies();

/// Bytes of this process and their place in the other one, whose address is never followed here.
struct CopyRun {
  void* local = nullptr;
  std::uintptr_t remote = 0;
  std::size_t bytes = 0;
};
/// What one system call takes; more runs take more of them.
inline constexpr std::size_t kMostCopyRuns = 1024;

/// Complete at the target when it returns; after an error some of it may be. Errors: peer_dead when the process is
/// gone, refused when its memory may not be accessed (other user, missing right, unmapped address); `errno` has the
/// kernel's answer then.
/// Cost: 1 µs and about 0.4 µs for each further run.
Status copy_to_process(const ProcessName& target, std::span<const CopyRun> runs);
Status copy_from_process(const ProcessName& target, std::span<const CopyRun> runs);
Status copy_to_process(const ProcessName& target, ByteView local, std::uintptr_t remote_address);
Status copy_from_process(const ProcessName& target, ByteSpan local, std::uintptr_t remote_address);

}  // namespace grapnel::os
