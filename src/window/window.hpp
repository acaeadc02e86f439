// A window: memory of every member of a group that the others access one-sidedly, in epochs.
//
//   put(target) ─▶ legal in this epoch? (epoch.hpp) ─▶ inside the target's part? ─▶ its lock granted? else wait (access)
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
// Cost: docs/windows.md has the messages of each call.
// Threads: any where `Options::many_threads` is set, else one at a time; collective calls one at a time per rank. No
// state is guarded while a call waits.
// Source: MPI 3.1, chapter 11; mpi2-passive, sections 3 to 5 (deferred locks).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "window/epoch.hpp"
#include "window/outcome.hpp"
#include "window/pending.hpp"

namespace grapnel::locks {
class Set;
struct Acquisition;
}  // namespace grapnel::locks

namespace grapnel::window {

class Layout;
class Windows;
struct AskedLock;
struct Services;

/// How a window is made. All members give the same ones, but for `many_threads` and `meet`.
struct Options {
  std::optional<LockKind> lock_kind;  ///< none: what GRAPNEL_WINDOW_LOCK says
  bool no_locks = false;              ///< there will be no lock and no lock_all: they answer Fault::synchronization
  bool contiguous = true;             ///< allocate_shared: the parts follow each other byte by byte
  bool same_unit = false;             ///< all members give the same unit
  bool many_threads = false;          ///< several threads of this rank use the window at once
  /// What `fence` and `free` meet by instead of the group's barrier, after they have completed this rank's operations:
  /// for a caller that may not enter the group's barrier from several threads. Empty: the barrier.
  std::function<Status()> meet;
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
struct Place {
  std::int64_t displacement = 0;
  const Layout* layout = nullptr;
  std::int64_t count = 0;
};

/// One member's memory, as all members know it.
struct Part {
  Rank rank{};
  NodeId node{};
  std::byte* base = nullptr;  ///< in its node's addresses
  std::size_t bytes = 0;
  std::int64_t unit = 1;
  bool is_near = false;  ///< on this rank's node: reached by loads and stores
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

  // operations.cpp, accumulates.cpp. `pending` null: completed by flush; else it names the operation (legal in a lock
  // epoch only). Both sides have equally many bytes. The origin's memory, and the layouts, stay until completion.
  // Errors: count, type, rank, displacement, operation (in this order), synchronization, range; failed: peer_dead,
  // no_memory.
  Outcome put(const Side& origin, int target, const Place& place, Pending* pending = nullptr);
  Outcome get(const Side& origin, int target, const Place& place, Pending* pending = nullptr);
  /// Each element of the target becomes target ∘ origin. Both layouts hold numbers of one type, the same one.
  Outcome accumulate(const Side& origin, int target, const Place& place, Operation operation,
                     Pending* pending = nullptr);
  /// The same; `result` gets the old elements. With Operation::none `origin` is not looked at.
  Outcome get_accumulate(const Side& origin, const Side& result, int target, const Place& place, Operation operation,
                         Pending* pending = nullptr);
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
  /// A shared lock of every member: its own, and in shared memory all, at once; the others at their first use.
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

  // memory.cpp: dynamic windows. Errors: flavor, attach; failed: no_memory.
  Outcome attach(void* base, std::size_t bytes);
  Outcome detach(const void* base);

 private:
  friend class Windows;
  friend class Pending;

  Window();

  Flavor flavor_ = Flavor::allocated;
  Options options_;
  int my_place_ = 0;
  std::vector<Part> parts_;  ///< by place
  EpochState epochs_{0};
};

}  // namespace grapnel::window
