// What a request waits for: one operation of a window that its caller waits for by itself.
//
// A put is complete when its source may be used again; a get, and what fetches, when the data has arrived. A flush of
// the target completes it, too. Copies name the same operation. An operation whose Pending is gone is completed by the
// next flush, as one without.
// Threads: any; one operation is waited for by one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "grapnel/handle.hpp"
#include "window/outcome.hpp"

namespace grapnel::window {

class Window;

/// A started operation in the list of its window.
struct Started {
  Window* window = nullptr;
  int target = 0;
  Handle handle;
  std::atomic<bool> complete{false};
  std::size_t position = 0;  ///< in the window's list
  bool in_work = false;      ///< a thread waits for it
};

class Pending {
 public:
  /// Whether nothing has to be waited for, as far as is known: an operation that was complete when its call returned,
  /// or that a flush, a wait or a test has completed. Costs a load.
  bool is_complete() const {
    // acquire: pairs with the thread that has completed it.
    return started_ == nullptr || started_->complete.load(std::memory_order_acquire);
  }
  /// Looks, and lets the rank's messages go on. Never sleeps. Errors: Fault::range (refused), peer_dead.
  Outcome test(bool& complete);
  /// Waits for it. Errors: as `test`.
  Outcome wait();

 private:
  friend class Window;
  std::shared_ptr<Started> started_;  ///< null: was complete when the call returned
};

}  // namespace grapnel::window
