// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/mcs.hpp"

namespace grapnel::locks {

bool Mcs::take_now(const LockId& lock, bool) {
  if (!context_.at_home(lock)) return false;
  McsMember* mine = my_line(lock);
  // A place that was given up earlier is still in the queue.
  return mine != nullptr && mine->state.load() == McsQueue::kIdle && queue_.attempt_at_home(lock, *mine, me());
}

Status Mcs::start(Acquisition& a) {
  McsMember* mine = my_line(a.lock);
  if (mine == nullptr) return context_.no_line(a.lock);
  if (queue_.take_up(a, *mine)) return {};
  return queue_.start(a, *mine, me());
}

Status Mcs::advance(Acquisition& a, std::uint64_t until_ns) {
  return queue_.advance(a, *my_line(a.lock), me(), until_ns);
}

Status Mcs::give_up(Acquisition& a) { return queue_.give_up(a, *my_line(a.lock), me()); }

Status Mcs::attempt(Acquisition& a) {
  McsMember* mine = my_line(a.lock);
  if (mine == nullptr) return context_.no_line(a.lock);
  // Where a place was given up, others are before it: not free.
  return mine->state.load() == McsQueue::kIdle ? queue_.attempt(a, *mine, me()) : Status{};
}

Status Mcs::release(const LockId& lock, bool, ByteView payload) {
  return queue_.release(lock, *my_line(lock), me(), payload);
}

Bytes Mcs::successor_payload(const LockId& lock) { return queue_.successor_payload(lock, *my_line(lock), me()); }

}  // namespace grapnel::locks
