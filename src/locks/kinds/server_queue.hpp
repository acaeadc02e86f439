// server_queue: the home's server keeps a queue per lock and grants in the order of arrival.
//
// Paper: thesis, 5.1.1; mpi2-passive, section 4.1 (the thread-based design).
//
// The word, at home: holder   rank + 1 of the last one that got it; written by the server, to be named after a death
//
// The queue is the server's own memory, and only while a rank holds the lock or a payload is kept:
//
//   holder, payload   [waiter: rank, token] [waiter] …
//
//                       free                 contended
//   acquire             1 round trip         the same; the answer comes when it is granted
//   release             1 one-way message    the same; the server then sends the grant: hand-off is 2 messages
//
// Ranks at the home go through their node's server like all others. Spinning: a waiter waits for the answer in
// its transport. Order: FIFO by arrival. A waiter that gives up notifies the server, and gets the answer to its
// first request: that it is out of the queue, or the grant that crossed. One round trip.
// A holder that dies: the queue stops; waiters see the death between sleeps, and the job ends. Ranks of the
// home's node read the holder in the word; the home's server reports holder and queue. In a job of one node there is no
// server: `ticket` takes its place (factory.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <unordered_map>

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

class ServerQueue final : public Algorithm {
 public:
  explicit ServerQueue(LockContext& context) : context_(context) {}

  bool take_now(const LockId&, bool) override { return false; }
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override;
  std::string queue_behind(const LockId& lock, Rank holder) override;

 private:
  struct Words {
    std::atomic<std::uint32_t> holder;
  };
  struct Waiter {
    Rank rank;
    std::uint64_t token;
  };
  struct Queue {
    bool held = false;
    Rank holder{};
    Bytes payload;  ///< the last releaser's
    std::deque<Waiter> waiters;
  };

  /// An answer's flag.
  enum Flag : std::uint16_t { kFree, kHandedOver, kCancelled };

  Status ask(Acquisition& a, Verb verb);
  void take_answer(Acquisition& a);
  bool cancel(const LockId& lock, Queue& queue, std::uint64_t rank);
  void set_holder(const LockId& lock, Queue& queue, Rank holder);

  LockContext& context_;
  std::unordered_map<std::size_t, Queue> queues_;  ///< by ordinal; the server's thread only
};

}  // namespace grapnel::locks
