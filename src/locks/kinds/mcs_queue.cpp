// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/mcs_queue.hpp"

#include <fmt/format.h>

namespace grapnel::locks {

// ---- acquiring

std::uint64_t McsQueue::new_place(McsMember& mine, std::uint32_t member, State state) {
  // relaxed: published by the exchange of the tail, here or at the home.
  const std::uint32_t turn = mine.turn.load(std::memory_order_relaxed) + 1;
  next_of(mine, turn).store(0, std::memory_order_relaxed);
  mine.turn.store(turn, std::memory_order_relaxed);
  mine.state.store(state, std::memory_order_relaxed);
  return place_of(member, turn);
}

void McsQueue::got_it(Acquisition& a, McsMember& mine, ByteView payload) {
  mine.state.store(kGranted);
  a.received.assign(payload.begin(), payload.end());
  a.done = true;
}

Status McsQueue::in_queue_behind(Acquisition& a, std::uint64_t before) {
  a.before = before;
  a.stage = kInQueue;
  return {};
}

Status McsQueue::start(Acquisition& a, McsMember& mine, std::uint32_t member) {
  const std::uint64_t place = new_place(mine, member, kWaiting);
  if (context_.at_home(a.lock)) return swap_at_home(a, mine, place);
  a.stage = kAsked;
  if (!has_swap_) return ask_to_compare(a, place, 0);
  return context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::enqueue, a.lock, place), a.payload);
}

Status McsQueue::swap_at_home(Acquisition& a, McsMember& mine, std::uint64_t place) {
  const std::uint64_t before = places_.tail(a.lock).exchange(place);
  if (before == 0) {
    got_it(a, mine, context_.memory.kept(places_.home_line(a.lock), 0));
    return {};
  }
  GRAPNEL_TRY(in_queue_behind(a, before));
  return context_.deliver(Voice::rank, places_.node_of(member_of(before)), a.lock,
                          context_.body(Verb::link, a.lock, place, before), a.payload);
}

Status McsQueue::ask_to_compare(Acquisition& a, std::uint64_t place, std::uint64_t expected) {
  a.before = expected;
  return context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::compare, a.lock, place, expected), {});
}

// The emulated swap's comparison failed, so the place is not in the tail.
bool McsQueue::lost_race(const Acquisition& a) const { return !has_swap_ && a.answer->body.other != a.before; }

Status McsQueue::take_answer(Acquisition& a, McsMember& mine, std::uint32_t member) {
  const std::uint64_t found = a.answer->body.other;
  if (found != 0 && !is_place(found)) {
    context_.abort_job(a.lock, context_.server_of(a.lock.home),
                       "says that a place is before this rank's that cannot be");
  }
  const std::uint64_t place = place_of(member, mine.turn.load());
  if (!has_swap_) {
    // The emulated swap: a rank in between made the comparison fail; try with what is there now.
    if (lost_race(a)) return ask_to_compare(a, place, found);
    if (found != 0) {
      GRAPNEL_TRY(in_queue_behind(a, found));
      return context_.deliver(Voice::rank, places_.node_of(member_of(found)), a.lock,
                              context_.body(Verb::link, a.lock, place, found), a.payload);
    }
  }
  if (found != 0) return in_queue_behind(a, found);  // the home's server has sent the link
  got_it(a, mine, a.answer->payload);
  return {};
}

// Writes into the state that its waiter sleeps; false where it is no longer what was seen.
bool McsQueue::mark(McsMember& mine, std::uint32_t& seen, State awake, State asleep) {
  if (seen == asleep) return true;
  if (seen != awake || !mine.state.compare_exchange_strong(seen, asleep)) return false;
  seen = asleep;
  return true;
}

