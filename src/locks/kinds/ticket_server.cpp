// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/ticket_server.hpp"

namespace grapnel::locks {

std::string TicketServer::describe(const Acquisition& a) {
  if (context_.at_home(a.lock)) {
    TicketWords& here = words(a.lock);
    const std::uint32_t next = here.next.load(), serving = here.serving.load(), holder = here.holder.load();
    if (next == serving || holder == 0) return "nobody holds it";
    return fmt::format("rank {} holds it, {} stand behind it", holder - 1, next - serving - 1);
  }
  if (a.before != 0) return fmt::format("rank {} held it when this rank asked last", a.before - 1);
  return fmt::format("the holder is known at its home only, {}", context_.name_of(context_.node_of(a.lock.home)));
}

}  // namespace grapnel::locks
