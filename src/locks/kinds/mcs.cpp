// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/mcs.hpp"

namespace grapnel::locks {

bool Mcs::take_now(const LockId& lock, bool) {
  if (!context_.at_home(lock)) return false;
  ChainMember* mine = my_line(lock);
  // A place that was given up earlier is still in the queue.
  return mine != nullptr && mine->state.load() == McsQueue::kIdle && chain_.attempt_at_home(lock, *mine, me());
}

Status Mcs::start(Acquisition& a) {
  ChainMember* mine = my_line(a.lock);
  if (mine == nullptr) return context_.no_line(a.lock);
  if (chain_.take_up(a, *mine)) return {};
  return chain_.start(a, *mine, me());
}

Status Mcs::advance(Acquisition& a, std::uint64_t until_ns) {
  return chain_.advance(a, *my_line(a.lock), me(), until_ns);
}

Status Mcs::give_up(Acquisition& a) { return chain_.give_up(a, *my_line(a.lock), me()); }

Status Mcs::attempt(Acquisition& a) {
  ChainMember* mine = my_line(a.lock);
  if (mine == nullptr) return context_.no_line(a.lock);
  // Where a place was given up, others are before it: not free.
  return mine->state.load() == McsQueue::kIdle ? chain_.attempt(a, *mine, me()) : Status{};
}

Status Mcs::release(const LockId& lock, bool, ByteView payload) {
  return chain_.release(lock, *my_line(lock), me(), payload);
}

Bytes Mcs::successor_payload(const LockId& lock) { return chain_.successor_payload(lock, *my_line(lock), me()); }

}  // namespace grapnel::locks