// The place that was left is passed on by the server that grants it; its waiter writes so into the state.
Status McsQueue::start_anew(Acquisition& a, McsMember& mine, std::uint32_t member, std::uint64_t until_ns) {
  GRAPNEL_TRY(context_.waiting.on_marked_word(
      mine.state, [](std::uint32_t state) { return state == kIdle; },
      [&](std::uint32_t& seen) { return mark(mine, seen, kAbandoned, kAwaited); }, until_ns));
  return start(a, mine, member);
}

Status McsQueue::advance(Acquisition& a, McsMember& mine, std::uint32_t member, std::uint64_t until_ns) {
  if (a.stage == kBehindOwnPlace) {
    GRAPNEL_TRY(start_anew(a, mine, member, until_ns));
    if (a.done) return {};
  }
  while (a.stage == kAsked) {
    GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
    GRAPNEL_TRY(take_answer(a, mine, member));
    if (a.done) return {};
  }
  GRAPNEL_TRY(context_.waiting.on_marked_word(
      mine.state, [](std::uint32_t state) { return state == kGranted; },
      [&](std::uint32_t& seen) { return mark(mine, seen, kWaiting, kAsleep); }, until_ns));
  a.received = context_.memory.kept(places_.line(a.lock, member), 0);
  // relaxed: written before the state.
  const bool here = places_.node_of(mine.from.load(std::memory_order_relaxed)) == context_.my_node;
  a.came = here ? Came::from_this_node : Came::from_elsewhere;
  a.done = true;
  return {};
}

Status McsQueue::give_up(Acquisition& a, McsMember& mine, std::uint32_t member) {
  if (a.stage == kBehindOwnPlace) return {};
  // A place that is being asked for is a round trip away; only then it can be left.
  while (a.stage == kAsked) {
    GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
    if (lost_race(a)) {
      forget_place(mine);
      return {};
    }
    GRAPNEL_TRY(take_answer(a, mine, member));
    if (a.done) return {};
  }
  std::uint32_t state = mine.state.load();
  while (state != kGranted) {
    if (mine.state.compare_exchange_weak(state, kAbandoned)) return {};
  }
  return advance(a, mine, member, progress::Waiting::kForever);
}

bool McsQueue::take_up(Acquisition& a, McsMember& mine) {
  if (mine.state.load() == kIdle) return false;  // as a rule: a locked instruction less
  std::uint32_t state = kAbandoned;
  if (context_.memory.has_payloads()) {
    a.stage = kBehindOwnPlace;
    return true;
  }
  if (!mine.state.compare_exchange_strong(state, kWaiting)) return false;
  a.stage = kInQueue;
  return true;
}

bool McsQueue::attempt_at_home(const LockId& lock, McsMember& mine, std::uint32_t member) {
  if (places_.tail(lock).load() != 0) return false;
  // Granted before it is in the tail: from then on a rank may be behind it.
  const std::uint64_t place = new_place(mine, member, kGranted);
  std::uint64_t free = 0;
  if (places_.tail(lock).compare_exchange_strong(free, place)) return true;
  forget_place(mine);
  return false;
}

// A place that never was in the tail. Its turn is used again: counting it would wear out the `next` word of an
// earlier place that still expects its link.
void McsQueue::forget_place(McsMember& mine) {
  mine.turn.store(mine.turn.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);  // the member's own
  mine.state.store(kIdle);
}

Status McsQueue::attempt(Acquisition& a, McsMember& mine, std::uint32_t member) {
  if (context_.at_home(a.lock)) {
    if (attempt_at_home(a.lock, mine, member)) got_it(a, mine, context_.memory.kept(places_.home_line(a.lock), 0));
    return {};
  }
  const std::uint64_t place = new_place(mine, member, kWaiting);
  GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), context_.body(Verb::attempt, a.lock, place), a.payload));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  if (a.answer->body.other == 0) {
    got_it(a, mine, a.answer->payload);
  } else {
    forget_place(mine);
  }
  return {};
}

// ---- releasing

