// How an operation is sent, and what its caller can wait for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "window/internal/services.hpp"
#include "window/window.hpp"

namespace grapnel::window {

// On the own node it is complete now. Elsewhere one that a request names has a handle of its own: a write is looked at
// once, for a short one has left already.
template <typename Send>
Outcome Window::launch(const Aim& aim, int target, Pending* pending, bool is_write, Send send) {
  if (aim.bytes == 0) return {};
  if (pending == nullptr || aim.is_near) return answered(aim, send(nullptr));
  const auto started = std::make_shared<Started>();
  started->window = this;
  started->target = target;
  const Status sent = send(&started->handle);
  if (sent.ok() && is_write) {
    const auto left = services_.rma.test(started->handle);
    if (!left) return left.status();
    if (*left) return {};
  }
  keep(started);
  if (sent.ok()) pending->started_ = started;
  return sent;
}

}  // namespace grapnel::window
