#include "sync/locks/node_queue.hpp"

#include <utility>

namespace grapnel::sync::locks {

// True: the place that this rank left in this queue is its own again; nobody has passed it meanwhile.
bool NodeQueue::take_up(Acquisition& a) {
  if (left_count_.load() == 0) return false;
  const std::lock_guard guard(left_mutex_);
  const auto found = left_.find(a.lock.ordinal);
  if (found == left_.end()) return false;
  a.record = found->second;
  left_.erase(found);
  left_count_.fetch_sub(1);
  std::uint32_t state = kGaveUp;
  return ground_.memory.record(a.record).state.compare_exchange_strong(state, kWaiting);
}

// A record that is free again was skipped: it stands in the queue no more.
void NodeQueue::forget_left(std::uint32_t record) {
  if (left_count_.load() == 0) return;
  const std::lock_guard guard(left_mutex_);
  left_count_.fetch_sub(std::erase_if(left_, [&](const auto& one) { return one.second == record; }));
}

Result<bool> NodeQueue::enter(NodeQueueWords& queue, Acquisition& a) {
  if (take_up(a)) return false;
  a.record = ground_.memory.take_record(a.lock.ordinal);
  if (a.record == 0) {
    return Status(Code::no_memory, fmt::format("this rank holds or waits for {} contended locks of the set already",
                                               LockMemory::kRecords));
  }
  forget_left(a.record);
  Record& mine = ground_.memory.record(a.record);
  // relaxed: published by the exchange of the tail.
  mine.next.store(0, std::memory_order_relaxed);
  mine.state.store(kWaiting, std::memory_order_relaxed);
  const std::uint32_t before = queue.tail.exchange(a.record);
  if (before != 0) {
    if (next_of(queue, before).exchange(a.record) != kReleased) return false;
    // The one before has left in the meantime: this link is what it left the lock to.
    retire(queue, before);
  }
  places_[a.lock.ordinal] = a.record;
  return true;
}

Result<NodeQueue::State> NodeQueue::wait(const Acquisition& a, std::uint64_t until_ns) {
  os::Word& state = ground_.memory.record(a.record).state;
  const auto mark = [&](std::uint32_t& seen) {
    if (seen == kAsleep) return true;
    if (seen != kWaiting || !state.compare_exchange_strong(seen, kAsleep)) return false;
    seen = kAsleep;
    return true;
  };
  GRAPNEL_TRY(ground_.waiting.on_marked_word(
      state, [](std::uint32_t seen) { return seen >= kPassedBare; }, mark, until_ns));
  places_[a.lock.ordinal] = a.record;
  return static_cast<State>(state.load(std::memory_order_relaxed));  // nobody changes it after it was passed
}

bool NodeQueue::leave(Acquisition& a) {
  const std::lock_guard guard(left_mutex_);
  left_count_.fetch_add(1);  // before the record says so: whoever is given it again looks into `left_`
  os::Word& state = ground_.memory.record(a.record).state;
  std::uint32_t seen = state.load();
  while (seen < kPassedBare) {
    if (!state.compare_exchange_weak(seen, kGaveUp)) continue;
    left_[a.lock.ordinal] = a.record;
    return true;
  }
  left_count_.fetch_sub(1);
  return false;
}

bool NodeQueue::passed_soon(const Acquisition& a) {
  const os::Word& state = ground_.memory.record(a.record).state;
  // acquire: pairs with `hand`.
  return progress::Waiting::glance([&] { return state.load(std::memory_order_acquire) >= kPassedBare; });
}

bool NodeQueue::hand(std::uint32_t record, State word) {
  os::Word& state = ground_.memory.record(record).state;
  const std::uint32_t found = state.exchange(word);
  if (found == kAsleep) ground_.waiting.host().wake(state);
  return found != kGaveUp;
}

// The place is passed: its words are as new for whoever takes them next. A bare one's before it is passed, because the
// next to find the queue free uses them again; a record's after, because that may cost a way of its cache line.
void NodeQueue::retire(NodeQueueWords& queue, std::uint32_t place) {
  if (place == kBare) {
    queue.next.store(0, std::memory_order_relaxed);  // ordered by the passing, and by the tail when it is freed
  } else {
    ground_.memory.give_back(place);
  }
}

bool NodeQueue::pass(NodeQueueWords& queue, const LockId& lock, State word) {
  std::uint32_t& place = places_[lock.ordinal];
  for (;;) {
    const std::uint32_t mine = place;
    const std::uint32_t behind = next_of(queue, mine).load();
    if (behind == 0) return false;
    if (mine == kBare) retire(queue, mine);
    place = kBare;
    const bool passed = hand(behind, word);
    if (mine != kBare) retire(queue, mine);
    if (passed) return true;
    place = behind;  // gave up: the caller stands in its place now
  }
}

void NodeQueue::release_to_waiter(NodeQueueWords& queue, const LockId& lock) {
  std::uint32_t& place = places_[lock.ordinal];
  while (!pass(queue, lock, kPassedBare)) {
    const std::uint32_t mine = std::exchange(place, kBare);
    if (free_if_last(queue, mine)) {
      if (mine != kBare) ground_.memory.give_back(mine);  // nobody reaches it any more; a bare holder's `next` is 0
      return;
    }
    std::uint32_t none = 0;
    if (next_of(queue, mine).compare_exchange_strong(none, kReleased)) return;  // the linker retires the place
    place = mine;
  }
}

}  // namespace grapnel::sync::locks
