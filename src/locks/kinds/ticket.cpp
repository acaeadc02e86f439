// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/ticket.hpp"

namespace grapnel::locks {

bool Ticket::take_now(const LockId& lock, bool) {
  return context_.at_home(lock) && tickets_.take_if_free(tickets_.words(lock), context_.me);
}

Status Ticket::start(Acquisition& a) {
  a.stage = kTrying;
  if (a.timed) return {};
  if (!context_.at_home(a.lock)) {
    a.stage = kReading;
    return context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::enqueue, a.lock), a.payload);
  }
  a.stage = kWaiting;
  TicketWords& words = tickets_.words(a.lock);
  a.ticket = tickets_.take(words);
  if (tickets_.served(words, a.ticket)) tickets_.finish(a, words, false);
  return {};
}

Status Ticket::advance(Acquisition& a, std::uint64_t until_ns) {
  switch (a.stage) {
    case kTrying: return context_.retry(a, until_ns, [this](Acquisition& one) { return attempt(one); });
    case kReading:
    case kPausing: return read_until_served(a, until_ns);
    default: break;
  }
  TicketWords& words = tickets_.words(a.lock);
  GRAPNEL_TRY(tickets_.wait_for(words, a.ticket, until_ns));
  tickets_.finish(a, words, true);
  return {};
}

Status Ticket::read_until_served(Acquisition& a, std::uint64_t until_ns) {
  for (;;) {
    if (a.stage == kReading) {
      GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
      take_answer(a);
      if (a.done) return {};
      a.stage = kPausing;
    }
    GRAPNEL_TRY(context_.pause(a, until_ns));
    GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::read, a.lock, a.ticket), {}));
    a.stage = kReading;
  }
}

// Served, or it pauses: the longer, the more stand before it.
void Ticket::take_answer(Acquisition& a) {
  const LockBody& said = a.answer->body;
  a.ticket = static_cast<std::uint32_t>(said.me);
  a.before = said.other;
  const auto serving = static_cast<std::uint32_t>(said.value);
  if (serving == a.ticket) {
    a.received = a.answer->payload;
    if (said.flag != 0 && said.other != 0) a.came = context_.came_from(Rank(static_cast<int>(said.other) - 1));
    a.done = true;
    return;
  }
  context_.set_pause(a, (a.ticket - serving) * context_.options.backoff_ns);
}

Status Ticket::attempt(Acquisition& a) {
  if (context_.at_home(a.lock)) {
    tickets_.attempt(a);
    return {};
  }
  GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::attempt, a.lock), a.payload));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  a.done = a.answer->body.flag == 0;
  a.before = a.answer->body.other;
  if (!a.done) {
    ++a.ticket;  // failed tries, as at home
    return {};
  }
  a.received = a.answer->payload;
  if (a.ticket != 0 && a.before != 0) a.came = context_.came_from(Rank(static_cast<int>(a.before) - 1));
  return {};
}

Status Ticket::release(const LockId& lock, bool, ByteView payload) {
  if (!context_.at_home(lock)) {
    return context_.tell(context_.node_of(lock.home), context_.body(Verb::free, lock), payload);
  }
  tickets_.serve_next(tickets_.words(lock), payload);
  return {};
}

bool Ticket::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  if (body.verb != Verb::free) return false;
  tickets_.check_free(lock, from);
  tickets_.serve_next(tickets_.words(lock), payload);
  return true;
}

progress::Outcome Ticket::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  TicketWords& words = tickets_.words(lock);
  LockBody said = body;
  if (body.verb == Verb::attempt) {
    said.flag = tickets_.take_served(words) ? 0 : 1;
    // The holder, or the last one.
    said.other = said.flag == 0 ? TicketServer::become_holder(words, request.origin) : words.holder.load();
    context_.answer(request, said, said.flag == 0 ? context_.memory.kept(&words, 0) : Bytes());
    return progress::Outcome::done;
  }
  if (body.verb != Verb::enqueue && body.verb != Verb::read) return progress::Outcome::refused;
  if (body.verb == Verb::enqueue) said.me = tickets_.take(words);
  said.flag = body.verb == Verb::read ? 1 : 0;
  said.value = words.serving.load();
  const bool served = said.value == said.me;
  said.other = served ? words.holder.exchange(TicketServer::mark(request.origin)) : words.holder.load();
  context_.answer(request, said, served ? context_.memory.kept(&words, 0) : Bytes());
  return progress::Outcome::done;
}

}  // namespace grapnel::locks
