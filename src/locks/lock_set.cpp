// SPDX-License-Identifier: Apache-2.0
#include "locks/lock_set.hpp"

#include <algorithm>

namespace grapnel::locks {

Set::Set(const LockEnvironment& environment, std::uint64_t number, std::shared_ptr<const launch::Group> group,
         int count, const LockOptions& options)
    : number_(number),
      members_(group->size()),
      first_(index(group->members.front())),
      is_run_(index(group->members.back()) - first_ + 1 == members_),
      context_(environment, number, std::move(group), count, options),
      algorithm_(make_algorithm(context_)),
      carries_(options.payload_bytes != 0),
      in_node_(context_.one_node && is_run_ && !carries_ ? dynamic_cast<Cohort*>(algorithm_.get()) : nullptr) {
  context_.set_receiver(*algorithm_);
}

LockCounts Set::counts() const {
  const Statistics& s = context_.statistics;
  LockCounts counts{s.acquisitions.value(), s.local_hand_offs.value(), s.remote_hand_offs.value(),   s.gave_up.value(),
                    s.messages.value(),     s.server_messages.value(), s.adapter_operations.value(), {}};
  for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) counts.waits[k] = s.waits[k].value();
  return counts;
}

void Set::use_block(void* block) {
  context_.memory.use_block(block);
  algorithm_->use_memory();
  mine_ = context_.memory.my_holds();
  usable_ = static_cast<std::uint32_t>(context_.count);
}

void Set::use_network(const std::vector<segment::Part>& parts) {
  for (const segment::Part& part : parts) context_.network_parts.push_back(part.address);
}

// ---- names and misuse

Status Set::bad_name(int lock_index, Rank home) const {
  if (usable_ == 0) return Status(Code::invalid_argument, "this set of locks was destroyed");
  if (lock_index < 0 || lock_index >= context_.count) {
    return Status(Code::invalid_argument,
                  fmt::format("lock {} does not exist (there are {})", lock_index, context_.count));
  }
  const bool in_job = index(home) < static_cast<std::size_t>(context_.launch.size());
  return Status(Code::invalid_argument,
                fmt::format("lock: rank {} is {}", static_cast<int>(home),
                            in_job ? "no member of the group of the set of locks" : "outside the job"));
}

Status Set::check(const LockId& lock, const Ask& ask) const {
  if (ask.shared && !algorithm_->has_shared()) {
    return Status(Code::unavailable,
                  fmt::format("lock {} of rank {} is a {} lock, which has no shared mode; create the set with "
                              "LockOptions::shared_mode, or LockKind::reader_writer",
                              lock.index, index(lock.home), to_string(context_.options.kind)));
  }
  if (ask.payload.size() <= context_.options.payload_bytes) return {};
  return Status(Code::invalid_argument, fmt::format("a payload of {} bytes; the set was created for {}",
                                                    ask.payload.size(), context_.options.payload_bytes));
}

Status Set::claim(const LockId& lock) {
  Hold found = Hold::none;
  // acquire: pairs with the release of the thread of this rank that had it last.
  if (mine_[lock.ordinal].compare_exchange_strong(found, Hold::wanted, std::memory_order_acquire)) return {};
  const bool asked = found == Hold::wanted || found == Hold::granted;
  return Status(Code::invalid_argument, fmt::format("lock {} of rank {} is {} by the caller already", lock.index,
                                                    index(lock.home), asked ? "asked for" : "held"));
}

progress::WaitSubject Set::subject_of(const LockId& lock) const {
  return {progress::WaitKind::lock, "lock", {number_, static_cast<std::uint64_t>(lock.index), index(lock.home)}};
}

bool Set::any_taken() const {
  // relaxed: a thread that still uses the set while it is destroyed is a mistake that this need not find.
  return std::any_of(mine_, mine_ + context_.memory.lock_count(),
                     [](const auto& mine) { return mine.load(std::memory_order_relaxed) != Hold::none; });
}

// ---- acquiring

bool Set::take_now(int lock_index, Rank home, bool shared) {
  LockId lock;
  if (!name(lock_index, home, lock)) return false;
  if (mine_[lock.ordinal].load(std::memory_order_acquire) != Hold::none) return false;  // as in `claim`
  // A set with payloads has one to pass on.
  if (carries_ || (shared && !algorithm_->has_shared()) || !algorithm_->take_now(lock, shared)) return false;
  note_taken(lock.ordinal, shared ? Hold::shared : Hold::held);
  return true;
}

