// How every node learns how many writes it is to have applied: by reduce-scatter (exchange), or told by all (direct).
#include <algorithm>
#include <cstring>
#include <utility>

#include "sync/barrier/meeting.hpp"

namespace grapnel::sync {
namespace {

std::uint64_t number_at(ByteView numbers, std::size_t place) {
  std::uint64_t number = 0;
  std::memcpy(&number, numbers.data() + place * sizeof number, sizeof number);
  return number;
}

}  // namespace

bool Meeting::exchange_counts() {
  for (; round_ < roster_->distances.size(); ++round_) {
    const std::uint32_t distance = roster_->distances[round_];
    const std::span<std::uint64_t> leaving(writes_.data() + distance, writes_.size() - distance);
    if (!std::exchange(sent_, true)) {
      hall_.send(node_at(roster_->me + distance), body(round_), std::as_bytes(leaving));
    }
    const Message* came = find(round_, roster_->me + roster_->size() - distance);
    if (came == nullptr) return false;
    writes_.resize(distance);
    const std::size_t numbers = std::min<std::size_t>(came->payload.size() / sizeof(std::uint64_t), distance);
    for (std::size_t i = 0; i < numbers; ++i) writes_[i] += number_at(came->payload, i);
    sent_ = false;
  }
  awaited_ = writes_.front();
  return true;
}

bool Meeting::tell_counts() {
  const std::uint32_t nodes = roster_->size();
  if (!std::exchange(sent_, true)) {
    for (std::uint32_t distance = 1; distance < nodes; ++distance) {
      hall_.send(node_at(roster_->me + distance), body(0), std::as_bytes(std::span(&writes_[distance], 1)));
    }
  }
  for (; round_ < nodes - 1; ++round_) {
    const Message* came = find(0, roster_->me + 1 + round_);
    if (came == nullptr) return false;
    if (came->payload.size() >= sizeof(std::uint64_t)) awaited_ += number_at(came->payload, 0);
  }
  return true;
}

}  // namespace grapnel::sync
