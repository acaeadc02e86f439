// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "window/window.hpp"

namespace grapnel::window {

/// Guards a window's state in a window that several threads use; else it costs a load. Never held while a thread waits.
class Window::StateLock {
 public:
  explicit StateLock(Window& window) : mutex_(window.options_.many_threads ? &window.mutex_ : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~StateLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  base::Mutex* const mutex_;
};

}  // namespace grapnel::window
