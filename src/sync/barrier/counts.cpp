// How every node learns how many writes it is to have applied: by reduce-scatter (exchange), or sent by all (direct).
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "sync/barrier/instance.hpp"

namespace grapnel::sync {
namespace {

std::uint64_t number_at(ByteView numbers, std::size_t place) {
  std::uint64_t number = 0;
  std::memcpy(&number, numbers.data() + place * sizeof number, sizeof number);
  return number;
}

}  // namespace

void BarrierInstance::add_numbers(std::span<std::uint64_t> sums, ByteView numbers) {
  const std::size_t count = numbers.size() / sizeof(std::uint64_t);  // no more than there are sums: `find` looked
  for (std::size_t i = 0; i < count; ++i) sums[i] += number_at(numbers, i);
}

bool BarrierInstance::exchange_counts() {
  for (; round_ < members_->distances.size(); ++round_) {
    const std::uint32_t distance = members_->distances[round_];
    const std::span<std::uint64_t> leaving(writes_.data() + distance, writes_.size() - distance);
    if (!std::exchange(sent_, true)) {
      host_.send(node_at(members_->me + distance), body(round_), std::as_bytes(leaving));
    }
    const Message* came = find(round_, members_->me + members_->size() - distance, leaving.size());
    if (came == nullptr) return false;
    writes_.resize(distance);
    add_numbers(writes_, came->payload);
    sent_ = false;
  }
  awaited_ = writes_.front();
  return true;
}

bool BarrierInstance::tell_counts() {
  const std::uint32_t nodes = members_->size();
  if (!std::exchange(sent_, true)) {
    for (std::uint32_t distance = 1; distance < nodes; ++distance) {
      host_.send(node_at(members_->me + distance), body(0), std::as_bytes(std::span(&writes_[distance], 1)));
    }
  }
  for (; round_ < nodes - 1; ++round_) {
    const Message* came = find(0, members_->me + 1 + round_, 1);
    if (came == nullptr) return false;
    add_numbers(std::span(&awaited_, 1), came->payload);
  }
  return true;
}

}  // namespace grapnel::sync
