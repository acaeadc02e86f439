// Active target: fence; post, start, complete, wait.
//
// Posts and completes are counted in words of the other side's control, behind the caller's writes to it
// (sync/signals.hpp). Counts only grow: each side knows how many it expects, so that epochs that overlap do not mix.
//
//   target: post     ─▶ posted[target] of each origin + 1
//   origin: start, operations wait for posted[target]; complete ─▶ completed of each target + 1, behind its writes
//   target: wait     until completed has grown by the number of origins
//
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/check.hpp"
#include "window/internal/control.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/window.hpp"

namespace grapnel::window {
namespace {

constexpr std::uint32_t kCountMask = (std::uint32_t{1} << 31) - 1;

}  // namespace

Status Window::meet() { return options_.meet ? options_.meet() : services_.barriers.run(*group_); }

// The group's barrier completes the writes at their targets; `Options::meet` does not.
Outcome Window::fence(const FenceAssertions& assertions) {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.fence(assertions));
    near_.forbid_all();  // also where the next epoch is one of a fence: its first operation marks it as used
    needs_no_access_ = epochs_.epoch() == Epoch::fence;
  }
  const bool by_barrier = !options_.meet;
  Outcome completed = assertions.no_precede ? Outcome() : complete_all(!by_barrier);
  Outcome met = meet();
  const StateLock lock(*this);
  forget_all_used();
  return completed.ok() ? std::move(met) : std::move(completed);
}

Outcome Window::check_places(const char* call, std::span<const int> places) const {
  for (const int place : places) GRAPNEL_WINDOW_TRY(check_place(call, place));
  return {};
}

Outcome Window::post(std::span<const int> places) {
  GRAPNEL_WINDOW_TRY(check_places("post", places));
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.post());
    completes_expected_ += static_cast<std::uint32_t>(places.size());
  }
  for (const int place : places) {
    std::byte* const word = posted_word(controls_[static_cast<std::size_t>(place)], my_place_);
    GRAPNEL_WINDOW_TRY(services_.signals.add(word, 1, part(place).rank));
  }
  return {};
}

Outcome Window::start(std::span<const int> places, bool nocheck) {
  GRAPNEL_WINDOW_TRY(check_places("start", places));
  const StateLock lock(*this);
  GRAPNEL_WINDOW_TRY(epochs_.start(places));
  needs_no_access_ = false;
  started_at_.assign(places.begin(), places.end());
  posts_expected_.resize(targets_.size());
  for (const int place : places) {
    target(place).access = nocheck ? Access::granted : Access::awaits_post;
    ++posts_expected_[static_cast<std::size_t>(place)];
  }
  return {};
}

Status Window::wait_for_post(int place) {
  GRAPNEL_ASSERT(posts_expected_.size() == targets_.size(), "{} counts of posts for {} targets", posts_expected_.size(),
                 targets_.size());
  std::byte* const mine = controls_[static_cast<std::size_t>(my_place_)];
  return services_.signals.wait(posted_word(mine, place),
                                posts_expected_[static_cast<std::size_t>(place)] & kCountMask);
}

// The counts follow the writes to each target, so that none of these has to be acknowledged here.
Outcome Window::complete() {
  std::vector<int> places;
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.complete());
    near_.forbid_all();
    places.swap(started_at_);
  }
  for (const int place : places) GRAPNEL_WINDOW_TRY(get_access(place));
  Outcome first = complete_all(false);
  for (const int place : places) {
    std::byte* const word = completed_word(controls_[static_cast<std::size_t>(place)]);
    Outcome added = services_.signals.add(word, 1, part(place).rank);
    if (first.ok()) first = std::move(added);
  }
  const StateLock lock(*this);
  forget_all_used();
  for (const int place : places) target(place) = {};
  return first;
}

Outcome Window::wait() {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.exposed("wait"));
  }
  std::byte* const word = completed_word(controls_[static_cast<std::size_t>(my_place_)]);
  GRAPNEL_WINDOW_TRY(services_.signals.wait(word, completes_expected_ & kCountMask));
  const StateLock lock(*this);
  return epochs_.end_exposure();
}

Outcome Window::test_wait(bool& done) {
  done = false;
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.exposed("test_wait"));
  }
  std::byte* const word = completed_word(controls_[static_cast<std::size_t>(my_place_)]);
  const auto tested = services_.signals.test(word, completes_expected_ & kCountMask);
  if (!tested) return tested.status();
  done = *tested;
  if (!done) return {};
  const StateLock lock(*this);
  return epochs_.end_exposure();
}

}  // namespace grapnel::window
