// SPDX-License-Identifier: Apache-2.0
#include "collective/call.hpp"

#include <fmt/format.h>

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
  return text;
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
