// SPDX-License-Identifier: Apache-2.0
#include "collective/call.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace grapnel::collective {

const char* name_of(CallKind kind) {
  switch (kind) {
    case CallKind::broadcast: return "broadcast";
    case CallKind::reduce: return "reduce";
    case CallKind::allreduce: return "allreduce";
    case CallKind::allgather: return "allgather";
    case CallKind::alltoall: return "alltoall";
    case CallKind::none: break;
  }
  return "no collective call";
}

std::string to_string(const Call& call) {
  const bool reduces = call.kind == CallKind::reduce || call.kind == CallKind::allreduce;
  std::string text = call.kind == CallKind::none || call.kind == CallKind::alltoall
                         ? name_of(call.kind)
                         : fmt::format("{} of {} {}", name_of(call.kind), call.amount, reduces ? "elements" : "bytes");
  if (reduces) text += fmt::format(" (reduction {:08x})", call.reduction);
  if (call.kind == CallKind::broadcast) text += fmt::format(" from rank {}", call.root);
  if (call.kind == CallKind::reduce) text += fmt::format(" to rank {}", call.root);
  return call.started != 0 ? "started " + text : text;
}

void abort_of_calls(launch::Launch& launch, const Call& mine, Rank from, const std::optional<Call>& theirs) {
  launch.abort(1,
               fmt::format("collective calls of one group differ: rank {} called {}, rank {} {}", index(launch.rank()),
                           to_string(mine), index(from), theirs ? to_string(*theirs) : "something else"));
  std::abort();  // not reached; the compiler does not see that through a virtual call
}

void abort_of_lengths(launch::Launch& launch, const Call& call, Rank sender, std::size_t sent_bytes, Rank receiver,
                      std::size_t wanted_bytes) {
  launch.abort(1, fmt::format("collective calls of one group differ: in its {} rank {} sent {} bytes where rank {} "
                              "wants {}",
                              name_of(call.kind), index(sender), sent_bytes, index(receiver), wanted_bytes));
  std::abort();
}

std::uint32_t number_of(const Reduction& reduction) {
  constexpr std::uint32_t kBasis = 2166136261, kPrime = 16777619;
  std::uint32_t hash = (kBasis ^ static_cast<std::uint32_t>(reduction.element_bytes)) * kPrime;
  for (const char* at = reduction.name; at != nullptr && *at != 0; ++at) {
    hash = (hash ^ static_cast<unsigned char>(*at)) * kPrime;
  }
  return hash | 1;
}

}  // namespace grapnel::collective
