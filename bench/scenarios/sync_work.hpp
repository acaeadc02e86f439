// Fences and barriers after writes to other nodes, locks, and the bare limits of a node and of the network: what the
// jobs of `sync` do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class SyncOperation : std::uint64_t {
  fence,        ///< after writes
  barrier,      ///< after writes
  bounce,       ///< limit: a cache line moves around the ranks of a node
  wake_around,  ///< limit: each rank of a node wakes the next from a futex
  two_adds,     ///< limit: two `lock xadd`, by rank 0
  ping_pong,    ///< limit: a datagram is sent from rank 0 to rank 1 and back
  hand_off,     ///< of a lock, from one holder to the next
  contended,    ///< the same inside a node, where all ask for it all the time
  lock_both,    ///< of a lock: acquire and release
  lock_acquire,
  lock_release,
  free_lock,  ///< acquire and release by rank 0, while no other rank wants it; inside a node
};

/// Travels as the board's arguments.
struct SyncWork {
  SyncOperation operation{};
  std::uint64_t targets = 0;  ///< other ranks that each rank writes to before
  std::uint64_t bytes = 8;    ///< of a write
  std::uint64_t gap_us = 0;   ///< between the writes and the operation
  std::uint64_t operations = 1;
  std::uint64_t settle_us =
      0;                     ///< asleep between the writes and the operation: the writes are applied, not acknowledged
  std::uint64_t writes = 1;  ///< to each target; more than two, and none asks for its acknowledgement itself
  std::uint64_t lock = 0;    ///< LockKind
  std::uint64_t first = 0;   ///< the ranks from this one on want the lock, whose home is rank 0

  void store(SharedPage& board) const;
  static SyncWork load(SharedPage& board);
};

/// Every rank's part. The answer is the time of one operation, the mean of all ranks, ns, or ps inside a node; of a
/// hand-off, from one acquisition to the next; of a limit, of one way around.
std::uint64_t do_sync_work(Session& s);

// ---- the parts that are not fences and barriers ----

/// Ranks from `first` on acquire and release the lock at once, each `operations` times: scenarios/contended_lock.cpp.
std::uint64_t contend(Session& s, const SyncWork& work);
/// The same inside a node, without a clock around each; ps.
std::uint64_t contend_in_node(Session& s, const SyncWork& work);
/// Two ranks of a node: from the call that releases the lock until the other, who has waited for it, has it; ps.
std::uint64_t hand_over_in_node(Session& s, const SyncWork& work);
/// Rank 0 acquires and releases, the others rest; ps.
std::uint64_t use_free_lock(Session& s, const SyncWork& work);
/// scenarios/ping_work.cpp
std::uint64_t ping_pong(Session& s, const SyncWork& work);

}  // namespace grapnel::bench
