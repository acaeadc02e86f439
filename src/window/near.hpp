// Accesses to targets of this rank's node without the checks that an earlier access of the same epoch has passed.
//
//   first access of an epoch    Window::enter: is it legal? is the target's lock granted? ─▶ permit(target)
//   the next ones               permit of the target = number of the period? ─▶ inside its memory? ─▶ copy
//
// A permit is the number of a period; it lasts until the epoch ends, which begins another period, or until the target
// is unlocked. On the own node an operation is complete when it returns, so a permitted flush is a fence of the
// processor. With this, a put of 8 bytes and its flush take 239 instructions by MPI's calls, in place of 1,040.
//
// Each call answers false where it has done nothing: without a permit, for an access that leaves the target's memory,
// and where rma::Near does. The window's own call then waits, or answers what is wrong: there is no error here.
// Memory that a target of a created window has lent is reached by process copies; it is lent while the window lives,
// so that nothing is looked up. In dynamic windows accesses have no permit, and flushes have.
//
// Threads: accesses: any. The others are the window's: under its mutex, where several threads use it.
// Invariant: a thread that finds a permit sees what the thread that was granted the lock has seen (release, acquire).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rma/near.hpp"
#include "window/part.hpp"

namespace grapnel::window {

class NearTargets {
 public:
  explicit NearTargets(const rma::Near& memory) : memory_(memory) {}

  // Accesses. `bytes` is not 0, and `displacement` in the target's units.

  bool put(int target, std::int64_t displacement, const void* source, std::size_t bytes) const {
    const Target* const one = permitted(target);
    std::byte* const at = one != nullptr ? address_in(*one, displacement, bytes) : nullptr;
    if (at == nullptr) [[unlikely]]
      return false;
    return one->is_lent ? memory_.put_lent(one->rank, at, source, bytes) : memory_.put(at, source, bytes);
  }
  bool get(int target, std::int64_t displacement, void* destination, std::size_t bytes) const {
    const Target* const one = permitted(target);
    std::byte* const at = one != nullptr ? address_in(*one, displacement, bytes) : nullptr;
    if (at == nullptr) [[unlikely]]
      return false;
    return one->is_lent ? memory_.get_lent(one->rank, at, destination, bytes) : memory_.get(at, destination, bytes);
  }
  /// `kernel` is that of `update`.
  bool update(int target, std::int64_t displacement, const rma::Update& update, const Reduction& kernel,
              const void* source, void* old_elements, std::size_t bytes) const {
    std::byte* const at = updated(target, displacement, bytes);
    return at != nullptr && memory_.update(update, kernel, at, source, old_elements, bytes);
  }
  bool compare(int target, std::int64_t displacement, std::size_t bytes, std::uint64_t expected, std::uint64_t desired,
               std::uint64_t& old_value) const {
    std::byte* const at = updated(target, displacement, bytes);
    return at != nullptr && memory_.compare(at, bytes, expected, desired, old_value);
  }
  bool flush(int target) const {
    if (!is_near(target) || targets_[index_of(target)].permit.load(std::memory_order_acquire) != flushes(period())) {
      return false;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return true;
  }

  // What the window keeps.

  /// The parts are known.
  void open(const std::vector<Part>& parts, bool is_dynamic);
  bool is_near(int target) const { return index_of(target) < targets_.size() && targets_[index_of(target)].is_near; }
  /// Accesses to the target are legal and granted; `passive`: flushes, too.
  void permit(int target, bool passive) {
    if (!is_near(target)) return;
    targets_[index_of(target)].permit.store(passive ? flushes(period()) : period(), std::memory_order_release);
  }
  void forbid(int target) {
    if (is_near(target)) targets_[index_of(target)].permit.store(0, std::memory_order_relaxed);
  }
  /// After 2³¹ epochs a number comes again, so no permit of an earlier period may be left then.
  void forbid_all();

 private:
  struct Target {
    std::atomic<std::uint32_t> permit{0};  ///< a period's number, and 1 where flushes are permitted; 0: none
    bool is_near = false, is_lent = false;
    Rank rank{};
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    std::int64_t unit = 1;
  };

  static std::size_t index_of(int target) { return static_cast<std::size_t>(target); }  // a negative one is beyond all
  static std::uint32_t flushes(std::uint32_t period) { return period | 1; }
  // relaxed: a program orders the end of an epoch and accesses of its other threads.
  std::uint32_t period() const { return period_.load(std::memory_order_relaxed); }

  const Target* permitted(int target) const {
    if (index_of(target) >= targets_.size()) return nullptr;
    const Target& one = targets_[index_of(target)];
    return flushes(one.permit.load(std::memory_order_acquire)) == flushes(period()) ? &one : nullptr;
  }
  /// Null: a byte lies outside.
  static std::byte* address_in(const Target& target, std::int64_t displacement, std::size_t bytes) {
    std::int64_t at = 0;
    if (__builtin_mul_overflow(displacement, target.unit, &at)) return nullptr;
    const auto offset = static_cast<std::size_t>(at);  // a negative one is beyond all memory
    return offset < target.bytes && bytes <= target.bytes - offset ? target.base + offset : nullptr;
  }
  // Lent memory has other stripes: the long way knows them.
  std::byte* updated(int target, std::int64_t displacement, std::size_t bytes) const {
    const Target* const one = permitted(target);
    return one != nullptr && !one->is_lent ? address_in(*one, displacement, bytes) : nullptr;
  }

  const rma::Near& memory_;
  std::atomic<std::uint32_t> period_{kFirst};  ///< even
  std::vector<Target> targets_;                ///< by place; empty until `open`

  static constexpr std::uint32_t kFirst = 2;
};

}  // namespace grapnel::window
