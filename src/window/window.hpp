// A window: memory of every member of a group that the others access one-sidedly, in epochs.
//
//   put(target) ─▶ legal in this epoch? (epoch.hpp) ─▶ inside the target's part? ─▶ its lock granted? else wait
//               ─▶ rma: a copy on the own node, messages to another one
//
// Targets are places in the window's group: the order in which its maker named the ranks. Every call that fails for its
// caller's mistake changes nothing and sends nothing.
//
// Completion. An operation has taken effect at its target when a flush of the target, its unlock, a complete or a fence
// returns; its origin's memory may be used again after those, and after `flush_local`. On the own node it is complete
// on return. Accumulates of one rank on one location take effect in program order, and are atomic by element with all
// others of the family; fetch-and-op and compare-and-swap belong to it.
//
// Cost: docs/window.md has the messages of each call.
// Threads: any where `Options::many_threads` is set; else one at a time in all such windows together, because a lock of
// one may wait for another one's. Collective calls one at a time per rank. No state is guarded while a call waits.
// Source: MPI 3.1, chapter 11; mpi2-passive, sections 3 to 5 (deferred locks).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "grapnel/lock.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"
#include "os/host.hpp"
#include "rma/counts.hpp"
#include "window/epoch.hpp"
#include "window/near.hpp"
#include "window/outcome.hpp"
#include "window/part.hpp"
#include "window/pending.hpp"

namespace grapnel::locks {
class Set;
}

namespace grapnel::window {

class Layout;
class Windows;
struct Services;

/// How a window is made. All members give the same ones, but for `many_threads`, `meet` and `objection`.
struct Options {
  /// None: that of GRAPNEL_WINDOW_LOCK, in the network domain test_and_set where that one does not exist there.
  std::optional<LockKind> lock_kind = {};
  /// None: that of GRAPNEL_WINDOW_LOCK_DOMAIN. In the network domain only test_and_set has shared locks, and where the
  /// domain or the kind cannot be had making the window fails: invalid_argument.
  std::optional<AtomicDomain> lock_domain = {};
  bool no_locks = false;      ///< there will be no lock and no lock_all: they answer Fault::synchronization
  bool contiguous = true;     ///< allocate_shared: the parts follow each other byte by byte
  bool same_unit = false;     ///< all members give the same unit
  bool many_threads = false;  ///< several threads of this rank use the window at once
  /// What `fence` and `free` meet by instead of the group's barrier, after they have completed this rank's operations:
  /// for a caller that may not enter the group's barrier from several threads. Empty: the barrier.
  std::function<Status()> meet = {};
  /// Null: this member wants the window. Else its reason against it, 0 where it has none; gets the largest of all
  /// members. Where that is not 0, no window is made: unavailable.
  std::uint32_t* objection = nullptr;
};

enum class Flavor : std::uint8_t { allocated, shared, created, dynamic };

/// The origin's side: `count` copies of `layout`, the first at `base`.
struct Side {
  void* base = nullptr;
  const Layout* layout = nullptr;
  std::int64_t count = 0;
};

/// The target's side: `count` copies of `layout`, the first at the target's base plus `displacement` of its units; in a
/// dynamic window, at the address `displacement`.
struct TargetSide {
  std::int64_t displacement = 0;
  const Layout* layout = nullptr;
  std::int64_t count = 0;
};

class Window {
 public:
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  // What it is.
  Flavor flavor() const { return flavor_; }
  int size() const { return static_cast<int>(parts_.size()); }
  int my_place() const { return my_place_; }
  const Part& part(int place) const { return parts_[static_cast<std::size_t>(place)]; }
  void* base_of(int place) const { return part(place).base; }
  std::size_t bytes_of(int place) const { return part(place).bytes; }
  std::int64_t unit_of(int place) const { return part(place).unit; }
  const Options& options() const { return options_; }
  Epoch epoch() const { return epochs_.epoch(); }
  /// Accesses to targets of this node that need no more checks.
  const NearTargets& near() const { return near_; }
  /// What `Windows::free` checks, and nothing else.
  Outcome may_be_freed();

