// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/shared_mode.hpp"

namespace grapnel::locks {
namespace {

// Before the first release nothing was handed on.
Tally tally_in(ByteView handed) {
  Tally tally;
  if (handed.size() >= sizeof tally) std::memcpy(&tally, handed.data(), sizeof tally);
  return tally;
}

}  // namespace

// At home. Not `==`: a faulty rank that leaves without having been inside makes `left` exceed `admitted`, and a writer
// would wait for ever.
bool SharedMode::have_left(const LockId& lock, std::uint32_t admitted) const {
  return static_cast<std::int32_t>(admitted - readers(lock).left.load()) <= 0;
}

bool SharedMode::none_is_inside(const LockId& lock, const Tally& tally) const {
  return tally.since_writer == 0 || have_left(lock, tally.admitted);
}

Status SharedMode::hand_on(const LockId& lock, const Tally& tally, ByteView payload) {
  return lock_->release(lock, false, WithPayload<Tally, kMostLockPayload>(tally, payload).view());
}

// The caller holds the lock; on return it has released the lock and is inside as a reader.
Status SharedMode::admit_reader(const LockId& lock, Tally tally, ByteView payload) {
  ++tally.admitted;
  tally.since_writer = 1;
  return hand_on(lock, tally, payload);
}

// ---- acquiring

bool SharedMode::take_now(const LockId& lock, bool shared) {
  if (!lock_->take_now(lock, false)) return false;
  const Tally tally = tally_in(context_.memory.kept_in_place(lock.here, 0));  // the free lock's
  // A release that fails is the job's end, which the next wait reports.
  if (shared) return admit_reader(lock, tally, {}).ok();
  if (!none_is_inside(lock, tally)) {
    static_cast<void>(hand_on(lock, tally, {}));
    return false;
  }
  admitted_[lock.ordinal] = tally.admitted;
  return true;
}

Status SharedMode::start(Acquisition& a) {
  a.step = kNoPlace;
  a.done = a.shared && context_.options.payload_bytes == 0 && take_now(a.lock, true);
  const bool looks_later = a.shared && a.started_by != nullptr;
  return a.done || looks_later ? Status() : take_place(a);
}

Status SharedMode::take_place(Acquisition& a) {
  if (may_join(a)) {
    a.timed = true;  // it leaves the line when it has joined
    pause_before_join(a);
  }
  GRAPNEL_TRY(lock_->start(a));
  a.step = kInLine;
  return a.done ? enter(a) : Status();
}

Status SharedMode::advance(Acquisition& a, std::uint64_t until_ns) {
  if (a.step == kNoPlace) GRAPNEL_TRY(take_place(a));
  if (!a.done && a.step == kInLine) {
    if (may_join(a)) return enter_or_join(a, until_ns);
    GRAPNEL_TRY(lock_->advance(a, until_ns));
    GRAPNEL_TRY(enter(a));
  }
  return a.done ? Status() : wait_for_readers(a, until_ns);
}

// The caller holds the lock; `received` is what the last holder handed on.
void SharedMode::take_tally(Acquisition& a) {
  a.tally = tally_in(a.received);
  const std::size_t bytes = std::min(a.received.size(), sizeof(Tally));
  a.received.erase(a.received.begin(), a.received.begin() + static_cast<std::ptrdiff_t>(bytes));
}

Status SharedMode::enter(Acquisition& a) {
  take_tally(a);
  if (a.shared) return admit_reader(a.lock, a.tally, a.received);
  if (a.tally.since_writer != 0) return await_readers(a);
  hold(a);
  return {};
}

Status SharedMode::await_readers(Acquisition& a) {
  a.done = false;
  a.step = kAwaits;
  if (!context_.at_home(a.lock)) return ask(a, true);
  readers(a.lock).awaited.store(kHere << 32 | a.tally.admitted);
  return {};
}

Status SharedMode::wait_for_readers(Acquisition& a, std::uint64_t until_ns) {
  GRAPNEL_ASSERT(a.step == kAwaits && !a.shared, "lock {} of rank {}: step {}, shared {}", a.lock.index,
                 index(a.lock.home), a.step, a.shared);
  if (context_.at_home(a.lock)) {
    Readers& home = readers(a.lock);
    GRAPNEL_TRY(context_.wait_on(home.left, until_ns, [&] { return none_is_inside(a.lock, a.tally); }));
    home.awaited.store(kNone);
  } else {
    GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
  }
  hold(a);
  return {};
}

void SharedMode::hold(Acquisition& a) {
  admitted_[a.lock.ordinal] = a.tally.admitted;
  a.done = true;
}

Status SharedMode::ask(Acquisition& a, bool waits) {
  LockBody body = context_.body(Verb::await_readers, a.lock);
  body.flag = waits ? 0 : 1;
  body.value = a.tally.admitted;
  return context_.ask(a, context_.node_of(a.lock.home), body, {});
}

// ---- joining readers that a writer waits for

bool SharedMode::join_at_home(const LockId& lock) {
  Readers& home = readers(lock);
  std::uint32_t left = home.left.load();
  do {
    const std::uint64_t awaited = home.awaited.load();
    const auto inside = static_cast<std::int32_t>(static_cast<std::uint32_t>(awaited) - left);
    if (awaited >> 32 == kNone || inside <= 0) return false;
  } while (!home.left.compare_exchange_weak(left, left - 1));
  return true;
}

Result<bool> SharedMode::join(const LockId& lock) {
  if (context_.at_home(lock)) return join_at_home(lock);
  Acquisition question;
  question.lock = lock;
  GRAPNEL_TRY(context_.ask(question, context_.node_of(lock.home), context_.body(Verb::join_readers, lock), {}));
  GRAPNEL_TRY(context_.wait_for_answer(question, progress::Waiting::kForever));
  return question.answer->body.flag == kInside;
}

// It is inside; where the lock came beside that, it is handed on as it came.
Status SharedMode::leave_line(Acquisition& a) {
  GRAPNEL_TRY(lock_->give_up(a));
  if (a.done) {
    take_tally(a);
    GRAPNEL_TRY(hand_on(a.lock, a.tally, a.received));
  }
  a.done = true;
  return {};
}

void SharedMode::pause_before_join(Acquisition& a) {
  const LockOptions& options = context_.options;
  a.join_pause_ns = std::min(std::max(2 * a.join_pause_ns, options.backoff_ns), options.backoff_most_ns);
  a.join_not_before_ns = context_.waiting.host().now_ns() + a.join_pause_ns;
}

Status SharedMode::enter_or_join(Acquisition& a, std::uint64_t until_ns) {
  for (;;) {
    const std::uint64_t piece_ns = std::min(until_ns, a.join_not_before_ns);
    const Status waited = lock_->advance(a, piece_ns);
    if (waited.ok()) return enter(a);
    if (waited.code() != Code::timed_out) return waited;
    if (context_.waiting.host().now_ns() >= a.join_not_before_ns) {
      GRAPNEL_ASSIGN_OR_RETURN(const bool joined, join(a.lock));
      if (joined) return leave_line(a);
      pause_before_join(a);
    }
    if (piece_ns == until_ns) return waited;
  }
}

// ---- giving up, trying

Status SharedMode::step_back(Acquisition& a) {
  a.done = false;
  return hand_on(a.lock, a.tally, a.received);
}

Status SharedMode::give_up(Acquisition& a) {
  if (a.step == kNoPlace) return {};
  if (a.step == kAwaits) return stop_awaiting(a);
  GRAPNEL_TRY(lock_->give_up(a));
  return a.done ? enter_if_none_is_inside(a, false) : Status();
}

Status SharedMode::stop_awaiting(Acquisition& a) {
  bool none = false;
  if (context_.at_home(a.lock)) {
    readers(a.lock).awaited.store(kNone);
    none = none_is_inside(a.lock, a.tally);
  } else {
    GRAPNEL_TRY(context_.tell(context_.node_of(a.lock.home), context_.body(Verb::stop_awaiting, a.lock), {}));
    GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
    none = a.answer->body.flag == kGone;
  }
  if (!none) return step_back(a);
  hold(a);
  return {};
}

Status SharedMode::attempt(Acquisition& a) {
  GRAPNEL_TRY(lock_->attempt(a));
  if (a.done) return enter_if_none_is_inside(a, true);
  if (!may_join(a)) return {};
  GRAPNEL_ASSIGN_OR_RETURN(a.done, join(a.lock));
  return {};
}

// Readers that are inside do not keep a reader out.
Status SharedMode::enter_if_none_is_inside(Acquisition& a, bool may_ask) {
  take_tally(a);
  if (a.shared) return admit_reader(a.lock, a.tally, a.received);
  bool none = a.tally.since_writer == 0;
  if (!none && context_.at_home(a.lock)) {
    none = none_is_inside(a.lock, a.tally);
  } else if (!none && may_ask) {
    GRAPNEL_TRY(ask(a, false));
    GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
    none = a.answer->body.flag == kGone;
  }
  if (!none) return step_back(a);
  hold(a);
  return {};
}

// ---- releasing

Status SharedMode::release(const LockId& lock, bool shared, ByteView payload) {
  if (!shared) return hand_on(lock, {admitted_[lock.ordinal], 0}, payload);
  LockBody body = context_.body(Verb::reader_left, lock);
  if (!context_.at_home(lock)) {
    body.flag = 1;
    return context_.tell(context_.node_of(lock.home), body, {});
  }
  const Awaiter awaiter = count_left(lock);
  if (awaiter == kHere) context_.waiting.host().wake(readers(lock).left);
  return awaiter == kElsewhere ? context_.tell(context_.my_node, body, {}) : Status();
}

// Where the writer is that waited for this reader as its last one; kNone: there is none.
SharedMode::Awaiter SharedMode::count_left(const LockId& lock) {
  Readers& home = readers(lock);
  const std::uint32_t left = home.left.fetch_add(1) + 1;
  const std::uint64_t awaited = home.awaited.load();
  return static_cast<std::uint32_t>(awaited) == left ? static_cast<Awaiter>(awaited >> 32) : kNone;
}

// ---- the home's server

bool SharedMode::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  switch (body.verb) {
    case Verb::reader_left: return body.flag <= 1 && on_left(lock, body.flag == 0, from);
    case Verb::stop_awaiting:
      if (!from.rank) return false;
      on_stop(lock, *from.rank);
      return true;
    default: return lock_->hear(lock, body, payload, from);
  }
}

