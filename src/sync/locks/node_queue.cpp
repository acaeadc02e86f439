#include "sync/locks/node_queue.hpp"

namespace grapnel::sync::locks {

// True: the place that this rank left in this queue is its own again; nobody has passed it meanwhile.
bool NodeQueue::take_up(Acquisition& a) {
  const std::lock_guard guard(left_mutex_);
  const auto found = left_.find(a.lock.ordinal);
  if (found == left_.end()) return false;
  a.record = found->second;
  left_.erase(found);
  std::uint32_t state = kGaveUp;
  return ground_.memory.record(a.record).state.compare_exchange_strong(state, kWaiting);
}

// A record that is free again was skipped: it stands in the queue no more.
void NodeQueue::forget_left(std::uint32_t record) {
  const std::lock_guard guard(left_mutex_);
  std::erase_if(left_, [&](const auto& one) { return one.second == record; });
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
  if (before == 0) {
    queue.owner.store(a.record, std::memory_order_relaxed);  // holders only
    return true;
  }
  if (next_of(queue, before).exchange(a.record) != kReleased) return false;
  // The one before has left in the meantime: this link is what it left the lock to.
  retire(queue, before);
  queue.owner.store(a.record, std::memory_order_relaxed);  // holders only
  return true;
}

Result<NodeQueue::State> NodeQueue::wait(NodeQueueWords& queue, Acquisition& a, std::uint64_t until_ns) {
  os::Word& state = ground_.memory.record(a.record).state;
  const auto mark = [&](std::uint32_t& seen) {
    if (seen == kAsleep) return true;
    if (seen != kWaiting || !state.compare_exchange_strong(seen, kAsleep)) return false;
    seen = kAsleep;
    return true;
  };
  GRAPNEL_TRY(ground_.waiting.on_marked_word(
      state, [](std::uint32_t seen) { return seen >= kPassedBare; }, mark, until_ns));
  queue.owner.store(a.record, std::memory_order_relaxed);            // holders only
  return static_cast<State>(state.load(std::memory_order_relaxed));  // nobody changes it after it was passed
}

bool NodeQueue::leave(Acquisition& a) {
  const std::lock_guard guard(left_mutex_);
  os::Word& state = ground_.memory.record(a.record).state;
  std::uint32_t seen = state.load();
  while (seen < kPassedBare) {
    if (!state.compare_exchange_weak(seen, kGaveUp)) continue;
    left_[a.lock.ordinal] = a.record;
    return true;
  }
  return false;
}

bool NodeQueue::hand(std::uint32_t record, State word) {
  os::Word& state = ground_.memory.record(record).state;
  const std::uint32_t found = state.exchange(word);
  if (found == kAsleep) ground_.waiting.host().wake(state);
  return found != kGaveUp;
}

// The place is passed: its words are as new for whoever takes them next.
void NodeQueue::retire(NodeQueueWords& queue, std::uint32_t owner) {
  if (owner == kBare) {
    queue.next.store(0);
  } else {
    ground_.memory.give_back(owner);
  }
}

bool NodeQueue::pass(NodeQueueWords& queue, State word) {
  for (;;) {
    const std::uint32_t owner = queue.owner.load(std::memory_order_relaxed);  // the caller is the holder
    const std::uint32_t behind = next_of(queue, owner).load();
    if (behind == 0) return false;
    retire(queue, owner);
    if (hand(behind, word)) return true;
    queue.owner.store(behind, std::memory_order_relaxed);  // gave up: the caller stands in its place now
  }
}

void NodeQueue::release_to_waiter(NodeQueueWords& queue) {
  while (!pass(queue, kPassedBare)) {
    const std::uint32_t owner = queue.owner.load(std::memory_order_relaxed);  // the caller is the holder
    if (free_if_last(queue, owner)) {
      if (owner != kBare) ground_.memory.give_back(owner);  // nobody reaches it any more; a bare holder's `next` is 0
      return;
    }
    std::uint32_t none = 0;
    if (next_of(queue, owner).compare_exchange_strong(none, kReleased)) return;  // the linker retires the place
  }
}

}  // namespace grapnel::sync::locks
