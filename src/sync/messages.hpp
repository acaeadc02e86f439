// What synchronization puts on the wire: handler numbers and bodies.
#pragma once

#include <cstdint>

#include "progress/message.hpp"
#include "sync/inbox.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kLetterHandler = 33;
inline constexpr progress::HandlerId kLockAskHandler = 34;  ///< bodies: locks/messages.hpp
inline constexpr progress::HandlerId kLockTellHandler = 35;
inline constexpr progress::HandlerId kNotifyHandler = 48;

/// A letter for the inbox of a rank of the server's node; the payload is its content.
struct LetterBody {
  std::int32_t to = 0;
  std::uint32_t unused = 0;  ///< what lies between the two would travel as it lay in memory
  Envelope envelope;
};
static_assert(sizeof(LetterBody) == 2 * sizeof(std::int32_t) + sizeof(Envelope));

struct NotifyBody {
  std::int32_t target = 0;
};

}  // namespace grapnel::sync
