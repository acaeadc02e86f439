// What a lock must keep under random use, written once: for the seeded worlds, the soak and the mutants.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "grapnel/runtime.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

/// All kinds that exist; `standard` is one of them.
inline constexpr LockKind kAllLockKinds[] = {LockKind::server_queue, LockKind::ticket,       LockKind::armci_hybrid,
                                             LockKind::test_and_set, LockKind::mcs,          LockKind::mcs_by_cas,
                                             LockKind::cohort,       LockKind::reader_writer};

/// A kind, in its domain.
struct LockVariant {
  LockKind kind;
  AtomicDomain domain = AtomicDomain::processor;

  LockVariant(LockKind its_kind, AtomicDomain its_domain = AtomicDomain::processor)  // NOLINT: a kind is one
      : kind(its_kind), domain(its_domain) {}
  bool in_network() const { return domain == AtomicDomain::network; }
  std::string name() const { return (in_network() ? "network_" : "") + std::string(to_string(kind)); }
  LockOptions options() const {
    LockOptions options;
    options.kind = kind;
    options.domain = domain;
    return options;
  }
};

/// Those that exist in the network domain.
inline constexpr LockKind kNetworkLockKinds[] = {LockKind::test_and_set, LockKind::ticket, LockKind::mcs_by_cas};

inline std::vector<LockVariant> all_lock_variants() {
  std::vector<LockVariant> all(std::begin(kAllLockKinds), std::end(kAllLockKinds));
  for (const LockKind kind : kNetworkLockKinds) all.emplace_back(kind, AtomicDomain::network);
  return all;
}
/// Those that this job can have.
inline std::vector<LockVariant> lock_variants(Runtime& g) {
  std::vector<LockVariant> all = all_lock_variants();
  if (!has_network_domain(g)) std::erase_if(all, [](const LockVariant& one) { return one.in_network(); });
  return all;
}

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
void exercise(Runtime& g, Witness& witness, const LockVariant& variant, std::uint64_t seed);

/// Runs it in a simulated world of this seed; empty, or what went wrong.
std::string exercise_in_sim(const LockVariant& variant, std::uint64_t seed);

}  // namespace grapnel::test
