// The locks of a job: sets of them, made and destroyed collectively, and the server's way to each.
//
// The algorithms are in locks/, one file each, behind locks/algorithm.hpp; docs/locks.md compares them.
// Threads: create and destroy collectively, one at a time per rank; everything of a set from any thread.
// Source: thesis, chapter 5; mpi2-passive, sections 3 to 6.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "base/config.hpp"
#include "grapnel/lock.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"

namespace grapnel::locks {

class Set;
struct HeldLock;
struct LockBody;

inline constexpr std::size_t kLockKinds = 9;  ///< by LockKind

void add(LockCounts& sum, const LockCounts& one);

class Locks {
 public:
  /// `client` is null in a job of one node, `server` where this rank does not lead its node.
  Locks(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting, progress::Client* client,
        progress::Server* server);
  ~Locks();

  /// Before the server starts.
  void add_handlers(progress::Server& server);

  /// A new set, not yet to be used: it needs its memory (Set::bytes_here, Set::place), then `open`, then all ranks.
  /// Every rank calls it for every set, in the same order. Errors: invalid_argument.
  Result<std::shared_ptr<Set>> prepare(int count, LockOptions options);
  void open(std::shared_ptr<Set> set);
  /// Nobody uses the set any more; late messages to it are ignored.
  void close(Set& set);

  /// A rank of this node died: its locks are told, by one process of the node. Any thread.
  void after_death(Rank dead);

  /// The locks that this rank holds, `most` of them at most; `more`: how many it holds besides. Any thread.
  std::vector<HeldLock> held(std::size_t most, std::size_t& more) const;

  /// Of this rank, by kind; closed sets included.
  std::vector<LockCounts> counts() const;

 private:
  std::shared_ptr<Set> find(std::uint32_t number) const;
  /// The server's look for a death; once it tells what it knows of the locks that the dead rank held.
  bool look_for_death();
  void tell_locks_of(Rank dead, bool as_server);
  progress::Outcome on_ask(progress::Request& request);
  progress::Outcome on_tell(progress::Request& request);

  const base::Config& config_;
  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  progress::Server* server_;
  os::Word& told_;                   ///< in node memory: 1 once a process of the node has told of a death
  std::uint32_t next_number_ = 1;    ///< alike in all ranks; never used again
  mutable std::shared_mutex mutex_;  ///< of the next two
  std::map<std::uint32_t, std::shared_ptr<Set>> sets_;
  std::vector<LockCounts> closed_;
};

}  // namespace grapnel::locks
