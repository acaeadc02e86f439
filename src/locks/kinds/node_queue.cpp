// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/node_queue.hpp"

#include <memory>
#include <utility>

namespace grapnel::locks {

void NodeQueue::use_memory() {
  static_assert(sizeof(Place) == LockMemory::kPlaceBytes);
  places_ = reinterpret_cast<Place*>(context_.memory.my_places());
  if (places_ != nullptr) std::uninitialized_fill_n(places_, context_.memory.lock_count(), Place{});
}

// True: the place that this rank left in this queue is its own again; it was not passed.
bool NodeQueue::take_up(NodeQueueWords& queue, Acquisition& a) {
  if (left_count_.load() == 0) return false;
  const base::MutexLock guard(left_mutex_);
  const auto found = left_.find(a.lock.ordinal);
  if (found == left_.end()) return false;
  a.record = found->second.record;
  a.waits_at = found->second.waits_at;
  left_.erase(found);
  left_count_.fetch_sub(1);
  // The link may be another's by now; but this value is of this record, which is in that queue once.
  std::uint32_t state = gave_up(a.record);
  return link_of(queue, a.waits_at).compare_exchange_strong(state, kWaits);
}

// A record that is free again was skipped: it is no longer in the queue.
void NodeQueue::forget_left(std::uint32_t record) {
  if (left_count_.load() == 0) return;
  const base::MutexLock guard(left_mutex_);
  left_count_.fetch_sub(std::erase_if(left_, [&](const auto& one) { return one.second.record == record; }));
}

Result<bool> NodeQueue::enter(NodeQueueWords& queue, Acquisition& a) {
  if (take_up(queue, a)) return false;
  a.record = context_.memory.take_record(a.lock.ordinal);
  if (a.record == 0) {
    return Status(Code::no_memory,
                  fmt::format("lock {} of rank {}: this rank holds or waits for contended locks of the set, or left "
                              "them to requests that nobody has tested since: {} together, and no more are possible",
                              a.lock.index, index(a.lock.home), context_.memory.records()));
  }
  forget_left(a.record);
  // relaxed: published by the exchange of the tail.
  context_.memory.record(a.record).link.store(kNobody, std::memory_order_relaxed);
  a.waits_at = queue.tail.exchange(a.record);
  if (a.waits_at != 0) {
    std::uint32_t found = kNobody;
    if (link_of(queue, a.waits_at).compare_exchange_strong(found, kWaits)) return false;
    // The one before has left in the meantime: this link is what it left the lock to.
    retire(queue, a.waits_at);
  }
  places_[a.lock.ordinal] = place_of(a.record);
  return true;
}

Result<NodeQueue::State> NodeQueue::wait(NodeQueueWords& queue, const Acquisition& a, std::uint64_t until_ns) {
  os::Word& link = link_of(queue, a.waits_at);
  const auto mark = [&](std::uint32_t& seen) {
    if (seen == kSleeps) return true;
    if (seen != kWaits || !link.compare_exchange_strong(seen, kSleeps)) return false;
    seen = kSleeps;
    return true;
  };
  const auto passed = [&] { return is_passed(link.load(std::memory_order_acquire)); };  // as in `on_marked_word`
  if (until_ns != progress::Waiting::kForever || !context_.waiting.linger(passed)) {
    GRAPNEL_TRY(context_.waiting.on_marked_word(link, is_passed, mark, until_ns));
  }
  const auto word = static_cast<State>(link.load(std::memory_order_relaxed));  // not changed after it was passed
  retire(queue, a.waits_at);
  places_[a.lock.ordinal] = place_of(a.record);
  return word;
}

// The way out is part of every hand-over: what it stores, and where, is found before the awaited store, not after.
bool NodeQueue::wait_shortly(NodeQueueWords& queue, const Acquisition& a) {
  const os::Word& link = link_of(queue, a.waits_at);
  os::Word& retired =
      a.waits_at == kNoRecord ? queue.link : context_.memory.record(a.waits_at).in_use;  // as in `retire`
  Place& place = places_[a.lock.ordinal];
  const Place mine = place_of(a.record);
  const auto passed = [&] { return is_passed(link.load(std::memory_order_acquire)); };  // as in `on_marked_word`
  if (!progress::Waiting::glance(passed) && !context_.waiting.linger(passed)) return false;
  retired.store(0, std::memory_order_release);
  place = mine;
  return true;
}

bool NodeQueue::leave(NodeQueueWords& queue, Acquisition& a) {
  const base::MutexLock guard(left_mutex_);
  left_count_.fetch_add(1);  // before the link has it: the rank that gets the record again looks into `left_`
  os::Word& link = link_of(queue, a.waits_at);
  std::uint32_t seen = link.load();
  while (!is_passed(seen)) {
    if (!link.compare_exchange_weak(seen, gave_up(a.record))) continue;
    left_[a.lock.ordinal] = {a.record, a.waits_at};
    return true;
  }
  left_count_.fetch_sub(1);
  return false;
}

bool NodeQueue::passed_soon(NodeQueueWords& queue, const Acquisition& a) {
  const os::Word& link = link_of(queue, a.waits_at);
  return progress::Waiting::glance([&] { return is_passed(link.load(std::memory_order_relaxed)); });
}

// No rank looks at this place any more. The queue's own link is as new here, a record's when it is taken.
void NodeQueue::retire(NodeQueueWords& queue, std::uint32_t place) {
  if (place == kNoRecord) {
    queue.link.store(kNobody, std::memory_order_relaxed);  // ordered by the tail, when it is freed
  } else {
    context_.memory.give_back(place);
  }
}

bool NodeQueue::pass(NodeQueueWords& queue, std::size_t ordinal, State word) {
  Place& place = places_[ordinal];
  for (;;) {
    os::Word& link = link_of(queue, place.number);
    // A guess, not a look: the waiter has the line, and it moves once for a compare-and-swap, but twice for a look
    // and what follows from it.
    std::uint32_t found = kWaits;
    while (!link.compare_exchange_strong(found, word)) {
      if (found == kNobody) return false;
    }
    if (found < kFirstGaveUp) {
      if (found == kSleeps) context_.waiting.host().wake(link);
      place = {};
      return true;
    }
    // The caller has that one's place now.
    retire(queue, std::exchange(place, place_of(record_that_gave_up(found))).number);
  }
}

void NodeQueue::release_to_waiter(NodeQueueWords& queue, std::size_t ordinal) {
  Place& place = places_[ordinal];
  while (!pass(queue, ordinal, kPassedQueue)) {
    const Place mine = std::exchange(place, {});
    if (free_if_last(queue, mine.number)) {
      // No rank reaches it any more; the queue's own link is as new.
      if (mine.number != kNoRecord) context_.memory.give_back(mine.number);
      return;
    }
    std::uint32_t found = kNobody;
    // The linker retires the place.
    if (link_of(queue, mine.number).compare_exchange_strong(found, kPassedQueue)) return;
    place = mine;
  }
}

}  // namespace grapnel::locks