bool SharedMode::on_left(const LockId& lock, bool is_counted, const Sender& from) {
  if (!from.rank || is_counted != (from.node == context_.my_node)) return false;
  if (!is_counted && count_left(lock) == kHere) context_.waiting.host().wake(readers(lock).left);
  serve(lock);
  return true;
}

void SharedMode::on_stop(const LockId& lock, Rank rank) {
  const auto found = waiters_.find(lock.ordinal);
  if (found != waiters_.end() && found->second.rank == rank) answer_waiter(lock, kInside);
}

void SharedMode::serve(const LockId& lock) {
  const auto found = waiters_.find(lock.ordinal);
  if (found != waiters_.end() && have_left(lock, found->second.admitted)) answer_waiter(lock, kGone);
}

void SharedMode::answer_waiter(const LockId& lock, Flag flag) {
  const auto found = waiters_.find(lock.ordinal);
  GRAPNEL_ASSERT(found != waiters_.end(), "lock {} of rank {} has no waiter", lock.index, index(lock.home));
  const Waiter waiter = found->second;
  waiters_.erase(found);
  readers(lock).awaited.store(kNone);
  LockBody reply = context_.body(Verb::await_readers, lock);
  reply.flag = flag;
  context_.answer_later(waiter.rank, waiter.token, reply, {});
}

