// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/test_and_set.hpp"

namespace grapnel::locks {

std::uint32_t TestAndSet::try_to_take(Words& words, Rank who) {
  std::uint32_t seen = words.holder.load(std::memory_order_relaxed);  // decided by the exchange
  if (seen != 0) return seen;
  words.holder.compare_exchange_strong(seen, static_cast<std::uint32_t>(index(who)) + 1);
  return seen;
}

void TestAndSet::free(Words& words, ByteView payload) {
  context_.memory.keep(&words, 0, payload);
  words.last.store(words.holder.load(std::memory_order_relaxed), std::memory_order_relaxed);  // published by the next
  words.holder.store(0, std::memory_order_release);  // pairs with the exchange in `try_to_take`
}

bool TestAndSet::take_now(const LockId& lock, bool) {
  return context_.at_home(lock) && try_to_take(words(lock), context_.me) == 0;
}

Status TestAndSet::start(Acquisition& a) {
  // The paper's nonblocking acquire: the first try leaves now and is waited for later.
  a.stage = kIdle;
  if (context_.at_home(a.lock)) return {};
  a.stage = kAsked;
  return context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::attempt, a.lock), a.payload);
}

Status TestAndSet::advance(Acquisition& a, std::uint64_t until_ns) {
  return context_.retry(a, until_ns, [&](Acquisition& one) { return try_once(one, until_ns); });
}

Status TestAndSet::try_once(Acquisition& a, std::uint64_t until_ns) {
  if (context_.at_home(a.lock)) {
    Words& home = words(a.lock);
    a.before = try_to_take(home, context_.me);
    if (a.before == 0) {
      got_it(a, home.last.load(std::memory_order_relaxed), context_.memory.kept(&home, 0));
    } else {
      ++a.ticket;
    }
    return {};
  }
  if (a.stage == kIdle) {
    GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::attempt, a.lock), a.payload));
    a.stage = kAsked;
  }
  GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
  a.stage = kIdle;
  take_answer(a);
  return {};
}

void TestAndSet::take_answer(Acquisition& a) {
  a.before = a.answer->body.other;
  if (a.before == 0) {
    got_it(a, a.answer->body.value, a.answer->payload);
  } else {
    ++a.ticket;
  }
}

// `last`: rank + 1 of the last holder. A rank that found it free at the first try was handed nothing.
void TestAndSet::got_it(Acquisition& a, std::uint64_t last, Bytes payload) {
  if (a.ticket != 0 && last != 0) a.came = context_.came_from(Rank(static_cast<int>(last) - 1));
  a.received = std::move(payload);
  a.done = true;
}

Status TestAndSet::give_up(Acquisition& a) {
  if (a.stage != kAsked) return {};
  // A try that is under way may succeed; it is a round trip away.
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  a.stage = kIdle;
  take_answer(a);
  return {};
}

Status TestAndSet::attempt(Acquisition& a) {
  a.stage = kIdle;
  return try_once(a, progress::Waiting::kForever);
}

Status TestAndSet::release(const LockId& lock, bool, ByteView payload) {
  if (!context_.at_home(lock)) {
    return context_.tell(context_.node_of(lock.home), context_.body(Verb::free, lock), payload);
  }
  free(words(lock), payload);
  return {};
}

bool TestAndSet::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  if (body.verb != Verb::free) return false;
  if (!from.rank || words(lock).holder.load() != index(*from.rank) + 1) {
    context_.abort_job(lock, from, "frees it and does not hold it");
  }
  free(words(lock), payload);
  return true;
}

progress::Outcome TestAndSet::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  if (body.verb != Verb::attempt) return progress::Outcome::refused;
  Words& home = words(lock);
  LockBody said = body;
  said.other = try_to_take(home, request.origin);
  said.value = home.last.load(std::memory_order_relaxed);
  context_.answer(request, said, said.other == 0 ? context_.memory.kept(&home, 0) : Bytes());
  return progress::Outcome::done;
}

std::string TestAndSet::describe(const Acquisition& a) {
  const std::uint64_t holder = context_.at_home(a.lock) ? words(a.lock).holder.load() : a.before;
  return holder == 0 ? "nobody holds it" : fmt::format("rank {} holds it", holder - 1);
}

}  // namespace grapnel::locks
