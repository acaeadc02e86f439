// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/armci_hybrid.hpp"

#include <algorithm>

namespace grapnel::locks {

bool ArmciHybrid::take_now(const LockId& lock, bool) {
  return context_.at_home(lock) && tickets_.take_if_free(tickets_.words(lock), context_.me);
}

Status ArmciHybrid::start(Acquisition& a) {
  if (!context_.at_home(a.lock)) {
    a.stage = kAsked;
    return context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::enqueue, a.lock), a.payload);
  }
  a.stage = kTrying;
  if (a.timed) return {};
  a.stage = kWaiting;
  TicketWords& words = tickets_.words(a.lock);
  a.ticket = tickets_.take(words);
  if (tickets_.served(words, a.ticket)) tickets_.finish(a, words, false);
  return {};
}

Status ArmciHybrid::advance(Acquisition& a, std::uint64_t until_ns) {
  if (a.stage == kTrying) return context_.retry(a, until_ns, [this](Acquisition& one) { return attempt(one); });
  if (a.stage == kAsked) {
    GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
    take_answer(a);
    return {};
  }
  TicketWords& words = tickets_.words(a.lock);
  GRAPNEL_TRY(tickets_.wait_for(words, a.ticket, until_ns));
  tickets_.finish(a, words, true);
  return {};
}

void ArmciHybrid::take_answer(Acquisition& a) {
  const LockBody& said = a.answer->body;
  if (said.flag == kCancelled) return;
  if (said.flag == kHandedOver && said.other != 0) a.came = context_.came_from(Rank(static_cast<int>(said.other) - 1));
  a.received = a.answer->payload;
  a.done = true;
}

Status ArmciHybrid::give_up(Acquisition& a) {
  if (a.stage != kAsked) return {};  // no ticket, no place
  const NodeId home = context_.node_of(a.lock.home);
  GRAPNEL_TRY(context_.tell(home, context_.body(Verb::cancel, a.lock, index(context_.me)), {}));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  take_answer(a);
  return {};
}

Status ArmciHybrid::attempt(Acquisition& a) {
  if (context_.at_home(a.lock)) {
    tickets_.attempt(a);
    return {};
  }
  GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::attempt, a.lock), a.payload));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  if (a.answer->body.flag != kCancelled) take_answer(a);
  return {};
}

Status ArmciHybrid::release(const LockId& lock, bool, ByteView payload) {
  const NodeId home = context_.node_of(lock.home);
  if (!context_.at_home(lock)) return context_.tell(home, context_.body(Verb::free, lock), payload);
  TicketWords& words = tickets_.words(lock);
  tickets_.serve_next(words, payload);
  if (words.away.load() == 0) return {};
  return context_.tell(home, context_.body(Verb::look, lock), {});
}

progress::Outcome ArmciHybrid::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  TicketWords& words = tickets_.words(lock);
  if (body.verb == Verb::attempt) {
    LockBody said = body;
    said.flag = tickets_.take_if_free(words, request.origin) ? kFree : kCancelled;
    said.other = words.holder.load();
    context_.answer(request, said, said.flag == kFree ? context_.memory.kept(&words, 0) : Bytes());
    return progress::Outcome::done;
  }
  if (body.verb != Verb::enqueue || !may_enter(lock, request.origin)) return progress::Outcome::refused;
  words.away.fetch_add(1);
  away_[lock.ordinal].push_back({tickets_.take(words), request.origin, request.token});
  serve_away(lock);
  if (const auto found = away_.find(lock.ordinal); found != away_.end()) found->second.back().waits = true;
  return progress::Outcome::done;
}

// Once in the queue, or again after it gave up, as often as a program may; not without a limit.
bool ArmciHybrid::may_enter(const LockId& lock, Rank rank) {
  const auto found = away_.find(lock.ordinal);
  if (found == away_.end()) return true;
  const std::deque<Waiter>& waiters = found->second;
  return waiters.size() < kMostWaiters && std::none_of(waiters.begin(), waiters.end(), [&](const Waiter& waiter) {
           return waiter.rank == rank && !waiter.gave_up;
         });
}

void ArmciHybrid::serve_away(const LockId& lock) {
  TicketWords& words = tickets_.words(lock);
  const auto found = away_.find(lock.ordinal);
  if (found == away_.end()) return;
  std::deque<Waiter>& waiters = found->second;
  while (!waiters.empty() && tickets_.served(words, waiters.front().ticket)) {
    const Waiter first = waiters.front();
    waiters.pop_front();
    words.away.fetch_sub(1);
    if (!first.gave_up) {
      grant(lock, first);
      break;
    }
    tickets_.serve_next(words, context_.memory.kept(&words, 0));  // ranks that gave up are passed over
  }
  if (waiters.empty()) away_.erase(found);
}

void ArmciHybrid::grant(const LockId& lock, const Waiter& waiter) {
  TicketWords& words = tickets_.words(lock);
  LockBody said = context_.body(Verb::enqueue, lock);
  said.flag = waiter.waits ? kHandedOver : kFree;
  said.other = words.holder.exchange(TicketServer::mark(waiter.rank));
  context_.answer_later(waiter.rank, waiter.token, said, context_.memory.kept(&words, 0));
}

void ArmciHybrid::cancel(const LockId& lock, std::uint64_t rank) {
  const auto found = away_.find(lock.ordinal);
  if (found == away_.end()) return;
  for (Waiter& waiter : found->second) {
    if (index(waiter.rank) != rank || waiter.gave_up) continue;
    waiter.gave_up = true;
    LockBody said = context_.body(Verb::cancel, lock);
    said.flag = kCancelled;
    context_.answer_later(waiter.rank, waiter.token, said, {});
    return;
  }
}

std::string ArmciHybrid::queue_behind(const LockId& lock, Rank holder) {
  if (!tickets_.is_held_by(tickets_.words(lock), holder)) return {};
  std::vector<Rank> ranks;
  if (const auto found = away_.find(lock.ordinal); found != away_.end()) {
    for (const Waiter& waiter : found->second) {
      if (!waiter.gave_up) ranks.push_back(waiter.rank);
    }
  }
  return fmt::format("its ticket is rank {}'s; in its home's queue: {}", index(holder),
                     ranks.empty() ? "nobody" : context_.name_of(ranks));
}

bool ArmciHybrid::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  switch (body.verb) {
    case Verb::free:
      tickets_.check_free(lock, from);
      tickets_.serve_next(tickets_.words(lock), payload);
      break;
    case Verb::cancel:
      if (!from.rank || index(*from.rank) != body.me) return false;
      cancel(lock, body.me);
      return true;
    case Verb::look: break;
    default: return false;
  }
  serve_away(lock);
  return true;
}

}  // namespace grapnel::locks
