// What barriers put on the wire.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "progress/message.hpp"
#include "sync/barrier/plan.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kBarrierHandler = 32;
inline constexpr progress::HandlerId kBarrierGroupHandler = 61;

/// The parts of a barrier, in their order; some plans leave some out.
enum class BarrierStage : std::uint8_t {
  first,    ///< dissemination; for clean it states whether the barrier is over
  counts,   ///< every node learns how many writes it is to have applied
  applied,  ///< it waits until it has; no messages
  last,     ///< dissemination, or a gather
  over,
};

/// Server to server. `first` and `last`: the sender's two sums, the payload the two joined payloads; `counts`: the
/// payload is the numbers of writes (64 bit), for the receiver and, in an exchange, the nodes after it. In a gather,
/// round 0 is sent to the parent, with the numbers for all nodes, or the large sum; round 1 is the answer, with those
/// for the receiver's run, or the sum of all.
struct BarrierBody {
  std::uint64_t group = 0;
  std::uint32_t count = 0;  ///< which of the group's barriers, from 1
  std::uint32_t from = 0;   ///< the sender's place among the group's nodes
  BarrierStage stage{};
  std::uint8_t round = 0;
  std::uint16_t unused = 0;
  std::uint32_t small_bytes = 0;  ///< of the payload; the rest belongs to the large sum
  BarrierTotals small, large;
};

/// A rank to its own server: there is (or no longer is) a group whose barriers it is to carry out. The payload is a bit
/// per rank of the job, set for members.
struct BarrierGroupBody {
  std::uint64_t group = 0;
  std::uint32_t entry = 0;  ///< its place in node memory
  std::uint32_t ends = 0;   ///< 1: the group is released
};

static_assert(std::has_unique_object_representations_v<BarrierBody> &&
                  std::has_unique_object_representations_v<BarrierGroupBody>,
              "they travel: no byte that nobody writes");

}  // namespace grapnel::sync
