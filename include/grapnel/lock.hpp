// Locks: their kinds, how a set of them is made, and the handle of an acquisition that was started.
//
// A lock is named by its home rank and an index. The calls are in grapnel/lock_set.hpp; docs/locks.md compares the
// kinds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "grapnel/atomic_domain.hpp"
#include "grapnel/export.hpp"

namespace grapnel {

/// The algorithm behind a lock. They differ in messages, fairness and waiting.
enum class LockKind {
  standard,       ///< the value of GRAPNEL_LOCK; `cohort` where it is not set
  server_queue,   ///< a queue at the home's server; FIFO
  ticket,         ///< a ticket per acquirer; local ranks poll, remote ones poll by reads; FIFO
  armci_hybrid,   ///< ticket for ranks at the home, the server's queue for remote ones; FIFO
  test_and_set,   ///< tries again and again, with exponential back-off; not fair
  mcs,            ///< a queue of ranks; hand-off is one message; FIFO
  mcs_by_cas,     ///< the same, where the fabric has compare-and-swap but no swap
  cohort,         ///< a queue of ranks in each node, a queue of nodes between them; FIFO but for bounded local passes
  reader_writer,  ///< shared and exclusive; phase-fair; a node that has a shared grant admits its readers by itself
};

/// "cohort", as GRAPNEL_LOCK takes it.
GRAPNEL_API const char* to_string(LockKind kind);

/// How a set of locks is made. Kind, domain, shared_mode, payload_bytes and lines are the same in all ranks.
struct LockOptions {
  LockKind kind = LockKind::standard;
  /// In the network domain test_and_set, ticket and mcs_by_cas exist, and `standard` is the configured kind where it is
  /// one of them, else mcs_by_cas; GRAPNEL_LOCK_DOMAIN puts standard locks without payloads and shared mode there. They
  /// take no processor of the home's node, carry no payload, and test_and_set alone has a shared mode. Where the domain
  /// cannot be had, unavailable.
  AtomicDomain domain = AtomicDomain::processor;
  /// The locks can be taken shared, too; reader_writer's always can. With the other kinds a reader passes through the
  /// lock and counts itself, and a writer that holds the lock waits until all readers have left. Writers alone send no
  /// message more. A lock takes 256 bytes more at its home, 192 more where another node or rank has a line for it.
  bool shared_mode = false;
  /// Room for the opaque bytes that travel with enqueue, grant and release; 0: none. kMostLockPayload at most.
  std::size_t payload_bytes = 0;
  /// cohort: hand-overs inside a node, in a row, while another node waits.
  std::uint32_t local_passes = 64;
  /// test_and_set, and remote ranks of ticket: the first pause and the longest. 0: what GRAPNEL_LOCK_BACKOFF_NS and
  /// GRAPNEL_LOCK_BACKOFF_MOST_NS say.
  std::uint64_t backoff_ns = 0, backoff_most_ns = 0;
  /// How many locks of other nodes this node may use during the set's life (mcs: per rank, and its own node's locks
  /// count too); one more answers no_memory. The table has twice as many places, rounded up to a power of two, of 72
  /// bytes, and up to 1.4 KB with payloads. 0: as many as there are locks, 16,384 at most, which is 46 MB per node with
  /// the longest payloads.
  std::size_t lines = 0;
};

inline constexpr std::size_t kMostLockPayload = 400;

/// What locks did, as one rank and, where it leads its node, the node's server saw it.
struct LockCounts {
  static constexpr std::size_t kWaitClasses = 40;
  std::uint64_t acquisitions = 0;
  std::uint64_t local_hand_offs = 0;       ///< got after waiting, from a rank of this node
  std::uint64_t remote_hand_offs = 0;      ///< … of another node
  std::uint64_t gave_up = 0;               ///< timed acquisitions that did not get it, and tries
  std::uint64_t messages = 0;              ///< sent by this rank, without replies
  std::uint64_t server_messages = 0;       ///< sent by this node's server, replies included
  std::uint64_t adapter_operations = 0;    ///< atomics and puts by the adapter, for this rank (network domain)
  std::uint64_t waits[kWaitClasses] = {};  ///< [k]: acquisitions that waited less than 2^k ns, and 2^(k−1) at least;
                                           ///< what is over within 2 µs may count as 0
};

/// An acquisition that was started and not yet waited for. It must be waited for (or tested until it is there), by the
/// set that started it. Copies are the same acquisition: once one of them is over, all the others are invalid.
class LockRequest {
 public:
  LockRequest() = default;

 private:
  friend class LockSet;
  std::shared_ptr<void> state_;
};

}  // namespace grapnel
