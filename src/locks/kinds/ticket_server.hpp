// The ticket lock at its home, as ranks of the home's node and its server use it: what `ticket` and `armci_hybrid`
// share.
//
// The word:  next     the ticket that the next to come will get
//            serving  the ticket of the holder, or `next` where it is free          (a futex)
//            holder   rank + 1 of the last one that got it
//            away     remote ranks that stand in the server's queue (armci_hybrid)
//
// Tickets wrap around and are compared for equality: fewer than 2^32 wait at once.
//
// Invariants:
//  1. Only the holder, or the server for it, changes `serving`, by one.
//  2. A ticket is taken with `fetch_add`, or, by a rank that will not wait, only while `next` is served: so a rank that
//     has a ticket stays, and none has to be skipped.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

struct TicketWords {
  os::Word next, serving;
  std::atomic<std::uint32_t> holder, away;
};

class TicketServer {
 public:
  explicit TicketServer(LockContext& context) : context_(context) {}

  TicketWords& words(const LockId& lock) { return context_.memory.home<TicketWords>(lock); }

  /// Takes a ticket only if it is served at once.
  bool take_if_free(TicketWords& words, Rank who) {
    if (!take_served(words)) return false;
    become_holder(words, who);
    return true;
  }
  /// The same without `become_holder`, which is to follow.
  bool take_served(TicketWords& words) {
    std::uint32_t ticket = words.serving.load(std::memory_order_acquire);    // pairs with `serve_next`
    if (words.next.load(std::memory_order_relaxed) != ticket) return false;  // decided by the exchange
    return words.next.compare_exchange_strong(ticket, ticket + 1);
  }
  /// Of the rank that is served: notes it, and answers the holder before it (a mark; 0: none).
  static std::uint32_t become_holder(TicketWords& words, Rank who) {
    const std::uint32_t last = words.holder.load(std::memory_order_relaxed);
    words.holder.store(mark(who), std::memory_order_relaxed);  // only holders write it, one after the other
    return last;
  }
  /// A try at home: done, or not, at once.
  void attempt(Acquisition& a) {
    TicketWords& here = words(a.lock);
    if (take_served(here)) {
      finish(a, here, a.ticket != 0);
    } else {
      ++a.ticket;  // failed tries: the lock was taken, so it will come from its holder
    }
  }
  std::uint32_t take(TicketWords& words) { return words.next.fetch_add(1); }
  bool served(const TicketWords& words, std::uint32_t ticket) const { return words.serving.load() == ticket; }
  /// Waits for it. timed_out as Waiting does.
  Status wait_for(TicketWords& words, std::uint32_t ticket, std::uint64_t until_ns) {
    return context_.wait_on(words.serving, until_ns, [&] { return served(words, ticket); });
  }
  /// The caller is served: fills in where the lock came from, and what the last holder left.
  void finish(Acquisition& a, TicketWords& words, bool waited) {
    const std::uint32_t last = become_holder(words, context_.me);
    if (waited && last != 0) a.came = context_.came_from(Rank(static_cast<int>(last) - 1));
    a.received = context_.memory.kept(&words, 0);
    a.done = true;
  }
  /// The holder leaves. True when a rank waits.
  bool serve_next(TicketWords& words, ByteView payload) {
    context_.memory.keep(&words, 0, payload);
    const std::uint32_t next = words.serving.load(std::memory_order_relaxed) + 1;  // only the holder writes it
    words.serving.store(next);
    // Both sequentially consistent: a waiter that took its ticket before is seen here, or it sees the new value.
    if (words.next.load() == next) return false;
    context_.waiting.host().wake(words.serving);
    return true;
  }
  /// The server: only the rank that was served may free it from elsewhere. It was noted as the holder when it was
  /// served.
  void check_free(const LockId& lock, const Sender& from) {
    if (!from.rank || !is_held_by(words(lock), *from.rank))
      context_.abort_job(lock, from, "frees it and does not hold it");
  }
  static std::uint32_t mark(Rank rank) { return static_cast<std::uint32_t>(index(rank)) + 1; }

  std::string describe(const Acquisition& a);
  bool is_held_by(const TicketWords& words, Rank rank) const {
    return words.next.load() != words.serving.load() && words.holder.load() == mark(rank);
  }

 private:
  LockContext& context_;
};

}  // namespace grapnel::locks
