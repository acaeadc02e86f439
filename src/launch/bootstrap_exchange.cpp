#include "launch/bootstrap_exchange.hpp"

#include <fmt/format.h>

namespace grapnel::launch {

Result<std::vector<Bytes>> BootstrapExchange::allgather(const Group& group, ByteView mine) {
  if (group.size() != static_cast<std::size_t>(launch_.size())) {
    return Status(Code::unavailable, fmt::format("the launcher's exchange serves all {} ranks only, not a group of {}",
                                                 launch_.size(), group.size()));
  }
  std::vector<Bytes> all(group.size());
  all[group.my_index].assign(mine.begin(), mine.end());
  if (group.size() == 1) return all;
  const std::string key = fmt::format("grapnel.exchange.{}", calls_++);
  GRAPNEL_TRY(launch_.publish(key, mine));
  GRAPNEL_TRY(launch_.fence());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == group.my_index) continue;
    auto theirs = launch_.lookup(group.members[i], key);
    if (!theirs) return theirs.status();
    all[i] = *std::move(theirs);
  }
  return all;
}

}  // namespace grapnel::launch
