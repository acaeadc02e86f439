// The message of a notification: handler number and body. A barrier's: barrier/messages.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "progress/message.hpp"

namespace grapnel::sync {

inline constexpr progress::HandlerId kNotifyHandler = 48;

struct NotifyBody {
  std::int32_t target = 0;
};

}  // namespace grapnel::sync
