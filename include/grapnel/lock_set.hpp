// A set of locks: so many at home in every rank of a group, all of one kind.
//
//   grapnel::LockSet locks = g.create_lock_set(100, {.kind = grapnel::LockKind::reader_writer}).value();  // collective
//   locks.lock_shared(7, home);                       // waits until no writer is inside
//   …
//   locks.unlock_shared(7, home);
//   g.destroy_lock_set(locks);                        // collective
//
// Effect: between lock and unlock no other rank holds the lock (shared: no writer). A lock belongs to the rank, not to
//   the thread, and is not re-entrant. Neither call implies a fence: writes that the next holder must see are fenced
//   before `unlock`.
// Completion: lock returns when the lock is held; unlock when what it must say has left this process: it waits for
//   nobody.
// Cost: docs/locks.md has the messages and atomics of each kind. No clock is read unless one waits.
// Payload: in a set created with payload_bytes, `lock_with` and `start_lock` send theirs with the enqueue, and what
//   `unlock_with` is given is sent to the next holder (a free lock keeps it). Up to kMostLockPayload bytes; never
//   interpreted.
// Errors: invalid_argument (a lock that does not exist; one that the caller holds, has asked for, or does not hold; a
//   payload that is too large), unavailable (shared, of a set created without a shared mode), timed_out, no_memory (a
//   node's table of lines is full, or a rank's records are in use), peer_dead: a rank died; the message names the lock,
//   its holder and waiters as far as they are known here.
// Threads: any; two of them must not call for the same lock at once. Copies name the same set.
// Source: thesis, chapter 5; mpi2-passive, sections 3 to 6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "grapnel/export.hpp"
#include "grapnel/lock.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel {

namespace locks {
class Set;
}

class GRAPNEL_API LockSet {
 public:
  LockSet() = default;

  /// What the options' `standard` has become.
  LockKind kind() const;
  /// What this rank did with the set's locks so far, and its node's server where this rank leads the node; of no set,
  /// nothing. Messages that are under way count with their sender.
  LockCounts counts() const;

  // --- exclusive ---
  Status lock(int index, Rank home);
  /// Whether it was free; one round trip at most.
  Result<bool> try_lock(int index, Rank home);
  /// Gives up after `timeout_ns`, plus a round trip at most; then the caller is out of the queue, which continues
  /// without it.
  Status lock_for(int index, Rank home, std::uint64_t timeout_ns);
  Status unlock(int index, Rank home);

  // --- shared: reader_writer, and sets created with LockOptions::shared_mode ---
  // In such a set a reader passes through the lock: while another rank does, or holds it, a try fails. `try_lock` takes
  // one round trip more where readers were admitted since the last writer.
  Status lock_shared(int index, Rank home);
  Result<bool> try_lock_shared(int index, Rank home);
  Status lock_shared_for(int index, Rank home, std::uint64_t timeout_ns);
  Status unlock_shared(int index, Rank home);

  // --- nonblocking (mpi2-passive, section 3): takes a place, returns at once, is waited for before the first use ---
  Result<LockRequest> start_lock(int index, Rank home, ByteView payload = {});
  /// With LockOptions::shared_mode a lock that is not free, or at home elsewhere, is requested in `wait` or in the
  /// first `test`; from then on it must be tested until the caller holds it.
  Result<LockRequest> start_lock_shared(int index, Rank home, ByteView payload = {});
  /// Holds the lock on return; the request is as new. `received`, where given, gets the last holder's payload.
  Status wait(LockRequest& request, Bytes* received = nullptr);
  /// True: as after `wait`. Never sleeps.
  Result<bool> test(LockRequest& request, Bytes* received = nullptr);

  // --- with payloads ---
  /// As `lock`; sends `payload` with the enqueue, and returns the payload that the last holder left (empty where it
  /// left none).
  Result<Bytes> lock_with(int index, Rank home, ByteView payload);
  Result<Bytes> lock_shared_with(int index, Rank home, ByteView payload);
  /// For the holder: what the next one in the queue sent with its enqueue, where that is known here (mcs; cohort where
  /// the next one is of another node); else empty. Then `unlock_with` can be made to measure.
  Result<Bytes> successor_payload(int index, Rank home);
  Status unlock_with(int index, Rank home, ByteView payload);

  /// For the library's own layers: the set as they know it. A program has no use for it.
  explicit LockSet(std::shared_ptr<locks::Set> set) : set_(std::move(set)) {}
  /// Null for the handle of no set.
  const std::shared_ptr<locks::Set>& set() const { return set_; }

 private:
  std::shared_ptr<locks::Set> set_;
};

}  // namespace grapnel
