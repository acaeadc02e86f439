// One UCX endpoint of a worker: to a peer that we connected to, or the way back to one that connected to us.
//
// Threads: the owning worker's.
// Invariants: (1) a path lives as long as its worker, and so does its UCX endpoint: a ReplyPath that was kept never
// points to freed memory, also when the peer has died; (2) at most one flush is under way per path: UCX counts them in
// 8 bits of the endpoint.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp_def.h>
#include <uct/api/uct_def.h>

#include <optional>
#include <vector>

#include "os/process_copy.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport::ucx {

class UcxWorker;

struct Path {
  UcxWorker* worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  std::optional<EndpointId> id;  ///< none: the peer connected to us
  os::ProcessName process;       ///< the peer, for copies between processes
  Status failure;                ///< ok while the path works
  bool unready = false;          ///< no message may leave yet: the path has failed, or the greeting is not over
  bool lanes_connected = false;  ///< its sockets are, in our direction
  std::optional<std::uint32_t> welcome_owed;  ///< to this endpoint of the peer, once our direction is connected
  std::size_t under_way = 0;                  ///< operations that UCX still has
  bool used_since_flush = false;
  bool flushing = false;
  bool marker_left = false;               ///< of the flush under way: it waits for bulk payloads only
  std::uint64_t flushed_bulk_number = 0;  ///< of the flush under way: the last bulk message that it covers
  std::uint64_t last_bulk_number = 0;
  std::vector<std::uint64_t> bulk_under_way;  ///< numbers, ascending
  uct_ep_h atomic_endpoint = nullptr;         ///< of the worker's AtomicInterface, once the path is opened for atomics
  enum class Atomics { closed, opening, open };
  Atomics atomics = Atomics::closed;
  Completion atomics_opened;                   ///< while opening
  std::vector<Completion> flush_waiters;       ///< for the flush under way
  std::vector<Completion> next_flush_waiters;  ///< asked after it had started: it does not cover them
};

}  // namespace grapnel::transport::ucx
