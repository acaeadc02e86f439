// A shared mode around an exclusive algorithm: a reader passes through the lock and counts itself; a writer holds the
// lock and waits until all readers have left.
//
// Source: mpi2-passive, section 3 (shared and exclusive passive epochs) for what is asked for. The project's own step:
// the count of admitted readers travels with the lock, so that a set of writers alone sends no message more.
//
//   with the lock       admitted, since_writer   (messages.hpp: Tally), in front of a releaser's payload
//   the lock's home     left       readers that left so far, modulo 2^32                       (a futex)
//                       awaited    0, or the value of `left` that a writer waits for, and where that writer is: at a
//                                  rank of the home's node, or elsewhere, and then the server waits in its place
//   a writer's rank     admitted   the lock's, while the writer holds it
//
//   reader    takes the lock, adds one to `admitted`, releases the lock: it is inside.     leaves: adds one to `left`
//   writer    takes the lock; with readers admitted since the last writer, waits until `left` is `admitted`
//
//                       beside what the algorithm costs for an exclusive acquisition and its release
//   shared, acquire     the algorithm's release
//           release     at home 1 atomic addition; elsewhere 1 one-way message
//   sole                nothing without readers since the last writer; else at home a wait on `left`, elsewhere 1 round
//                       trip, answered when the last reader has left; where that one is of the home's node, 1 message
//                       more, from it to its server
//
// Spinning: a writer at home on `left`, then it sleeps on it, and only the last reader wakes it; a writer elsewhere
// waits for the answer. Order: the algorithm's, for readers and writers; a writer that holds the lock keeps later
// readers out, so no rank starves where the algorithm is fair. A writer that gives up, or whose try finds readers
// inside, releases the lock with the tally unchanged. A try may find the lock held by a reader that passes through. A
// reader that dies inside never leaves; writers see the death between sleeps, and its node names it (lock_deaths.cpp).
//
// A started shared acquisition takes no place in line before its rank's first wait or test: else it could get the lock
// unnoticed, and keep other readers out until that rank looks.
//
// A reader that joins (Ask::joins_readers) waits in line as well, and looks in pauses whether a writer waits for
// readers: then it takes one off `left` by compare-and-swap, is inside, and leaves the line. A look of a rank elsewhere
// is a round trip, also in a test. It is not in the tally, which is with the lock: where no writer waits for readers
// there is nothing to join. A writer that was started waits for them from its rank's next look on. Readers get the
// payload with the lock, so in a set with payloads none joins.
//
// Invariants:
//  1. What a releaser hands on reaches the next holder by every way (algorithm.hpp), so `admitted` counts every reader
//     that passed through the lock, and `admitted` - `left` are inside, modulo 2^32.
//  2. At most one writer waits for readers: the lock's holder. `awaited` and the server's waiter belong to it.
//  3. The reader that makes `left` equal to `awaited` sees it: it adds before it looks, and a writer writes `awaited`
//     before it looks at `left`; all sequentially consistent.
//  4. A writer is inside only while `left` is `admitted`. `awaited` is at most `admitted`, now and later. So
//     a rank that lowers a `left` below `awaited`, however long ago it has read that, comes in beside a reader.
// Threads: any; the waiters elsewhere are the server's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

class SharedMode final : public Algorithm {
 public:
  SharedMode(LockContext& context, std::unique_ptr<Algorithm> lock) : context_(context), lock_(std::move(lock)) {}

  bool has_shared() const override { return true; }
  void use_memory() override {
    lock_->use_memory();
    admitted_ = context_.memory.my_numbers();
  }
  bool take_now(const LockId& lock, bool shared) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  Bytes successor_payload(const LockId& lock) override { return lock_->successor_payload(lock); }
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override;
  std::string queue_behind(const LockId& lock, Rank holder) override { return lock_->queue_behind(lock, holder); }

 private:
  struct Readers {
    os::Word left;
    std::atomic<std::uint64_t> awaited;  ///< Awaiter << 32 | the value of `left` that it waits for
  };
  enum Awaiter : std::uint64_t { kNone, kHere, kElsewhere };  ///< no writer; one of the home's node; of another
  enum Step { kNoPlace, kInLine, kAwaits };
  /// An answer's: no reader is inside; some are, or the wait was given up, or the sender has joined them.
  enum Flag : std::uint16_t { kGone, kInside };
  struct Waiter {
    Rank rank;
    std::uint64_t token;
    std::uint32_t admitted;
  };

  Readers& readers(const LockId& lock) const { return *reinterpret_cast<Readers*>(context_.memory.readers(lock)); }
  bool have_left(const LockId& lock, std::uint32_t admitted) const;
  bool none_is_inside(const LockId& lock, const Tally& tally) const;
  Status hand_on(const LockId& lock, const Tally& tally, ByteView payload);
  Status admit_reader(const LockId& lock, Tally tally, ByteView payload);

  bool may_join(const Acquisition& a) const { return a.joins && context_.options.payload_bytes == 0; }
  bool join_at_home(const LockId& lock);
  Result<bool> join(const LockId& lock);
  Status leave_line(Acquisition& a);
  Status enter_or_join(Acquisition& a, std::uint64_t until_ns);
  void pause_before_join(Acquisition& a);

  Status take_place(Acquisition& a);
  void take_tally(Acquisition& a);
  Status enter(Acquisition& a);
  Status await_readers(Acquisition& a);
  Status wait_for_readers(Acquisition& a, std::uint64_t until_ns);
  Status stop_awaiting(Acquisition& a);
  Status enter_if_none_is_inside(Acquisition& a, bool may_ask);
  Status ask(Acquisition& a, bool waits);
  void hold(Acquisition& a);
  Status step_back(Acquisition& a);
  Awaiter count_left(const LockId& lock);

  // The home's server.
  void serve(const LockId& lock);
  bool on_left(const LockId& lock, bool is_counted, const Sender& from);
  void on_stop(const LockId& lock, Rank rank);
  void answer_waiter(const LockId& lock, Flag flag);
  progress::Outcome answer_join(const LockId& lock, const LockBody& body, progress::Request& request);

  LockContext& context_;
  const std::unique_ptr<Algorithm> lock_;
  std::uint32_t* admitted_ = nullptr;                ///< by ordinal; of locks that this rank holds as a writer
  std::unordered_map<std::size_t, Waiter> waiters_;  ///< by ordinal; the server's thread only
};

}  // namespace grapnel::locks
