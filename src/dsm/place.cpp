// Names the home of pages before their first touch, in the directory.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/codec.hpp"
#include "dsm/heap.hpp"

namespace grapnel::dsm {

Status Heap::place(const void* address, std::size_t bytes, Rank rank) {
  if (index(rank) >= static_cast<std::size_t>(core_.launch.size())) {
    return Status(Code::invalid_argument,
                  fmt::format("place: rank {} of a job with the ranks 0..{}", index(rank), core_.launch.size() - 1));
  }
  GRAPNEL_ASSIGN_OR_RETURN(const os::Pages pages, pages_in("place", address, bytes));
  if (one_node() || settings_.protocol == ProtocolChoice::lrc) return {};  // no page has a home
  if (settings_.homes != HomeChoice::first_touch) {
    return Status(Code::invalid_argument,
                  "place: GRAPNEL_DSM_HOMES computes the homes of pages; unset it, or set it to first_touch");
  }
  const std::size_t node = index(core_.launch.nodes().node_of[index(rank)]);
  std::size_t others = 0, first_other = 0, count = 0;
  for (std::size_t first = pages.first; first < pages.first + pages.count; first += count) {
    count = std::min(pages.first + pages.count, (first / Directory::kRun + 1) * Directory::kRun) - first;
    GRAPNEL_ASSIGN_OR_RETURN(const Directory::Placed placed, place_run({first, count}, node));
    if (others == 0) first_other = placed.first_other;
    others += placed.others;
  }
  if (others == 0) return {};
  return Status(
      Code::invalid_argument,
      fmt::format("place: {} of {} pages have another home already and stay there, the first of them at {}; "
                  "place memory before any rank uses it",
                  others, pages.count, fmt::ptr(reinterpret_cast<void*>(base() + first_other * os::kPageBytes))));
}

// Pages whose entries are at one node.
Result<Directory::Placed> Heap::place_run(os::Pages pages, std::size_t node) {
  const std::size_t keeper = directory_.keeper(pages.first);
  if (keeper == me_) return directory_.place(pages, node);
  const PlaceBody body{static_cast<std::uint32_t>(pages.first), static_cast<std::uint32_t>(pages.count),
                       static_cast<std::uint32_t>(node)};
  progress::OutgoingRequest request;
  request.handler = handler(Call::place);
  request.body = base::bytes_of(body);
  counts_.home_questions.add(1);
  const progress::Client::Guard guard(*core_.client);
  GRAPNEL_ASSIGN_OR_RETURN(const auto answer, core_.client->ask(NodeId{static_cast<int>(keeper)}, request));
  const Directory::Placed placed{static_cast<std::uint32_t>(answer.value >> 32),
                                 static_cast<std::uint32_t>(answer.value)};
  if (answer.code != progress::ReplyCode::answer || placed.others > pages.count ||
      (placed.others > 0 && placed.first_other - pages.first >= pages.count)) {
    disbelieve(fmt::format("node {} does not take the homes of its pages", keeper));
  }
  return placed;
}

}  // namespace grapnel::dsm
