// The message of an exchange: handler number and body.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exchange/inbox.hpp"
#include "progress/message.hpp"

namespace grapnel::exchange {

inline constexpr progress::HandlerId kLetterHandler = 33;

/// A letter for the inbox of a rank of the server's node; the payload is its content.
struct LetterBody {
  std::int32_t to = 0;
  std::uint32_t unused = 0;  ///< padding here would send uninitialized bytes
  Envelope envelope;
};
static_assert(sizeof(LetterBody) == 2 * sizeof(std::int32_t) + sizeof(Envelope));

}  // namespace grapnel::exchange
