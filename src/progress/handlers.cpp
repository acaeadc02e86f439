// SPDX-License-Identifier: Apache-2.0
#include "progress/handlers.hpp"

#include "base/check.hpp"

namespace grapnel::progress {

void HandlerTable::add(HandlerId id, Handler handler) {
  GRAPNEL_CHECK(id < kHandlerLimit && !handlers_[id].run, "handler {} ({})", id, handler.name);
  GRAPNEL_CHECK(handler.most_body_bytes <= kMaxBodyBytes, "handler {} takes {} bytes", handler.name,
                handler.most_body_bytes);
  handlers_[id] = std::move(handler);
}

}  // namespace grapnel::progress