Status Set::acquire_otherwise(int lock_index, Rank home) {
  const std::size_t place = place_of(home);
  if (in_node_ != nullptr && exists(lock_index, place)) return acquire_in_line(lock_at(lock_index, home, place));
  return take_now(lock_index, home, false) ? Status() : acquire(lock_index, home, {}, nullptr);
}

// The default kind in a job of one node, and it is held.
Status Set::acquire_in_line(const LockId& lock) {
  Acquisition a;
  a.lock = lock;
  GRAPNEL_TRY(claim(lock));
  const auto holder = in_node_->enter_in_node(a);
  if (!holder.ok()) {
    drop_claim(lock.ordinal);
    return holder.status();
  }
  if (*holder) {
    note_taken(lock.ordinal);
    return {};
  }
  if (in_node_->wait_shortly_in_node(a)) {
    note_taken(lock.ordinal);
    context_.statistics.local_hand_offs.add(1);
    context_.statistics.count_wait(0);  // no clock was read for it
    return {};
  }
  if (Status waited = wait(a, progress::Waiting::kForever); !waited.ok()) {
    drop_claim(lock.ordinal);
    return waited;
  }
  got(a, nullptr);
  return {};
}

Status Set::begin(Acquisition& a, int lock_index, Rank home, const Ask& ask) {
  if (!name(lock_index, home, a.lock)) return bad_name(lock_index, home);
  a.shared = ask.shared;
  a.joins = ask.shared && ask.joins_readers;
  a.payload = ask.payload;
  GRAPNEL_TRY(check(a.lock, ask));
  return claim(a.lock);
}

Status Set::acquire(int lock_index, Rank home, const Ask& ask, Bytes* received) {
  Acquisition a;
  a.timed = ask.timeout_ns != progress::Waiting::kForever;
  GRAPNEL_TRY(begin(a, lock_index, home, ask));
  Status taken = algorithm_->start(a);
  if (!taken.ok()) {
    taken = tell_death(a, taken);
  } else if (!a.done) {
    taken = wait(a, ask.timeout_ns);
  }
  if (taken.ok()) {
    got(a, received);
  } else {
    drop_claim(a.lock.ordinal);
  }
  return taken;
}

Status Set::wait(Acquisition& a, std::uint64_t timeout_ns) {
  const auto about = [&] { return subject_of(a.lock); };
  const progress::WaitScope scope(about, true);
  const std::uint64_t start_ns = context_.waiting.host().now_ns();
  const bool ends = timeout_ns < progress::Waiting::kForever - start_ns;
  Status waited = algorithm_->advance(a, ends ? start_ns + timeout_ns : progress::Waiting::kForever);
  if (waited.code() == Code::timed_out) {
    if (Status left = algorithm_->give_up(a); !left.ok()) return tell_death(a, left);
    if (!a.done) {
      context_.statistics.gave_up.add(1);
      return Status(Code::timed_out, fmt::format("lock {} of rank {} was not free within {} ns", a.lock.index,
                                                 index(a.lock.home), timeout_ns));
    }
  } else if (!waited.ok()) {
    return tell_death(a, waited);
  }
  count_wait(start_ns);
  return {};
}

// Not the clock itself: the new holder would read it while the others wait.
void Set::count_wait(std::uint64_t since_ns) {
  const std::uint64_t looked_ns = context_.waiting.looked_ns();
  context_.statistics.count_wait(looked_ns > since_ns ? looked_ns - since_ns : 0);
}

void Set::got(Acquisition& a, Bytes* received) {
  // relaxed: as on the fast path.
  mine_[a.lock.ordinal].store(a.shared ? Hold::shared : Hold::held, std::memory_order_relaxed);
  Statistics& statistics = context_.statistics;
  statistics.acquisitions.add(1);
  if (a.came == Came::from_this_node) statistics.local_hand_offs.add(1);
  if (a.came == Came::from_elsewhere) statistics.remote_hand_offs.add(1);
  if (received != nullptr) *received = std::move(a.received);
}

Result<bool> Set::attempt(int lock_index, Rank home, const Ask& ask, Bytes* received) {
  Acquisition a;
  a.timed = true;
  GRAPNEL_TRY(begin(a, lock_index, home, ask));
  const Status tried = algorithm_->attempt(a);
  if (tried.ok() && a.done) {
    got(a, received);
    return true;
  }
  drop_claim(a.lock.ordinal);
  if (!tried.ok()) return tell_death(a, tried);
  context_.statistics.gave_up.add(1);
  return false;
}

