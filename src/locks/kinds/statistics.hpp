// What the locks of a set did, as one rank (and, where it leads its node, its server) saw it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/count.hpp"
#include "grapnel/lock.hpp"

namespace grapnel::locks {

struct Statistics {
  static constexpr std::size_t kWaitClasses = LockCounts::kWaitClasses;

  base::Count acquisitions;
  base::Count local_hand_offs;   ///< got after waiting, from a rank of this node
  base::Count remote_hand_offs;  ///< … of another node
  base::Count gave_up;           ///< timed acquisitions that did not get it, and tries
  base::Count messages;          ///< sent by this rank, without replies
  base::Count server_messages;   ///< sent by this node's server, replies included
  base::Count adapter_operations;
  std::array<base::Count, kWaitClasses>
      waits;  ///< [k]: acquisitions that waited 2^(k−1) … 2^k ns; only those that waited

  void count_wait(std::uint64_t wait_ns) {
    waits[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(wait_ns)), kWaitClasses - 1)].add(1);
  }
};

}  // namespace grapnel::locks
