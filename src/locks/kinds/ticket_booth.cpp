#include "locks/kinds/ticket_booth.hpp"

namespace grapnel::locks {

std::string TicketBooth::describe(const Acquisition& a) {
  if (ground_.at_home(a.lock)) {
    TicketWords& here = words(a.lock);
    const std::uint32_t next = here.next.load(), serving = here.serving.load(), holder = here.holder.load();
    if (next == serving || holder == 0) return "nobody holds it";
    return fmt::format("rank {} holds it, {} stand behind it", holder - 1, next - serving - 1);
  }
  if (a.before != 0) return fmt::format("rank {} held it when this rank asked last", a.before - 1);
  return fmt::format("the holder is known at its home only, {}", ground_.name_of(ground_.node_of(a.lock.home)));
}

}  // namespace grapnel::locks
