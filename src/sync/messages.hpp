// The messages of a notification and of a signal. A barrier's: barrier/messages.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "progress/message.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kNotifyHandler = 48;

struct NotifyBody {
  std::int32_t target = 0;
};

/// Its handler's number is given out by the service array.
struct SignalBody {
  std::uint64_t word = 0;  ///< its address at the target
  std::uint64_t amount = 0;
};

}  // namespace grapnel::sync
