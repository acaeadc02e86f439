// A queue of the ranks of one node, in shared memory, whose waiters sleep: the lower half of `cohort`, and the queue of
// writers of `reader_writer`.
//
//   tail    0 = free, 1 = held by somebody who found it free, else the last waiter's record (lock_memory.hpp)
//   next    the record behind the holder that found it free: 0 | 1 = that one has released | record
//   record: state  waiting | waiting, asleep | gave up | passed (with what the holder says)       (a futex)
//           next   0 | 1 = released | the record behind it
//
// A free queue is taken and given back by one compare-and-swap each, without a record. Whether its place is a record,
// and which, the holder alone needs to know: that stands in its own memory, so that a release does not fetch a line for
// it, which the next in line has just written. A releaser that does not see its successor's link yet marks its own
// `next` as released and leaves: the linker finds that, and is the holder. So a release never waits. A waiter that gave
// up stays in the queue as a record: whoever passes the queue on skips it, and if the same rank comes again before
// that, it stands there again. So a rank has one record in a queue, however often it gives up.
//
// Invariants:
//  1. There is one holder, or somebody who is about to link is.
//  2. `next` is written once by its linker (exchange) or its releaser (compare-and-swap): one of them sees the other.
//  3. A record is given back by whoever leaves or skips its place, so it is never used while somebody may reach it.
// Threads: any.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "sync/locks/ground.hpp"

namespace grapnel::sync::locks {

struct NodeQueueWords {
  os::Word tail;
  std::atomic<std::uint32_t> next;
};

class NodeQueue {
 public:
  /// What a waiter finds in its record; the last two are the releaser's word.
  enum State : std::uint32_t { kWaiting = 1, kAsleep = 3, kGaveUp = 4, kPassedBare = 8, kPassedWhole = 9 };

  explicit NodeQueue(Ground& ground) : ground_(ground), places_(ground.memory.lock_count(), kBare) {}

  bool take_if_free(NodeQueueWords& queue) {
    std::uint32_t free = 0;
    // acquire: pairs with the release in `free_if_last` of the last holder.
    return queue.tail.compare_exchange_strong(free, kBare, std::memory_order_acquire);
  }

  /// Gets in line, or takes up the place that this rank left there; `a.record` is the place. True: the caller is the
  /// holder, without the releaser's word.
  Result<bool> enter(NodeQueueWords& queue, Acquisition& a);
  /// Looks for a moment, without a clock: whether it was passed, so that `wait` will return at once.
  bool passed_soon(const Acquisition& a);
  /// Waits for the record; the answer is what was passed. timed_out as Waiting does.
  Result<State> wait(const Acquisition& a, std::uint64_t until_ns);
  /// True: left, and the record is somebody else's. False: it was passed meanwhile; `wait` says what.
  bool leave(Acquisition& a);

  /// Passes the queue on to a waiter that is already linked and has not given up; false when there is none. `word` is
  /// kPassedBare or kPassedWhole. The caller stays holder where it answers false.
  bool pass(NodeQueueWords& queue, const LockId& lock, State word);
  /// Gives the queue up: to a waiter (`kPassedBare`), to one that is about to link, or frees it.
  void release(NodeQueueWords& queue, const LockId& lock) {
    if (places_[lock.ordinal] == kBare && queue.next.load(std::memory_order_relaxed) == 0 &&
        free_if_last(queue, kBare)) {
      return;
    }
    release_to_waiter(queue, lock);
  }

 private:
  static constexpr std::uint32_t kBare = 1;
  static constexpr std::uint32_t kReleased = 1;

  bool free_if_last(NodeQueueWords& queue, std::uint32_t place) {
    // release: pairs with the acquire of the next one to take it.
    return queue.tail.compare_exchange_strong(place, 0, std::memory_order_release, std::memory_order_relaxed);
  }
  std::atomic<std::uint32_t>& next_of(NodeQueueWords& queue, std::uint32_t place) {
    return place == kBare ? queue.next : ground_.memory.record(place).next;
  }
  bool take_up(Acquisition& a);
  void forget_left(std::uint32_t record);
  void retire(NodeQueueWords& queue, std::uint32_t place);
  void release_to_waiter(NodeQueueWords& queue, const LockId& lock);
  bool hand(std::uint32_t record, State word);

  Ground& ground_;
  /// By the lock's ordinal: this rank's place while it holds the queue, a record or kBare; kBare else.
  std::vector<std::uint32_t> places_;
  std::mutex left_mutex_;
  std::atomic<std::size_t> left_count_{0};               ///< at least as many as in `left_`: 0 spares the mutex
  std::unordered_map<std::size_t, std::uint32_t> left_;  ///< by the lock's ordinal: this rank's record that gave up
};

}  // namespace grapnel::sync::locks
