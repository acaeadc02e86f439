// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/network_test_and_set.hpp"

namespace grapnel::locks {

Status NetworkTestAndSet::try_from(Acquisition& a, std::uint64_t expected) {
  a.expected = expected;
  return start_operation(a, compare(expected, a.shared ? expected + 1 : my_mark()));
}

Status NetworkTestAndSet::start(Acquisition& a) { return try_from(a, 0); }

Status NetworkTestAndSet::advance(Acquisition& a, std::uint64_t until_ns) {
  return context_.retry(a, until_ns, [&](Acquisition& one) { return try_until_refused(one, until_ns); });
}

// A reader that finds other readers tries again at once, from the number of them that it has seen.
Status NetworkTestAndSet::try_until_refused(Acquisition& a, std::uint64_t until_ns) {
  if (a.call == nullptr) GRAPNEL_TRY(try_from(a, 0));
  for (;;) {
    GRAPNEL_ASSIGN_OR_RETURN(a.before, finish_operation(a, until_ns));
    a.done = a.before == a.expected;
    if (a.done) return {};
    ++a.ticket;
    if (!a.shared || is_writer(a.before)) return {};
    GRAPNEL_TRY(try_from(a, a.before));
  }
}

Status NetworkTestAndSet::give_up(Acquisition& a) {
  if (a.call == nullptr) return {};
  // A try that is under way may succeed; it is a round trip away.
  GRAPNEL_ASSIGN_OR_RETURN(a.before, finish_operation(a, progress::Waiting::kForever));
  a.done = a.before == a.expected;
  return {};
}

Status NetworkTestAndSet::attempt(Acquisition& a) { return try_until_refused(a, progress::Waiting::kForever); }

Status NetworkTestAndSet::release(const LockId& lock, bool shared, ByteView) {
  return post(lock, add(0 - (shared ? 1 : my_mark())));
}

std::string NetworkTestAndSet::describe(const Acquisition& a) {
  if (a.before == 0) return "its word was free at the last look";
  if (!is_writer(a.before)) return fmt::format("{} readers shared it at the last look", a.before);
  return fmt::format("rank {} held it at the last look", a.before - kWriter - 1);
}

}  // namespace grapnel::locks