progress::Outcome SharedMode::answer_join(const LockId& lock, const LockBody& body, progress::Request& request) {
  const bool carries = context_.options.payload_bytes != 0;
  if (context_.node_of(request.origin) == context_.my_node || carries) return progress::Outcome::refused;
  LockBody said = body;
  said.flag = join_at_home(lock) ? kInside : kGone;
  context_.answer(request, said, {});
  return progress::Outcome::done;
}

progress::Outcome SharedMode::answer(const LockId& lock, const LockBody& body, ByteView payload,
                                     progress::Request& request) {
  if (body.verb == Verb::join_readers) return answer_join(lock, body, request);
  if (body.verb != Verb::await_readers) return lock_->answer(lock, body, payload, request);
  const Sender from{Voice::rank, context_.node_of(request.origin), request.origin};
  const auto admitted = static_cast<std::uint32_t>(body.value);
  if (from.node == context_.my_node || body.flag > 1 || body.value != admitted) return progress::Outcome::refused;
  if (body.flag == 1) {
    LockBody reply = body;
    reply.flag = have_left(lock, admitted) ? kGone : kInside;
    context_.answer(request, reply, {});
    return progress::Outcome::done;
  }
  const auto [waiter, is_new] = waiters_.try_emplace(lock.ordinal, Waiter{request.origin, request.token, admitted});
  if (!is_new) {
    if (waiter->second.rank == request.origin) return progress::Outcome::refused;
    context_.abort_job(lock, from, fmt::format("waits for its readers while rank {} does", index(waiter->second.rank)));
  }
  readers(lock).awaited.store(kElsewhere << 32 | admitted);
  serve(lock);
  return progress::Outcome::done;
}

// ---- the message about a death

std::string SharedMode::describe(const Acquisition& a) {
  if (a.step == kNoPlace) return "it has not requested it yet";
  if (a.step == kInLine) return lock_->describe(a);
  if (!context_.at_home(a.lock)) return "it waits for readers that its home counts";
  return fmt::format("readers inside: {}", a.tally.admitted - readers(a.lock).left.load());
}

}  // namespace grapnel::locks
