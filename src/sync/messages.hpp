// What synchronization puts on the wire: handler numbers and bodies.
#pragma once

#include <cstdint>

#include "progress/message.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kBoardHandler = 33;
inline constexpr progress::HandlerId kLockHandler = 34;
inline constexpr progress::HandlerId kUnlockHandler = 35;

/// A node's bundle for an exchange: its ranks' slots, in rank order.
struct BoardBody {
  std::uint32_t node = 0;
  std::uint32_t epoch = 0;
  std::uint32_t first_local = 0;  ///< index, among the node's ranks, of the first slot in this message
  std::uint32_t slots = 0;
};

struct LockBody {
  std::int32_t home = 0;
  std::int32_t index = 0;
};

}  // namespace grapnel::sync
