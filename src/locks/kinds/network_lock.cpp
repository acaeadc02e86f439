// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/network_lock.hpp"

namespace grapnel::locks {

Status NetworkLock::start_operation(Acquisition& a, const Atomic& what) {
  context_.statistics.adapter_operations.add(1);
  const core::NetworkWords::Guard guard(*context_.words);
  GRAPNEL_ASSIGN_OR_RETURN(a.call, context_.words->start(what, home_word(a.lock), a.lock.home));
  a.call_of = context_.words;
  return {};
}

Result<std::uint64_t> NetworkLock::finish_operation(Acquisition& a, std::uint64_t until_ns) {
  const core::NetworkWords::Guard guard(*context_.words);
  auto found = context_.words->finish(a.call, until_ns);
  if (found.status().code() != Code::timed_out) a.call = nullptr;
  return found;
}

Result<std::uint64_t> NetworkLock::run(const LockId& lock, const Atomic& what) {
  context_.statistics.adapter_operations.add(1);
  const core::NetworkWords::Guard guard(*context_.words);
  return context_.words->run(what, home_word(lock), lock.home);
}

Status NetworkLock::post(const LockId& lock, const Atomic& what) {
  context_.statistics.adapter_operations.add(1);
  const core::NetworkWords::Guard guard(*context_.words);
  GRAPNEL_ASSIGN_OR_RETURN(const auto call, context_.words->start(what, home_word(lock), lock.home));
  context_.words->abandon(call);
  return {};
}

Status NetworkLock::put_to(std::size_t place, std::byte* word, std::uint64_t value) {
  context_.statistics.adapter_operations.add(1);
  const core::NetworkWords::Guard guard(*context_.words);
  return context_.words->put(value, word, context_.group->members[place]);
}

}  // namespace grapnel::locks
