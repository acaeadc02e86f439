// The dissemination: a barrier between nodes that sums up what they carry. See schedule.hpp.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "sync/barrier/instance.hpp"

namespace grapnel::sync {

bool BarrierInstance::disseminate() {
  for (; round_ < members_->rounds.size(); ++round_) {
    const DisseminationRound& round = members_->rounds[round_];
    if (!std::exchange(sent_, true)) send_sums(round);
    if (!all_came(round)) return false;
    add_sums(round);
    sent_ = false;
  }
  return true;
}

void BarrierInstance::send_sums(const DisseminationRound& round) {
  for (const auto& part : round.parts) {
    BarrierBody message = body(round_);
    Bytes payload;
    if (part.small) {
      message.small = small_.totals;
      message.small_bytes = static_cast<std::uint32_t>(small_.payload.size());
      payload = small_.payload;
    }
    if (part.large) {
      message.large = large_.totals;
      payload.insert(payload.end(), large_.payload.begin(), large_.payload.end());
    }
    // The node that takes from me is the one that I am `offset` behind.
    host_.send(node_at(members_->me + members_->size() - part.offset), message, payload);
  }
}

bool BarrierInstance::all_came(const DisseminationRound& round) const {
  for (const auto& part : round.parts) {
    if (find(round_, members_->me + part.offset) == nullptr) return false;
  }
  return true;
}

void BarrierInstance::add_sums(const DisseminationRound& round) {
  Sum common = round.own_large ? std::move(large_) : std::move(small_);
  Sum small, large;
  for (const auto& part : round.parts) {
    const Message& message = *find(round_, members_->me + part.offset);
    const ByteView payload = message.payload;
    const ByteView theirs_small = payload.first(message.body.small_bytes);
    const ByteView theirs_large = payload.subspan(message.body.small_bytes);
    if (!part.last) {
      add(common, part.large ? message.body.large : message.body.small, part.large ? theirs_large : theirs_small);
      continue;
    }
    small = large = common;
    add(small, message.body.small, theirs_small);
    add(large, message.body.large, theirs_large);
  }
  small_ = std::move(small);
  large_ = std::move(large);
}

void BarrierInstance::add(Sum& sum, const BarrierTotals& totals, ByteView payload) const {
  sum.totals.add(totals);
  if (payload.empty()) return;
  if (sum.payload.empty() || combine_ == nullptr) {
    sum.payload.assign(payload.begin(), payload.end());
  } else {
    combine_(sum.payload, payload);
    if (sum.payload.size() > kMostBarrierPayload) {
      host_.abort_job(group_, fmt::format("its payloads join to {} bytes, and {} is the most", sum.payload.size(),
                                          kMostBarrierPayload));
    }
  }
}

}  // namespace grapnel::sync
