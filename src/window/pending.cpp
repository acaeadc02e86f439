// SPDX-License-Identifier: Apache-2.0
#include "window/pending.hpp"

#include "base/check.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/window.hpp"

namespace grapnel::window {

Outcome Pending::wait() { return is_complete() ? Outcome() : started_->window->finish(*started_); }

Outcome Pending::test(bool& complete) {
  complete = is_complete();
  return complete ? Outcome() : started_->window->test(*started_, complete);
}

void Window::keep(const std::shared_ptr<Started>& started) {
  const StateLock lock(*this);
  started->position = started_.size();
  started_.push_back(started);
}

// Under the window's mutex. The last one takes its place.
void Window::remove(Started& started) {
  const std::size_t position = started.position;
  GRAPNEL_ASSERT(position < started_.size() && started_[position].get() == &started, "place {} of {} started", position,
                 started_.size());
  started_[position] = std::move(started_.back());
  started_[position]->position = position;
  started_.pop_back();
}

void Window::end_wait(Started& started, bool is_complete) {
  {
    const StateLock lock(*this);
    GRAPNEL_ASSERT(started.in_work, "the wait of no thread ends, for target {}", started.target);
    started.in_work = false;
    if (is_complete) {
      started.complete.store(true, std::memory_order_release);
      remove(started);
    }
  }
  changed();
}

// One thread waits for the handle; the others wait for that thread.
Outcome Window::finish(Started& started) {
  for (;;) {
    std::uint32_t seen = 0;
    {
      const StateLock lock(*this);
      if (started.complete.load(std::memory_order_relaxed)) return {};
      seen = changes_.load(std::memory_order_acquire);
      if (!started.in_work) {
        started.in_work = true;
        break;
      }
    }
    GRAPNEL_WINDOW_TRY(wait_for_change(seen));
  }
  const Status completed = services_.rma.wait(started.handle);
  end_wait(started, completed.code() != Code::peer_dead);
  return completed;
}

Outcome Window::test(Started& started, bool& complete) {
  {
    const StateLock lock(*this);
    complete = started.complete.load(std::memory_order_relaxed);
    if (complete || started.in_work) return {};
    started.in_work = true;
  }
  const auto tested = services_.rma.test(started.handle);
  complete = tested ? *tested : tested.status().code() != Code::peer_dead;
  end_wait(started, complete);
  return tested.status();
}

Outcome Window::finish_started(int place) {
  std::vector<std::shared_ptr<Started>> mine;
  {
    const StateLock lock(*this);
    for (const auto& one : started_) {
      if (place < 0 || one->target == place) mine.push_back(one);
    }
  }
  Outcome first;
  for (const auto& one : mine) {
    Outcome finished = finish(*one);
    if (first.ok()) first = std::move(finished);
  }
  return first;
}

}  // namespace grapnel::window
