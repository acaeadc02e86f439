// A set of locks (its algorithms: locks/kinds): `count` at home in every member of a group, of one kind. What every
// lock has in common is here: the names are checked, misuse is found, waiting is timed, and a death is reported with
// the lock's name.
//
// A set's number is the same in all processes that know it: the group's first member, and how many sets that one had
// begun as first member. It is never used again. The server of a node whose leader is no member has a Set of its own,
// which answers and reports and acquires nothing.
//
// A lock belongs to the rank, not to the thread: a second acquisition by the same rank, while it holds the lock or
// waits for it, is an error. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "locks/kinds/algorithm.hpp"
#include "locks/kinds/cohort.hpp"
#include "locks/kinds/lock_context.hpp"
#include "segment/segment.hpp"

namespace grapnel::locks {

/// How a lock is wanted.
struct Ask {
  bool shared = false;
  /// With `shared`: where readers hold the lock, it joins them in spite of a writer that waits; an active writer is
  /// waited for. For a rank that holds another lock: else readers of two locks could wait for each other through the
  /// writers that wait at both. Writers may wait for as long as such readers overlap. A kind that gets its shared mode
  /// from shared_mode.hpp does not join in a set with payloads.
  bool joins_readers = false;
  std::uint64_t timeout_ns = progress::Waiting::kForever;
  ByteView payload = {};  ///< travels with the enqueue
};

/// A lock that a rank holds, for reports.
struct HeldLock {
  std::uint64_t set = 0;
  std::int32_t index = 0, home = 0;
  std::uint32_t shared = 0;
};

class Set {
 public:
  Set(const LockEnvironment& environment, std::uint64_t number, std::shared_ptr<const launch::Group> group, int count,
      const LockOptions& options);

  std::uint64_t number() const { return number_; }
  const LockOptions& options() const { return context_.options; }
  const launch::Group& group() const { return *context_.group; }
  int count() const { return context_.count; }
  const LockMemory& memory() const { return context_.memory; }
  /// In the network domain; 0 elsewhere.
  std::size_t network_bytes() const { return algorithm_->network_bytes(); }
  void use_network(const std::vector<segment::Part>& parts);
  void* my_network_part() const { return context_.network_parts[group().my_index]; }
  /// A member on a node whose leader is none: the node's server has a Set of its own.
  bool leader_is_outside() const { return !context_.one_node && !group().contains(leader()); }
  /// Of this rank and, where it leads its node, the node's server.
  LockCounts counts() const;

  /// The set has its memory: from now on there are locks.
  void use_block(void* block);
  /// The memory will be freed: from now on there are no locks.
  void close() { usable_ = 0; }
  bool is_closed() const { return usable_ == 0; }

  /// `acquire` without an end and without payloads, and its release. Their fast paths are inline and make no call:
  /// registers that a call saves would be stores between the atomic that takes the lock and the one that frees it, and
  /// a locked instruction waits for all earlier stores.
  Status acquire(int lock_index, Rank home) {
    return take_in_node(lock_index, home) ? Status() : acquire_otherwise(lock_index, home);
  }
  Status release(int lock_index, Rank home) {
    return release_in_node(lock_index, home) ? Status() : release_otherwise(lock_index, home);
  }
  /// Takes it if that needs no message and no waiting. False: not, or the caller is wrong; `acquire` or `start` answers
  /// which.
  bool acquire_at_once(int lock_index, Rank home) {
    return in_node_ != nullptr ? take_in_node(lock_index, home) : take_now(lock_index, home, false);
  }
  /// The same in either mode. Shared, where the set has a shared mode: reader_writer, where the node has a grant and no
  /// writer waits; the others at home, where the lock is free. A set with payloads answers false.
  bool acquire_at_once(int lock_index, Rank home, bool shared) {
    return shared ? take_now(lock_index, home, true) : acquire_at_once(lock_index, home);
  }

  /// Waits for the lock; `received` (may be null) gets the last releaser's payload. Errors: invalid_argument (bad index
  /// or home, held or asked for by this rank), unavailable (no shared mode), timed_out, no_memory, peer_dead.
  Status acquire(int lock_index, Rank home, const Ask& ask, Bytes* received);
  /// Whether it was free. One round trip at most.
  Result<bool> attempt(int lock_index, Rank home, const Ask& ask, Bytes* received);
  /// Takes a place and returns; `finish` waits, `test` looks (false: not yet; it may be asked again). An acquisition
  /// that was started must be finished, once and by the set that started it; else they answer invalid_argument. Shared,
  /// of another kind than reader_writer, an acquisition that is not done at once takes its place in `finish` or the
  /// first `test`.
  Result<std::shared_ptr<Acquisition>> start(int lock_index, Rank home, const Ask& ask);
  Status finish(Acquisition& a, Bytes* received);
  Result<bool> test(Acquisition& a, Bytes* received);

  /// Never waits for another rank. Errors: invalid_argument (not held in that mode; payload too large), peer_dead.
  Status release(int lock_index, Rank home, bool shared, ByteView payload);
  Result<Bytes> successor_payload(int lock_index, Rank home);

  /// Whether this rank holds the lock exclusively; false where there is no such lock.
  bool is_held(int lock_index, Rank home) const {
    LockId lock;
    // relaxed: its own store.
    return name(lock_index, home, lock) && mine_[lock.ordinal].load(std::memory_order_relaxed) == Hold::held;
  }
  /// Locks that this rank holds or has asked for; for destruction.
  bool any_taken() const;
  /// Appends the locks that this rank holds, at most until there are `most`; answers how many more it holds. Any
  /// thread.
  std::size_t add_held(std::vector<HeldLock>& held, std::size_t most) const;