Result<std::shared_ptr<Acquisition>> Set::start(int lock_index, Rank home, const Ask& ask) {
  auto a = std::make_shared<Acquisition>();
  GRAPNEL_TRY(begin(*a, lock_index, home, ask));
  a->started_by = this;
  a->kept_payload.assign(ask.payload.begin(), ask.payload.end());
  a->payload = a->kept_payload;
  if (const Status started = algorithm_->start(*a); !started.ok()) {
    drop_claim(a->lock.ordinal);
    return tell_death(*a, started);
  }
  // relaxed: as on the fast path.
  if (a->done) mine_[a->lock.ordinal].store(Hold::granted, std::memory_order_relaxed);
  return a;
}

// A request is a handle that can be copied, and handed to any set.
Status Set::check_started(const Acquisition& a) const {
  if (a.started_by == this && !a.delivered) return {};
  return Status(Code::invalid_argument,
                fmt::format("a request for lock {} of rank {}, which {}", a.lock.index, index(a.lock.home),
                            a.delivered ? "was waited for already, by a copy of it" : "another set has started"));
}

void Set::deliver(Acquisition& a, Bytes* received) {
  a.delivered = true;
  got(a, received);
}

Status Set::finish(Acquisition& a, Bytes* received) {
  GRAPNEL_TRY(check_started(a));
  if (!a.done) GRAPNEL_TRY(wait(a, progress::Waiting::kForever));
  deliver(a, received);
  return {};
}

Result<bool> Set::test(Acquisition& a, Bytes* received) {
  GRAPNEL_TRY(check_started(a));
  if (!a.done) {
    const auto about = [&] { return subject_of(a.lock); };
    const progress::WaitScope scope(about);
    const Status looked = algorithm_->advance(a, 0);
    if (looked.code() == Code::timed_out) return false;
    if (!looked.ok()) return tell_death(a, looked);
  }
  deliver(a, received);
  return true;
}

// ---- releasing

Status Set::release_otherwise(int lock_index, Rank home) {
  LockId lock;
  if (!name(lock_index, home, lock)) return bad_name(lock_index, home);
  // relaxed: its own store.
  if (mine_[lock.ordinal].load(std::memory_order_relaxed) != Hold::held || carries_ || !algorithm_->release_now(lock)) {
    return release(lock_index, home, false, {});
  }
  drop_claim(lock.ordinal);
  return {};
}

Status Set::release(int lock_index, Rank home, bool shared, ByteView payload) {
  LockId lock;
  if (!name(lock_index, home, lock)) return bad_name(lock_index, home);
  if (mine_[lock.ordinal].load(std::memory_order_relaxed) != (shared ? Hold::shared : Hold::held)) {  // its own store
    return Status(Code::invalid_argument, fmt::format("lock {} of rank {} is not held{} by the caller", lock_index,
                                                      index(home), shared ? " shared" : ""));
  }
  if (payload.size() > context_.options.payload_bytes) return check(lock, {.payload = payload});
  Status released = algorithm_->release(lock, shared, payload);
  drop_claim(lock.ordinal);  // after: a thread of this rank that asks for it then finds the words of its place at rest
  return released;
}

Result<Bytes> Set::successor_payload(int lock_index, Rank home) {
  LockId lock;
  if (!name(lock_index, home, lock)) return bad_name(lock_index, home);
  if (mine_[lock.ordinal].load(std::memory_order_relaxed) != Hold::held) {  // its own store
    return Status(Code::invalid_argument,
                  fmt::format("lock {} of rank {} is not held by the caller", lock_index, index(home)));
  }
  return algorithm_->successor_payload(lock);
}

// ---- what others say

namespace {

bool is_for_home(Verb verb) {
  switch (verb) {
    case Verb::cancel:
    case Verb::free:
    case Verb::look:
    case Verb::want_shared:
    case Verb::want_sole:
    case Verb::give_back:
    case Verb::reader_left:
    case Verb::stop_awaiting: return true;
    default: return false;
  }
}

}  // namespace

bool Set::hear(const LockBody& body, ByteView payload, const Sender& from) {
  LockId lock;
  if (!name(body.index, Rank(body.home), lock) || payload.size() > kMostLockBytes) return false;
  if (body.verb == Verb::died) return hear_of_death(lock, body, from);
  if (is_for_home(body.verb) && !context_.at_home(lock)) return false;
  return algorithm_->hear(lock, body, payload, from);
}

progress::Outcome Set::answer(const LockBody& body, ByteView payload, progress::Request& request) {
  LockId lock;
  const bool sound = name(body.index, Rank(body.home), lock) && context_.at_home(lock);
  return sound ? algorithm_->answer(lock, body, payload, request) : progress::Outcome::refused;
}

}  // namespace grapnel::locks