Status McsQueue::release(const LockId& lock, McsMember& mine, std::uint32_t member, ByteView payload) {
  const std::uint64_t place = place_of(member, mine.turn.load(std::memory_order_relaxed));  // the holder wrote it
  mine.state.store(kIdle, std::memory_order_relaxed);  // read next by this member, which comes after its release
  return pass_on(lock, place, place, payload, Voice::rank);
}

Status McsQueue::pass_on(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload, Voice voice) {
  McsMember& member = *places_.member(lock, member_of(place));
  std::atomic<std::uint64_t>& next = next_of(member, turn_of(place));
  std::uint64_t behind = next.load();
  if (behind == 0) {
    const bool home = context_.at_home(lock);
    if (home && free_tail(lock, place, payload)) return {};
    context_.memory.keep(places_.line(lock, member_of(place)), 0, payload);
    if (next.compare_exchange_strong(behind, kReleased)) {
      if (home) return {};  // the link is under way
      return context_.deliver(voice, context_.node_of(lock.home), lock, context_.body(Verb::free, lock, place),
                              payload);
    }
  }
  // Never by ours, but it would be a grant to no rank.
  if (behind == kReleased) return Status(Code::refused, fmt::format("lock {} was released twice", lock.index));
  return grant(lock, behind, from, payload, voice);
}

Status McsQueue::grant(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload, Voice voice) {
  return context_.deliver(voice, places_.node_of(member_of(place)), lock, context_.body(Verb::grant, lock, place, from),
                          payload);
}

Bytes McsQueue::successor_payload(const LockId& lock, McsMember& mine, std::uint32_t member) {
  if (!knows_successor(mine)) return {};
  return context_.memory.kept(places_.line(lock, member), successor_room(mine.turn.load()));
}

std::string McsQueue::describe(const Acquisition& a, const char* place) const {
  if (a.stage == kBehindOwnPlace) return fmt::format("{} that was given up before has not been passed yet", place);
  if (a.stage != kInQueue) return fmt::format("{} is not in the queue yet", place);
  // Whom it stands behind, only the acquisition knew that gave it up.
  if (a.before == 0) return fmt::format("{} is in the queue since before it was given up and taken up again", place);
  return fmt::format("{} stands behind {}", place, places_.name_of(member_of(a.before)));
}

// ---- what others say

bool McsQueue::is_place(std::uint64_t place) const {
  return place >> 32 != 0 && member_of(place) < places_.member_count();
}

bool McsQueue::is_place_here(std::uint64_t place) const {
  return is_place(place) && places_.node_of(member_of(place)) == context_.my_node;
}

std::string McsQueue::name_place(std::uint64_t place) const {
  return fmt::format("turn {} of {}", turn_of(place), places_.name_of(member_of(place)));
}

bool McsQueue::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  if (!is_place(body.me)) return false;
  const NodeId speaks_of = places_.node_of(member_of(body.me));
  switch (body.verb) {
    case Verb::link:
      return is_place_here(body.other) && (from.node == speaks_of || from.node == context_.node_of(lock.home)) &&
             on_link(lock, body.other, body.me, payload, from);
    case Verb::grant:
      return is_place_here(body.me) && is_place(body.other) && on_grant(lock, body.me, body.other, payload, from);
    case Verb::free:
      if (!context_.at_home(lock) || from.node != speaks_of) return false;
      free_tail(lock, body.me, payload);
      return true;
    default: return false;
  }
}

// Only the one whose place is the tail may write the payload of a free lock; it cannot be two at once, because the
// rank behind gets the lock only after this.
bool McsQueue::free_tail(const LockId& lock, std::uint64_t place, ByteView payload) {
  std::atomic<std::uint64_t>& tail = places_.tail(lock);
  if (tail.load() != place) return false;
  context_.memory.keep(places_.home_line(lock), 0, payload);
  return tail.compare_exchange_strong(place, 0);
}

