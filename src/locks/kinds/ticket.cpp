#include "locks/kinds/ticket.hpp"

namespace grapnel::locks {

bool Ticket::take_now(const LockId& lock, bool) {
  return ground_.at_home(lock) && booth_.take_if_free(booth_.words(lock), ground_.me);
}

Status Ticket::start(Acquisition& a) {
  a.stage = kTrying;
  if (a.timed) return {};
  if (!ground_.at_home(a.lock)) {
    a.stage = kReading;
    return ground_.ask(a, ground_.node_of(a.lock.home), ground_.body(Verb::enqueue, a.lock), a.payload);
  }
  a.stage = kWaiting;
  TicketWords& words = booth_.words(a.lock);
  a.ticket = booth_.take(words);
  if (booth_.served(words, a.ticket)) booth_.finish(a, words, false);
  return {};
}

Status Ticket::advance(Acquisition& a, std::uint64_t until_ns) {
  switch (a.stage) {
    case kTrying: return ground_.retry(a, until_ns, [this](Acquisition& one) { return attempt(one); });
    case kReading:
    case kPausing: return read_until_served(a, until_ns);
    default: break;
  }
  TicketWords& words = booth_.words(a.lock);
  GRAPNEL_TRY(booth_.wait_for(words, a.ticket, until_ns));
  booth_.finish(a, words, true);
  return {};
}

Status Ticket::read_until_served(Acquisition& a, std::uint64_t until_ns) {
  for (;;) {
    if (a.stage == kReading) {
      GRAPNEL_TRY(ground_.wait_for_answer(a, until_ns));
      take_answer(a);
      if (a.done) return {};
      a.stage = kPausing;
    }
    GRAPNEL_TRY(ground_.pause(a, until_ns));
    GRAPNEL_TRY(ground_.ask(a, ground_.node_of(a.lock.home), ground_.body(Verb::read, a.lock, a.ticket), {}));
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
    if (said.flag != 0 && said.other != 0) a.came = ground_.came_from(Rank(static_cast<int>(said.other) - 1));
    a.done = true;
    return;
  }
  ground_.set_pause(a, (a.ticket - serving) * ground_.options.backoff_ns);
}

Status Ticket::attempt(Acquisition& a) {
  if (ground_.at_home(a.lock)) {
    booth_.attempt(a);
    return {};
  }
  GRAPNEL_TRY(ground_.ask(a, ground_.node_of(a.lock.home), ground_.body(Verb::attempt, a.lock), a.payload));
  GRAPNEL_TRY(ground_.wait_for_answer(a, progress::Waiting::kForever));
  a.done = a.answer->body.flag == 0;
  a.before = a.answer->body.other;
  if (!a.done) {
    ++a.ticket;  // failed tries, as at home
    return {};
  }
  a.received = a.answer->payload;
  if (a.ticket != 0 && a.before != 0) a.came = ground_.came_from(Rank(static_cast<int>(a.before) - 1));
  return {};
}

Status Ticket::release(const LockId& lock, bool, ByteView payload) {
  if (!ground_.at_home(lock)) {
    return ground_.tell(ground_.node_of(lock.home), ground_.body(Verb::free, lock), payload);
  }
  booth_.serve_next(booth_.words(lock), payload);
  return {};
}

bool Ticket::hear(const LockId& lock, const LockBody& body, ByteView payload, const Speaker& from) {
  if (body.verb != Verb::free) return false;
  booth_.check_free(lock, from);
  booth_.serve_next(booth_.words(lock), payload);
  return true;
}

progress::Outcome Ticket::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  TicketWords& words = booth_.words(lock);
  LockBody said = body;
  if (body.verb == Verb::attempt) {
    said.flag = booth_.take_served(words) ? 0 : 1;
    // Who holds it, or held it last.
    said.other = said.flag == 0 ? TicketBooth::become_holder(words, request.origin) : words.holder.load();
    ground_.answer(request, said, said.flag == 0 ? ground_.memory.kept(&words, 0) : Bytes());
    return progress::Outcome::done;
  }
  if (body.verb != Verb::enqueue && body.verb != Verb::read) return progress::Outcome::refused;
  if (body.verb == Verb::enqueue) said.me = booth_.take(words);
  said.flag = body.verb == Verb::read ? 1 : 0;
  said.value = words.serving.load();
  const bool served = said.value == said.me;
  said.other = served ? words.holder.exchange(TicketBooth::mark(request.origin)) : words.holder.load();
  ground_.answer(request, said, served ? ground_.memory.kept(&words, 0) : Bytes());
  return progress::Outcome::done;
}

}  // namespace grapnel::locks
