// What synchronization puts on the wire: handler numbers and bodies.
#pragma once

#include <cstdint>

#include "progress/message.hpp"
#include "sync/inbox.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kLetterHandler = 33;
inline constexpr progress::HandlerId kLockHandler = 34;
inline constexpr progress::HandlerId kUnlockHandler = 35;
inline constexpr progress::HandlerId kNotifyHandler = 48;

/// A letter for the inbox of a rank of the server's node; the payload is its content.
struct LetterBody {
  std::int32_t to = 0;
  Envelope envelope;
};

struct NotifyBody {
  std::int32_t target = 0;
};

struct LockBody {
  std::int32_t home = 0;
  std::int32_t index = 0;
};

}  // namespace grapnel::sync
