// Native put and get between processes of one machine: the origin's kernel copies (process_vm_writev,
// process_vm_readv), the target takes no part and its memory needs no preparation.
//
// This is what UCX's cma transport does. UCP 1.13 uses that only inside rendezvous: for ucp_put and ucp_get it gives
// cma no lane and emulates them with messages (seen: a put to a target that does not progress never ends). Hence the
// calls here. It exists so that the native ways of the layers above run on machines without an RDMA adapter.
//
// Threads: stateless, any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::transport::ucx {

/// Names a process to others of its machine. `pid` 0: not reachable this way.
struct ProcessName {
  std::int64_t pid = 0;
  std::uint64_t pid_namespace = 0;  ///< a pid means nothing in another one
};

ProcessName my_process_name();

/// Complete at the target when it returns. Errors: peer_dead when the process is gone, refused when its memory may not
/// be accessed (other user, missing ptrace right, unmapped address).
Status copy_to_process(const ProcessName& target, ByteView local, std::uintptr_t remote_address);
Status copy_from_process(const ProcessName& target, ByteSpan local, std::uintptr_t remote_address);

}  // namespace grapnel::transport::ucx
