// What synchronization puts on the wire: handler numbers and bodies.
#pragma once

#include <cstdint>

#include "progress/message.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kBarrierHandler = 32;
inline constexpr progress::HandlerId kBoardHandler = 33;
inline constexpr progress::HandlerId kLockAskHandler = 34;  ///< bodies: locks/messages.hpp
inline constexpr progress::HandlerId kLockTellHandler = 35;

/// "The nodes behind me have arrived": one per round of the dissemination.
struct BarrierBody {
  std::uint32_t round = 0;
};

/// A node's bundle for an exchange: its ranks' slots, in rank order.
struct BoardBody {
  std::uint32_t node = 0;
  std::uint32_t epoch = 0;
  std::uint32_t first_local = 0;  ///< index, among the node's ranks, of the first slot in this message
  std::uint32_t slots = 0;
};

}  // namespace grapnel::sync
