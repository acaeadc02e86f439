// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/network_mcs.hpp"

#include <bit>

namespace grapnel::locks {

static_assert(std::endian::native == std::endian::little, "of a word that the adapter writes the first half changes");

std::size_t NetworkMcs::network_bytes() const {
  return NetworkLock::network_bytes() + context_.memory.lock_count() * sizeof(Waiter);
}

NetworkMcs::Waiter& NetworkMcs::waiter(std::size_t place, const LockId& lock) const {
  auto* const first = reinterpret_cast<Waiter*>(part_of(place) + NetworkLock::network_bytes());
  return first[lock.ordinal];
}

// No put to them is under way: the flag and the link of the turn before have been seen.
void NetworkMcs::reset(const LockId& lock) {
  Waiter& mine = waiter(my_place(), lock);
  mine.flag.value.store(0);
  mine.next.value.store(0);
}

Status NetworkMcs::start(Acquisition& a) {
  a.stage = kTrying;
  if (a.timed) return {};
  a.stage = kSwapping;
  reset(a.lock);
  a.expected = 0;
  return start_operation(a, compare(0, my_mark()));
}

Status NetworkMcs::advance(Acquisition& a, std::uint64_t until_ns) {
  if (a.stage == kTrying) {
    return context_.retry(a, until_ns, [this](Acquisition& one) { return attempt(one); });
  }
  if (a.stage == kSwapping) GRAPNEL_TRY(swap_tail(a, until_ns));
  if (a.done) return {};
  GRAPNEL_TRY(wait_until_set(waiter(my_place(), a.lock).flag.value, until_ns));
  a.came = context_.came_from(context_.group->members[a.before - 1]);
  a.done = true;
  return {};
}

// A swap of the tail: the comparison that succeeds has named the place before.
Status NetworkMcs::swap_tail(Acquisition& a, std::uint64_t until_ns) {
  for (;;) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto found, finish_operation(a, until_ns));
    if (found == a.expected) break;
    a.expected = found;
    GRAPNEL_TRY(start_operation(a, compare(found, my_mark())));
  }
  a.done = a.expected == 0;
  if (a.done) return {};
  a.stage = kWaiting;
  a.before = a.expected;
  const std::size_t before = a.before - 1;
  return put_to(before, reinterpret_cast<std::byte*>(&waiter(before, a.lock).next), my_mark());
}

Status NetworkMcs::wait_until_set(os::Word& word, std::uint64_t until_ns) {
  return context_.waiting.on_word(
      word, [](std::uint32_t value) { return value != 0; }, until_ns, context_.options.backoff_most_ns);
}

Status NetworkMcs::attempt(Acquisition& a) {
  reset(a.lock);
  GRAPNEL_ASSIGN_OR_RETURN(const auto found, run(a.lock, compare(0, my_mark())));
  a.before = found;
  a.done = found == 0;
  return {};
}

Status NetworkMcs::release(const LockId& lock, bool, ByteView) {
  os::Word& next = waiter(my_place(), lock).next.value;
  if (next.load() == 0) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto found, run(lock, compare(my_mark(), 0)));
    if (found == my_mark()) return {};
    GRAPNEL_TRY(wait_until_set(next, progress::Waiting::kForever));
  }
  const std::size_t place = next.load() - 1;
  Half& flag = waiter(place, lock).flag;
  GRAPNEL_TRY(put_to(place, reinterpret_cast<std::byte*>(&flag), 1));
  const bool is_here = context_.node_of(context_.group->members[place]) == context_.my_node;
  if (is_here) context_.waiting.host().wake(flag.value);
  return {};
}

std::string NetworkMcs::describe(const Acquisition& a) {
  if (a.stage == kSwapping || a.before == 0) return "it has no place in the queue yet";
  const Rank before = context_.group->members[a.before - 1];
  return fmt::format("rank {} is before it in the queue", index(before));
}

}  // namespace grapnel::locks
