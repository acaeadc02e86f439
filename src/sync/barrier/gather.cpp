// A barrier for nodes that share processors: one node gathers, and answers the others. See schedule.hpp.
//
// Twice up and down a tree: how many writes each node is to have applied, and that all have. A stage's round 0 is what
// goes up, round 1 what comes down.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "sync/barrier/instance.hpp"

namespace grapnel::sync {
namespace {

constexpr std::uint32_t kUp = 0, kDown = 1;

}  // namespace

bool BarrierInstance::gather_counts() {
  const GatherPlace& place = members_->gather;
  for (; round_ < place.children.size(); ++round_) {
    const Message* came = find(kUp, place.children[round_].first, writes_.size());
    if (came == nullptr) return false;
    add_numbers(writes_, came->payload);
  }
  if (!place.root) {
    if (!std::exchange(sent_, true)) host_.send(node_at(place.parent), body(kUp), std::as_bytes(std::span(writes_)));
    const std::span<std::uint64_t> run(&writes_[place.mine.first], place.mine.end - place.mine.first);
    const Message* came = find(kDown, place.parent, run.size());
    if (came == nullptr) return false;
    std::fill(run.begin(), run.end(), 0);
    add_numbers(run, came->payload);
  }
  for (const Run& child : place.children) {
    const std::span<const std::uint64_t> theirs(&writes_[child.first], child.end - child.first);
    host_.send(node_at(child.first), body(kDown), std::as_bytes(theirs));
  }
  awaited_ = writes_[members_->me];
  return true;
}

bool BarrierInstance::gather_sums() {
  const GatherPlace& place = members_->gather;
  for (; round_ < place.children.size(); ++round_) {
    const Message* came = find(kUp, place.children[round_].first);
    if (came == nullptr) return false;
    add(large_, came->body.large, large_part(*came));
  }
  const auto tell = [this](std::uint32_t node, std::uint32_t direction) {
    BarrierBody message = body(direction);
    message.large = large_.totals;
    host_.send(node_at(node), message, large_.payload);
  };
  if (!place.root) {
    if (!std::exchange(sent_, true)) tell(place.parent, kUp);
    const Message* came = find(kDown, place.parent);
    if (came == nullptr) return false;
    const ByteView theirs = large_part(*came);
    large_ = {came->body.large, Bytes(theirs.begin(), theirs.end())};
  }
  for (const Run& child : place.children) tell(child.first, kDown);
  return true;
}

}  // namespace grapnel::sync
