// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/network_ticket.hpp"

namespace grapnel::locks {

void NetworkTicket::take(Acquisition& a) {
  mine_[a.lock.ordinal] = a.ticket;
  a.done = true;
}

Status NetworkTicket::start(Acquisition& a) {
  a.stage = kTrying;
  if (a.timed) return {};
  a.stage = kTaking;
  return start_operation(a, add(kOneNumber));
}

Status NetworkTicket::advance(Acquisition& a, std::uint64_t until_ns) {
  if (a.stage == kTrying) {
    return context_.retry(a, until_ns, [this](Acquisition& one) { return attempt(one); });
  }
  for (;;) {
    if (a.call == nullptr) {
      GRAPNEL_TRY(context_.pause(a, until_ns));
      GRAPNEL_TRY(start_operation(a, add(0)));
    }
    GRAPNEL_ASSIGN_OR_RETURN(const auto word, finish_operation(a, until_ns));
    if (a.stage == kTaking) a.ticket = next(word);
    a.stage = kLooking;
    a.before = a.ticket - served(word);
    if (served(word) == a.ticket) {
      take(a);
      return {};
    }
    context_.set_pause(a, static_cast<std::uint32_t>(a.before) * context_.options.backoff_ns);
  }
}

Status NetworkTicket::attempt(Acquisition& a) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto word, run(a.lock, add(0)));
  a.before = next(word) - served(word);
  if (next(word) != served(word)) return {};
  GRAPNEL_ASSIGN_OR_RETURN(const auto found, run(a.lock, compare(word, word + kOneNumber)));
  a.ticket = next(word);
  if (found == word) take(a);
  return {};
}

// The lower half must not carry into the upper one when it wraps around.
Status NetworkTicket::release(const LockId& lock, bool, ByteView) {
  const bool wraps = mine_[lock.ordinal] == UINT32_MAX;
  return post(lock, add(wraps ? 1 - kOneNumber : 1));
}

std::string NetworkTicket::describe(const Acquisition& a) {
  return fmt::format("{} numbers were before its own at the last look", static_cast<std::uint32_t>(a.before));
}

}  // namespace grapnel::locks
