// The locks of a job: sets of them, made and destroyed by the members of a group, and the server's way to each.
//
// The algorithms are in locks/kinds, one file each, behind algorithm.hpp; docs/locks.md compares them.
// Threads: create and destroy collectively, one at a time per rank; everything of a set from any thread.
// Source: thesis, chapter 5; mpi2-passive, sections 3 to 6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "core/service.hpp"
#include "exchange/exchange.hpp"
#include "grapnel/lock.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "locks/kinds/lock_context.hpp"
#include "locks/settings.hpp"
#include "progress/server.hpp"
#include "segment/segment.hpp"

namespace grapnel::locks {

class Set;
struct HeldLock;
struct LockSetBody;

inline constexpr std::size_t kLockKinds = 9;  ///< by LockKind

void add(LockCounts& sum, const LockCounts& one);
/// Whether locks of that kind can be in the network domain.
bool exists_in_network(LockKind kind);

extern const core::ServiceType kService;

class Locks final : public core::Service {
 public:
  explicit Locks(core::Core& core);
  ~Locks() override;

  // create.cpp
  /// Collective over the group: a set with `count` locks at home in each member; `standard` and zero times are replaced
  /// by the settings'. Every member gets the same answer. Errors: invalid_argument (the arguments; the members' count,
  /// kind, payload_bytes or lines differ), unavailable (network domain), no_memory, peer_dead. Cost: five exchanges,
  /// and on a node whose leader is no member a request to its server; in the network domain five more.
  Result<std::shared_ptr<Set>> create(std::shared_ptr<const launch::Group> group, int count, LockOptions options);
  /// Collective over the set's group. Errors, at all members: invalid_argument while a rank holds or has asked for one
  /// of its locks; peer_dead. Cost: three exchanges, and as above.
  Status destroy(Set& set);

  // The steps of `create`, for a caller with exchanges and memory of its own: all members agree on a number and on
  // options that `with_settings` has filled, `prepare` the set, allocate its block, and `begin` it.
  /// Errors: invalid_argument.
  Status with_settings(int count, LockOptions& options) const;
  /// Number of a set of which this rank is the group's first member.
  std::uint64_t next_number();
  std::shared_ptr<Set> prepare(std::uint64_t number, std::shared_ptr<const launch::Group> group, int count,
                               const LockOptions& options) const;
  /// Collective. `block`: zeroed segment memory, of `memory().block_bytes()` at a cache line, in the part of the node's
  /// first member. Where it fails, at all members, there are no locks. Errors: refused, unavailable (network domain),
  /// no_memory, peer_dead. Cost: an exchange, and a request to the server of a node whose leader is no member; in the
  /// network domain five exchanges more.
  Status begin(const std::shared_ptr<Set>& set, void* block);
  /// This rank's operations on the set's words have ended, also those that nothing waited for: of each member before
  /// `end`. Errors: peer_dead.
  Status settle(const Set& set);
  /// Collective, after all members know that none holds or waits for a lock of the set. The block is the caller's
  /// again.
  Status end(Set& set);

  /// A rank of this node died: one process of the node reports its locks. Any thread.
  void after_death(Rank dead) override;
  void before_client_ends() override { environment_.words->forget_keys(); }

  /// The locks that this rank holds, `most` of them at most; `more`: how many it holds besides. Any thread.
  std::vector<HeldLock> held(std::size_t most, std::size_t& more) const;

  /// A line and a histogram of waiting times for each kind that some rank used.
  Result<std::string> report(const core::Gather& gather) override;
  /// Of this rank, by kind; closed sets included.
  std::vector<LockCounts> counts() const;

 private:
  void add_handlers(progress::Server& server);
  std::shared_ptr<Set> find(std::uint64_t number) const GRAPNEL_REQUIRES_SHARED(mutex_);
  /// The server's look for a death; after one it reports the locks that the dead rank held.
  bool look_for_death();
  void tell_locks_of(Rank dead, bool as_server);
  progress::Outcome on_ask(progress::Request& request);
  progress::Outcome on_tell(progress::Request& request);

  // create.cpp
  Status allocate_and_begin(const std::shared_ptr<Set>& set);
  Status allocate_network(Set& set);
  Status free_network(Set& set);
  Status tell_server(const Set& set, bool ends);
  progress::Outcome on_set(progress::Request& request);
  std::shared_ptr<Set> set_of(const LockSetBody& body, std::shared_ptr<const launch::Group> group) const;
  void open(std::shared_ptr<Set> set);
  /// No rank uses the set any more; late messages to it are ignored.
  void close(Set& set);

  const Settings settings_;
  launch::Launch& launch_;
  exchange::Exchange& exchange_;
  segment::SegmentTable& segments_;
  const LockEnvironment environment_;
  std::uint32_t begun_ = 0;  ///< sets of groups whose first member this rank is
  mutable base::SharedMutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Set>> sets_ GRAPNEL_GUARDED_BY(mutex_);
  std::vector<LockCounts> closed_ GRAPNEL_GUARDED_BY(mutex_);
};

}  // namespace grapnel::locks
