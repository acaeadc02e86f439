// What a lock must keep under random use, written once: for the seeded worlds, the soak and the mutants.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "grapnel/runtime.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

/// All kinds that exist; `standard` is one of them.
inline constexpr LockKind kAllLockKinds[] = {LockKind::server_queue, LockKind::ticket,       LockKind::armci_hybrid,
                                             LockKind::test_and_set, LockKind::mcs,          LockKind::mcs_by_cas,
                                             LockKind::cohort,       LockKind::reader_writer};

/// What the ranks of one process saw of one lock; they share it. Whatever goes wrong ends the world with that as its
/// message: what a broken lock does afterwards proves nothing any more.
class Witness {
 public:
  [[noreturn]] void complain(Runtime& g, const std::string& what);
  void must(Runtime& g, const Status& status) {
    if (!status.ok()) complain(g, status.to_string());
  }
  /// The caller just got the lock; `received` is what came with it, null where the set carries nothing.
  void enter(Runtime& g, bool shared, const Bytes* received);
  /// The caller is about to release; what it sends along (nothing for readers).
  Bytes leave(bool shared);

  std::uint64_t acquisitions() const { return acquisitions_; }
  std::uint64_t shared_at_once() const { return most_readers_; }
  /// The first thing that went wrong; empty: nothing.
  std::string complaint() const;

 private:
  std::atomic<int> writers_{0}, readers_{0};
  std::atomic<std::uint64_t> acquisitions_{0}, most_readers_{0};
  std::atomic<std::uint64_t> written_{0};  ///< what the last writer sent with its release
  mutable std::mutex mutex_;
  std::string complaint_;
};

/// Collective: every rank uses one lock in random ways, at random times. At the end the lock must still be there for
/// all.
void exercise(Runtime& g, Witness& witness, LockKind kind, std::uint64_t seed);

/// Runs it in a simulated world of this seed; empty, or what went wrong.
std::string exercise_in_sim(LockKind kind, std::uint64_t seed);

}  // namespace grapnel::test