// A link is for the member's last place, or for the one before where that was left without a successor.
bool McsQueue::on_link(const LockId& lock, std::uint64_t before, std::uint64_t place, ByteView payload,
                       const Sender& speaker) {
  McsMember* member = places_.member(lock, member_of(before));
  if (member == nullptr || member->turn.load() - turn_of(before) > 1 || before == place) {
    context_.abort_job(
        lock, speaker,
        fmt::format("puts {} behind {}, which is not in the queue", name_place(place), name_place(before)));
  }
  std::atomic<std::uint64_t>& next = next_of(*member, turn_of(before));
  void* line = places_.line(lock, member_of(before));
  if (next.load() != kReleased) context_.memory.keep(line, successor_room(turn_of(before)), payload);
  const std::uint64_t found = next.exchange(place);
  if (found > kReleased) {
    context_.abort_job(
        lock, speaker,
        fmt::format("puts {} behind {}, where {} is", name_place(place), name_place(before), name_place(found)));
  }
  if (found != kReleased) return true;
  // The one before has released and knew of none: this is the late link, and the hand-over is done here.
  return grant(lock, place, before, context_.memory.kept(line, 0), speaker.voice).ok();
}

bool McsQueue::on_grant(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload,
                        const Sender& speaker) {
  McsMember* member = places_.member(lock, member_of(place));
  const std::uint32_t state = member == nullptr ? kIdle : member->state.load();
  if (state == kIdle || state == kGranted || member->turn.load() != turn_of(place)) {
    context_.abort_job(lock, speaker, fmt::format("grants it to {}, which does not wait for it", name_place(place)));
  }
  context_.memory.keep(places_.line(lock, member_of(place)), 0, payload);
  member->from.store(member_of(from), std::memory_order_relaxed);  // published by the state
  if (wake_waiter(*member)) return true;
  if (Status passed = pass_on(lock, place, from, payload, speaker.voice); !passed.ok()) {
    context_.abort_job(lock, speaker, fmt::format("grants it to {}: {}", name_place(place), passed.message()));
  }
  return true;
}

// False when the member gave up: then its state is idle, and the place is the caller's to pass on.
bool McsQueue::wake_waiter(McsMember& member) {
  std::uint32_t state = member.state.load();
  for (;;) {
    const bool abandoned = state == kAbandoned || state == kAwaited;
    if (!member.state.compare_exchange_weak(state, abandoned ? kIdle : kGranted)) continue;
    if (state == kAsleep || state == kAwaited) context_.waiting.host().wake(member.state);
    return !abandoned;
  }
}

progress::Outcome McsQueue::answer(const LockId& lock, const LockBody& body, ByteView payload,
                                   progress::Request& request) {
  const bool sound =
      context_.at_home(lock) && is_place(body.me) && places_.speaks_for(request.origin, member_of(body.me));
  const bool ours = body.verb == Verb::attempt || body.verb == (has_swap_ ? Verb::enqueue : Verb::compare);
  if (!sound || !ours) return progress::Outcome::refused;
  std::atomic<std::uint64_t>& tail = places_.tail(lock);
  LockBody said = body;
  std::uint64_t found = body.verb == Verb::compare ? body.other : 0;
  switch (body.verb) {
    case Verb::enqueue: found = tail.exchange(body.me); break;
    case Verb::attempt:
    case Verb::compare: tail.compare_exchange_strong(found, body.me); break;
    default: return progress::Outcome::refused;
  }
  said.other = found;
  // A comparison that expected a holder and found the lock free has not taken it: its payload may be changing.
  const bool taken = found == 0 && (body.verb != Verb::compare || body.other == 0);
  context_.answer(request, said, taken ? context_.memory.kept(places_.home_line(lock), 0) : Bytes());
  if (body.verb == Verb::enqueue && found != 0) {
    static_cast<void>(context_.deliver(Voice::server, places_.node_of(member_of(found)), lock,
                                       context_.body(Verb::link, lock, body.me, found), payload));
  }
  return progress::Outcome::done;
}

}  // namespace grapnel::locks