  // operations.cpp, accumulates.cpp. `pending` null: completed by flush; else it names the operation (legal in a lock
  // epoch only). Both sides have equally many bytes. The origin's memory, and the layouts, stay until completion.
  // Errors, in the order of the checks: count, rank, displacement, range, type, operation, synchronization; failed:
  // peer_dead, no_memory.
  Outcome put(const Side& origin, int target, const TargetSide& target_side, Pending* pending = nullptr);
  Outcome get(const Side& origin, int target, const TargetSide& target_side, Pending* pending = nullptr);
  /// Each element of the target becomes target ∘ origin. Both layouts hold numbers of one type, the same one.
  Outcome accumulate(const Side& origin, int target, const TargetSide& target_side, Operation operation,
                     Pending* pending = nullptr);
  /// The same; `result` gets the old elements. With Operation::none `origin` is not looked at.
  Outcome get_accumulate(const Side& origin, const Side& result, int target, const TargetSide& target_side,
                         Operation operation, Pending* pending = nullptr);
  /// One element at the displacement.
  Outcome fetch_and_op(const void* origin, void* result, NumberType number, int target, std::int64_t displacement,
                       Operation operation);
  /// One value of 1, 2, 4 or 8 bytes (else Fault::type); `result` gets the old one. Complete on return.
  Outcome compare_and_swap(const void* origin, const void* compare, void* result, std::size_t bytes, int target,
                           std::int64_t displacement);

  // access.cpp. Locks are deferred: `lock` takes a place in the lock's queue and returns; the first operation, flush or
  // unlock waits for the grant. It waits itself where the target is this rank or the memory is shared, and for what
  // this thread has asked for before and not been granted. `nocheck`: nothing is taken. Errors: rank, synchronization,
  // peer_dead, unavailable (the kind of lock has no shared mode).
  Outcome lock(int target, bool shared, bool nocheck = false);
  /// flush, then release. Errors: as flush; the lock is given back.
  Outcome unlock(int target);
  /// near.cpp. `lock` of a target of this node, where it needs no message and no wait. False: nothing was done.
  bool lock_at_once(int target, bool shared);
  /// A shared lock of every member: up to its own place, and in shared memory all, at once; the others, up to the
  /// target, at the first use of one of them.
  Outcome lock_all(bool nocheck = false);
  Outcome unlock_all();

  // completion.cpp. Errors: rank, synchronization; range: a write to the target was refused; peer_dead.
  Outcome flush(int target);
  Outcome flush_all();
  Outcome flush_local(int target);
  Outcome flush_local_all();
  /// Orders this rank's loads and stores to its own memory with the other ranks'.
  Outcome sync();

  // exposure.cpp. Errors: rank, synchronization; range: a write was refused; peer_dead.
  /// Collective: completes this rank's operations, and is a barrier of the group, always.
  Outcome fence(const FenceAssertions& assertions = {});
  /// Exposes this rank's memory to the ranks at `places`; never waits.
  Outcome post(std::span<const int> places);
  /// Access to the memory of `places`; returns at once. The first operation to each, or `complete`, waits for its post.
  /// `nocheck`: all have posted.
  Outcome start(std::span<const int> places, bool nocheck = false);
  /// Completes this rank's operations at all places of `start`, and lets each of these ranks know.
  Outcome complete();
  /// Waits until all that `post` named have called `complete`.
  Outcome wait();
  Outcome test_wait(bool& done);

  // memory.cpp: dynamic windows. One thread of the rank at a time, and none that makes or frees a window. Errors:
  // flavor; attach (memory that overlaps what is attached; nothing begins there); failed: no_memory.
  /// From now on the others reach [base, base+bytes), by its address as displacement.
  Outcome attach(void* base, std::size_t bytes);
  Outcome detach(const void* base);

 private:
  friend class Windows;
  friend class Pending;

  /// Guards what follows it in a window that several threads use; else it does nothing.
  class StateLock;
  /// What an operation to a target waits for first.
  enum class Access : std::uint8_t {
    none,         ///< lock_all: its lock, which was not asked for yet
    asked,        ///< its lock
    awaits_post,  ///< its post
    in_work,      ///< another thread that waits for one of these
    granted
  };
  struct Target {
    Access access = Access::none;
    bool holds_lock = false;  ///< asked for or held: to be given back
    bool is_shared = false;
    bool is_used = false;  ///< in `used_`
  };
  /// An operation's destination.
  struct Aim {
    Rank rank{};
    std::byte* at = nullptr;
    bool is_near = false, is_lent = false;
    std::size_t bytes = 0;  ///< of data
  };

  Window(Services& services, std::shared_ptr<const launch::Group> group, Flavor flavor, const Options& options);

  Target& target(int place) { return targets_[static_cast<std::size_t>(place)]; }

