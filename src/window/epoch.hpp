// What is legal when: the epochs of one window at one rank, as a state machine without memory and without network.
//
// A rank's access epoch is none, fence, start, lock or lock_all; apart from it, its memory is exposed by `post` or not.
// Each call below is one transition: it answers ok and has changed the state, or answers Fault::synchronization and has
// changed nothing. The caller acts afterwards.
//
//   call                       legal in                                                 afterwards
//   operation                  fence; start, target in its group; target locked; lock_all   fence: used
//   request, flush, sync       target locked; lock_all                                  the same
//   fence                      none, fence; not exposed by post                         fence, or none (no_succeed)
//   start                      none, unused fence                                       start
//   complete                   start                                                    none
//   post                       not exposed                                              exposed
//   end_exposure (wait)        exposed                                                  not exposed
//   lock                       none, unused fence, lock of other targets only           target locked
//   lock_all                   none, unused fence                                       lock_all
//   unlock, unlock_all         that target locked; lock_all                             none when the last is gone
//   free                       none, unused fence; not exposed                          the same
//
// Targets are places in the window's group and lie in it: the caller has checked that.
// Threads: none of its own; the window guards it.
// Source: MPI 3.1, sections 11.5.1 to 11.5.5.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "window/outcome.hpp"

namespace grapnel::window {

enum class Epoch : std::uint8_t { none, fence, start, lock, lock_all };

/// "no epoch", "a fence epoch", …, for messages.
const char* to_string(Epoch epoch);

/// What the caller of a fence asserts. `no_precede`: it has called no operation since the last fence. `no_succeed`: it
/// will call none before the next one; the fence epoch ends.
struct FenceAssertions {
  bool no_precede = false, no_succeed = false;
};

class EpochState {
 public:
  explicit EpochState(std::size_t members) : targets_(members, Target::none) {}

  /// A put, a get, one of the accumulate family. `call` names it in the error.
  Outcome operation(const char* call, int target) {
    if (allows(target)) [[likely]] {
      fence_used_ = true;  // read in a fence epoch only
      return {};
    }
    return refuse_operation(call, target);
  }
  /// A request-based operation, or a flush of one target.
  Outcome passive(const char* call, int target) const;
  /// A flush of all targets, and `sync`.
  Outcome passive(const char* call) const;

  Outcome fence(const FenceAssertions& assertions);
  /// `places`: no place twice; may be empty.
  Outcome start(std::span<const int> places);
  Outcome complete();
  Outcome post();
  /// What `wait` and `test_wait` need.
  Outcome exposed(const char* call) const;
  Outcome end_exposure();
  Outcome lock(int target, bool shared);
  Outcome unlock(int target);
  /// The same two without answers, of a lock that `may_lock` admits, and of one that `is_locked`.
  bool may_lock(int target) const { return !is_target(target) && (epoch_ == Epoch::lock || is_free()); }
  void take_lock(int target, bool shared) {
    epoch_ = Epoch::lock;
    targets_[at(target)] = shared ? Target::shared : Target::exclusive;
    ++locked_;
  }
  void leave_lock(int target) {
    targets_[at(target)] = Target::none;
    if (--locked_ == 0) epoch_ = Epoch::none;
  }
  Outcome lock_all();
  Outcome unlock_all();
  Outcome free() const;

  Epoch epoch() const { return epoch_; }
  bool is_exposed() const { return exposed_; }
  bool is_fence_used() const { return epoch_ == Epoch::fence && fence_used_; }
  bool is_passive(int target) const { return epoch_ == Epoch::lock_all || is_locked(target); }
  bool is_locked(int target) const { return epoch_ == Epoch::lock && is_target(target); }
  bool is_shared(int target) const { return targets_[at(target)] == Target::shared; }

 private:
  enum class Target : std::uint8_t { none, in_group, exclusive, shared };

  static std::size_t at(int target) { return static_cast<std::size_t>(target); }
  bool is_target(int target) const { return targets_[at(target)] != Target::none; }
  bool allows(int target) const { return is_target(target) || epoch_ == Epoch::fence || epoch_ == Epoch::lock_all; }
  /// No access epoch that a start or a lock would break off.
  bool is_free() const { return epoch_ == Epoch::none || (epoch_ == Epoch::fence && !fence_used_); }
  bool has_no_targets() const { return locked_ == 0 && in_group_.empty(); }
  Outcome refuse(const char* call, const char* remedy) const;
  Outcome refuse_operation(const char* call, int target) const;

  Epoch epoch_ = Epoch::none;
  bool fence_used_ = false;
  bool exposed_ = false;
  std::vector<Target> targets_;  ///< by place; only in start and lock is any of them not none
  std::vector<int> in_group_;    ///< of start
  std::size_t locked_ = 0;       ///< targets, in a lock epoch
};

}  // namespace grapnel::window
