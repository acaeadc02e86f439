// A queue of the ranks of one node, in shared memory, whose waiters sleep: the lower half of `cohort`, and the queue of
// writers of `reader_writer`.
//
//   tail  0 = free, 1 = held by a rank that found it free, else the last waiter's record (lock_memory.hpp)
//   link  of the holder that found it free, and one in each record:
//         none behind | waits | waits, asleep | gave up, and which record | passed (with the holder's word)
//
// A free queue is taken and given back by one compare-and-swap each, without a record. A rank behind another
// waits on that one's link, not on a word of its own (Craig; Landin and Hagersten: the CLH lock; a link and not a
// queue of names, as the holder need not know the rank behind). So a hand-over is one compare-and-swap of the holder's
// own link: one cache line's way to the releaser, who takes it from the waiter, and one back. With a word of each
// waiter's (mcs.hpp) the releaser would first have to fetch the successor's name.
//
// A releaser whose successor has not linked yet marks its own link as passed and leaves: the linker finds that, and is
// the holder. So a release never waits. A waiter that gave up writes so into the link that it waited on, with its
// record, and stays in the queue as that record: the rank that passes the queue on continues from there, and if the
// same rank comes again before that, it waits there again. So a rank waits or has given up in one place of a queue,
// however often.
//
// Whether its place is a record, and which, the holder alone needs to know: it is in its own memory.
//
// Invariants:
//  1. There is one holder, or a rank that is about to link is it.
//  2. A link has one waiter: the rank that got the place from the tail. If it gave up, only the holder gets past it.
//  3. A place is retired by the last rank to see that it was passed: its waiter, or the holder where that one gave up.
//     So no rank reads or writes the link of a place that is in use again; to wake its sleepers in vain does no harm.
//  4. A rank is once in a queue: until its release is over it does not enter again (lock_set.hpp).
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "base/mutex.hpp"
#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

struct NodeQueueWords {
  os::Word tail;
  os::Word link;
};

class NodeQueue {
 public:
  /// What a waiter finds in the link that it waits on. The last two are the releaser's word: the queue alone, or the
  /// lock, too (the node's place between the nodes; cohort.hpp).
  enum State : std::uint32_t { kNobody = 0, kWaits = 1, kSleeps = 2, kPassedQueue = 3, kPassedLock = 4 };

  explicit NodeQueue(LockContext& context) : context_(context) {}
  /// The set's memory is there.
  void use_memory();

  bool take_if_free(NodeQueueWords& queue) {
    std::uint32_t free = 0;
    // acquire: pairs with the release in `free_if_last` of the last holder.
    return queue.tail.compare_exchange_strong(free, kNoRecord, std::memory_order_acquire);
  }

  /// Gets in line, or takes up the place that this rank left there; `a.record` is the place. True: the caller is the
  /// holder, without the releaser's word.
  Result<bool> enter(NodeQueueWords& queue, Acquisition& a);
  /// `wait` for about a microsecond, without a clock: whether it was passed, with whatever. Then the caller holds the
  /// queue.
  bool wait_shortly(NodeQueueWords& queue, const Acquisition& a);
  /// Looks for a moment, without a clock: whether it was passed, so that `wait` will return at once.
  bool passed_soon(NodeQueueWords& queue, const Acquisition& a);
  /// Waits until it is passed; the answer is with what. timed_out as Waiting does.
  Result<State> wait(NodeQueueWords& queue, const Acquisition& a, std::uint64_t until_ns);
  /// True: left, and the record is another rank's. False: it was passed before; `wait` answers with what.
  bool leave(NodeQueueWords& queue, Acquisition& a);

  /// Passes the queue on to a waiter that is already linked and has not given up; false when there is none. `word` is
  /// kPassedQueue or kPassedLock. The caller stays holder where it answers false.
  bool pass(NodeQueueWords& queue, std::size_t ordinal, State word);
  /// Gives the queue up: to a waiter (`kPassedQueue`), to one that is about to link, or frees it.
  void release(NodeQueueWords& queue, std::size_t ordinal) {
    if (!release_at_once(queue, ordinal)) release_to_waiter(queue, ordinal);
  }
  /// The same where that takes one compare-and-swap and no call; else false, and nothing was done.
  bool release_at_once(NodeQueueWords& queue, std::size_t ordinal) {
    Place& place = places_[ordinal];
    // With a waiter the line is in its cache and this look fetches it; without one it is here and costs nothing.
    if (place.number == kNoRecord) {
      return queue.link.load(std::memory_order_relaxed) == kNobody && free_if_last(queue, kNoRecord);
    }
    // A guess, as in `pass`; release: pairs with the acquire of the waiter on the link.
    std::uint32_t found = kWaits;
    if (!place.link->compare_exchange_strong(found, kPassedQueue, std::memory_order_release)) return false;
    place = {};
    return true;
  }

 private:
  static constexpr std::uint32_t kNoRecord = 1;
  static constexpr std::uint32_t kFirstGaveUp = 8;

  struct Left {
    std::uint32_t record, waits_at;
  };
  struct Place {
    std::uint32_t number = kNoRecord;  ///< a record or kNoRecord
    os::Word* link = nullptr;          ///< a record's
  };

  static bool is_passed(std::uint32_t link) { return link == kPassedQueue || link == kPassedLock; }
  static std::uint32_t gave_up(std::uint32_t record) { return kFirstGaveUp + record; }
  static std::uint32_t record_that_gave_up(std::uint32_t link) { return link - kFirstGaveUp; }

  bool free_if_last(NodeQueueWords& queue, std::uint32_t place) {
    // release: pairs with the acquire of the next one to take it.
    return queue.tail.compare_exchange_strong(place, 0, std::memory_order_release, std::memory_order_relaxed);
  }
  os::Word& link_of(NodeQueueWords& queue, std::uint32_t place) {
    return place == kNoRecord ? queue.link : context_.memory.record(place).link;
  }
  Place place_of(std::uint32_t record) { return {record, &context_.memory.record(record).link}; }
  bool take_up(NodeQueueWords& queue, Acquisition& a);
  void forget_left(std::uint32_t record);
  void retire(NodeQueueWords& queue, std::uint32_t place);
  void release_to_waiter(NodeQueueWords& queue, std::size_t ordinal);

  LockContext& context_;
  /// By the lock's ordinal: this rank's place while it holds the queue; kNoRecord else.
  Place* places_ = nullptr;
  base::Mutex left_mutex_;
  std::atomic<std::size_t> left_count_{0};  ///< at least as many as in `left_`: 0 spares the mutex
  std::unordered_map<std::size_t, Left> left_
      GRAPNEL_GUARDED_BY(left_mutex_);  ///< by the lock's ordinal: where this rank gave up
};

}  // namespace grapnel::locks