  // operations.cpp: arguments, in the order in which they are checked.
  Outcome check_place(const char* call, int place) const;
  Outcome aim(const char* call, int target, const TargetSide& target_side, Aim& found) const;
  Outcome aim_bytes(const char* call, int target, std::int64_t displacement, std::int64_t low, std::int64_t high,
                    Aim& found) const;
  Outcome move(rma::OperationKind kind, const Side& origin, int target, const TargetSide& target_side,
               Pending* pending);
  Status start_move(rma::OperationKind kind, const Side& origin, const TargetSide& target_side, const Aim& aim,
                    Handle* handle);
  /// near.cpp, after the arguments' checks. False: nothing was done.
  bool move_near(rma::OperationKind kind, const Side& origin, int target, const TargetSide& target_side) const;
  /// The checks of the state, and the wait for access: afterwards the operation may be sent.
  Outcome enter(const char* call, int target, bool is_request);
  /// rma's answer to an access, as a fault: memory of this node that is not lent lies outside the window.
  static Outcome answered(const Aim& aim, const Status& status);
  /// `send(handle)` starts the operation, which joins `handle`, or the target's implicit operation where it is null.
  template <typename Send>
  Outcome launch(const Aim& aim, int target, Pending* pending, bool is_write, Send send);

  // accumulates.cpp
  struct Update;
  Outcome update(const Update& what, Pending* pending);
  Outcome check_update(const Update& what) const;
  bool update_near(const Update& what) const;
  Status start_update(const Update& what, const Aim& aim, Handle* handle);
  Status update_parts(const Update& what, const Aim& aim, Handle* handle);

  // access.cpp
  bool may_go(int place) { return needs_no_access_ || target(place).access == Access::granted; }
  Outcome get_access(int place);
  Outcome wait_for_access(int place, Access before);
  Outcome take_shared(int place);
  int held_until();
  /// This rank has taken a lock of some window.
  bool joins_readers() const;
  void count_lock(int change);
  Outcome ask(int place, bool shared);
  /// What this thread has asked for and not been granted is granted.
  Outcome settle_asked();
  Outcome release(int place);
  void set_access(int place, Access access);
  Status wait_for_change(std::uint32_t seen);
  void changed();

  // memory.cpp
  Status lend(const void* base, std::size_t bytes);
  /// All that was lent.
  Status take_back();

  // exposure.cpp
  Status meet();
  Outcome check_places(const char* call, std::span<const int> places) const;
  Status wait_for_post(int place);

  // completion.cpp
  void note_used(int place);
  void forget_used(int place);
  void forget_all_used();
  std::vector<int> used();
  Outcome complete_at(int place, bool remotely);
  /// The first failure; all are completed in any case.
  Outcome complete_all(bool remotely);
  Outcome flush_one(const char* call, int place, bool remotely);
  Outcome flush_every(const char* call, bool remotely);

  // pending.cpp
  void keep(const std::shared_ptr<Started>& started);
  Outcome finish(Started& started);
  void end_wait(Started& started, bool is_complete);
  Outcome test(Started& started, bool& complete);
  /// Of one target, or of all where `place` is negative.
  Outcome finish_started(int place);
  void remove(Started& started);

  Services& services_;
  const std::shared_ptr<const launch::Group> group_;
  const Flavor flavor_;
  const Options options_;
  int my_place_ = 0;
  std::vector<Part> parts_;            ///< by place
  std::vector<std::byte*> controls_;   ///< by place (internal/control.hpp)
  void* allocation_ = nullptr;         ///< this rank's part
  void* lock_block_ = nullptr;         ///< this node's
  std::shared_ptr<locks::Set> locks_;  ///< null with no_locks, and once the window is gone

  base::Mutex mutex_;
  EpochState epochs_;
  NearTargets near_;
  bool needs_no_access_ = false;               ///< fence; lock_all with nocheck
  std::vector<Target> targets_;                ///< by place
  std::vector<int> used_;                      ///< targets elsewhere with operations in this epoch
  std::vector<int> held_;                      ///< by lock_all: all up to some place
  std::vector<int> started_at_;                ///< places of start
  std::vector<std::uint32_t> posts_expected_;  ///< by place, since the window was made; empty until the first start
  std::uint32_t completes_expected_ = 0;
  std::map<const std::byte*, std::size_t> attached_;  ///< of a dynamic window, and what `create` has lent: lengths
  std::vector<std::shared_ptr<Started>> started_;
  os::Word changes_{0};  ///< grows when a thread that others may wait for is ready
};

}  // namespace grapnel::window