  /// Reports every lock that the dead rank holds as far as this node knows, with its waiters; the other nodes report
  /// theirs. The server's thread knows the queues of its homes, too.
  void tell_what_is_held_by(Rank dead, bool as_server);

  bool hear(const LockBody& body, ByteView payload, const Sender& from);
  progress::Outcome answer(const LockBody& body, ByteView payload, progress::Request& request);

 private:
  Rank leader() const { return context_.launch.nodes().leader(context_.my_node); }
  /// A home's place in the group; at least `members_` where it is no member. The short way is the fast path's.
  std::size_t place_in_run(Rank home) const { return index(home) - first_; }
  std::size_t place_of(Rank home) const { return is_run_ ? place_in_run(home) : group().index_of(home); }
  bool exists(int lock_index, std::size_t home) const {
    return static_cast<std::uint32_t>(lock_index) < usable_ && home < members_;
  }
  std::size_t ordinal_of(int lock_index, std::size_t home) const {
    return home * static_cast<std::size_t>(context_.count) + static_cast<std::size_t>(lock_index);
  }
  bool name(int lock_index, Rank home, LockId& lock) const {
    const std::size_t place = place_of(home);
    if (!exists(lock_index, place)) return false;
    lock = lock_at(lock_index, home, place);
    return true;
  }
  LockId lock_at(int lock_index, Rank home, std::size_t place) const {
    GRAPNEL_ASSERT(group().members[place] == home, "rank {} is not in place {}", index(home), place);
    return {home, lock_index, ordinal_of(lock_index, place), context_.memory.home_words(place, lock_index)};
  }
  Status bad_name(int lock_index, Rank home) const;
  progress::WaitSubject subject_of(const LockId& lock) const;
  Status check(const LockId& lock, const Ask& ask) const;
  Status claim(const LockId& lock);
  /// What every acquisition with an `Ask` begins with: the lock's name, the argument, this rank's claim.
  Status begin(Acquisition& a, int lock_index, Rank home, const Ask& ask);
  void got(Acquisition& a, Bytes* received);
  Status check_started(const Acquisition& a) const;
  void deliver(Acquisition& a, Bytes* received);
  // release: pairs with the acquire of the thread of this rank that claims it next.
  void drop_claim(std::size_t ordinal) { mine_[ordinal].store(Hold::none, std::memory_order_release); }
  void note_taken(std::size_t ordinal, Hold hold = Hold::held) {
    mine_[ordinal].store(hold, std::memory_order_relaxed);  // read by this rank only, and after a death
    context_.statistics.acquisitions.add(1);
  }

  // The default kind where all members are of this node, and one compare-and-swap is all.
  bool take_in_node(int lock_index, Rank home) {
    const std::size_t place = place_in_run(home);
    if (in_node_ == nullptr || !exists(lock_index, place)) [[unlikely]]
      return false;
    const std::size_t ordinal = ordinal_of(lock_index, place);
    if (mine_[ordinal].load(std::memory_order_acquire) != Hold::none) return false;  // as in `claim`
    if (!in_node_->take_in_node(words_in_node(lock_index, place))) return false;
    note_taken(ordinal);
    return true;
  }
  bool release_in_node(int lock_index, Rank home) {
    const std::size_t place = place_in_run(home);
    if (in_node_ == nullptr || !exists(lock_index, place)) [[unlikely]]
      return false;
    const std::size_t ordinal = ordinal_of(lock_index, place);
    if (mine_[ordinal].load(std::memory_order_relaxed) != Hold::held) return false;  // its own store
    if (!in_node_->release_in_node(words_in_node(lock_index, place), ordinal)) return false;
    drop_claim(ordinal);
    return true;
  }
  std::byte* words_in_node(int lock_index, std::size_t home) const {
    return context_.memory.home_words_in_node(home, lock_index);
  }
  // What needs no message and no waiting, of all kinds; then the rest.
  bool take_now(int lock_index, Rank home, bool shared);
  Status acquire_otherwise(int lock_index, Rank home);
  Status acquire_in_line(const LockId& lock);
  Status release_otherwise(int lock_index, Rank home);

  Status wait(Acquisition& a, std::uint64_t timeout_ns);
  void count_wait(std::uint64_t since_ns);

  // lock_deaths.cpp
  Status tell_death(const Acquisition& a, const Status& why);
  std::string name_with(std::size_t ordinal, std::initializer_list<Hold> holds, const char* one,
                        const char* many) const;
  std::string holders(std::size_t ordinal) const;
  bool holds(Rank rank, std::size_t ordinal) const;
  bool tell_of(const LockId& lock, Rank dead, bool held, bool as_server);
  void let_other_nodes_tell(const LockId& lock, Rank dead, bool as_server, std::uint64_t until_ns);
  bool hear_of_death(const LockId& lock, const LockBody& body, const Sender& from);

  const std::uint64_t number_;
  std::uint32_t deaths_heard_ = 0;  ///< the server's thread only
  const std::size_t members_, first_;
  const bool is_run_;  ///< the members' ranks follow each other, from `first_`
  LockContext context_;
  std::unique_ptr<Algorithm> algorithm_;
  const bool carries_;  ///< payloads
  /// `algorithm_`, where it is a cohort without payloads of members of one node, whose ranks are a run.
  Cohort* const in_node_;
  std::uint32_t usable_ = 0;  ///< the count, while the set has its memory
  // By ordinal, in the set's memory; null where this rank is no member. It finds misuse; what excludes is the
  // algorithm.
  std::atomic<Hold>* mine_ = nullptr;
};

/// The algorithm of the context's options, inside a SharedMode where they ask for one. In a job of one node, where
/// there is no server, `server_queue` is a ticket lock.
std::unique_ptr<Algorithm> make_algorithm(LockContext& context);

}  // namespace grapnel::locks
