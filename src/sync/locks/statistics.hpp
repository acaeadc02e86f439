// What the locks of a set did, as one rank (and, where it leads its node, its server) saw it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "grapnel/lock.hpp"
#include "rma/counts.hpp"

namespace grapnel::sync::locks {

struct Statistics {
  static constexpr std::size_t kWaitClasses = LockCounts::kWaitClasses;

  rma::Count acquisitions;
  rma::Count local_hand_offs;   ///< got after waiting, from a rank of this node
  rma::Count remote_hand_offs;  ///< … of another node
  rma::Count gave_up;           ///< timed acquisitions that did not get it, and tries
  rma::Count messages;          ///< sent by this rank, without replies
  rma::Count server_messages;   ///< sent by this node's server, replies included
  std::array<rma::Count, kWaitClasses>
      waits;  ///< [k]: acquisitions that waited 2^(k−1) … 2^k ns; only those that waited

  void count_wait(std::uint64_t wait_ns) {
    waits[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(wait_ns)), kWaitClasses - 1)].add(1);
  }
};

}  // namespace grapnel::sync::locks
