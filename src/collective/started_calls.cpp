// SPDX-License-Identifier: Apache-2.0
#include "collective/started_calls.hpp"

#include <algorithm>

namespace grapnel::collective {

Result<std::shared_ptr<StartedCall>> StartedCalls::start(CallStart start) {
  // Outside the mutex: the source may lie in the shared heap, where a fault waits and advances the others.
  auto call = std::make_shared<StartedCall>(*this, std::move(start));
  for (const Step& step : call->schedule().steps) {
    if (step.kind == Step::Kind::send) GRAPNEL_TRY(letters_.prepare(call->rank_of(step.peer)));
  }
  while (const auto before = oldest_of(kMost)) GRAPNEL_TRY(wait_until_over(*before));
  {
    const base::MutexLock lock(mutex_);
    calls_.push_back(call);
    waiting_.set_background(this);
  }
  advance();
  return call;
}

bool StartedCalls::advance() {
  if (!mutex_.try_lock()) return false;  // another thread of the rank does it
  const base::MutexLock lock(mutex_, std::adopt_lock);
  bool moved = false;
  for (const auto& call : calls_) moved |= call->advance(launch_, letters_);
  if (moved) std::erase_if(calls_, [](const auto& call) { return call->is_over(); });
  if (calls_.empty()) waiting_.set_background(nullptr);
  return moved;
}

Result<bool> StartedCalls::test(StartedCall& call) {
  advance();
  if (!call.is_over()) {
    GRAPNEL_TRY(waiting_.health());
    waiting_.host().relax();
    return false;
  }
  GRAPNEL_TRY(call.finish());
  return true;
}

Status StartedCalls::wait(StartedCall& call) {
  GRAPNEL_TRY(wait_until_over(call));
  return call.finish();
}

// Where the next letter is to come from another node the leader's rank may drive its server, and looks at nothing else;
// so a wait ends with each step.
Status StartedCalls::wait_until_over(StartedCall& call) {
  while (!call.is_over()) {
    const std::size_t position = call.position();
    const auto awaited = call.awaited();
    const bool from_away = leads_ && call.receives() && awaited && !letters_.is_local(*awaited);
    GRAPNEL_TRY(letters_.wait(
        from_away,
        [&] {
          advance();
          return call.is_over() || call.position() != position;
        },
        call.subject()));
  }
  return {};
}

Status StartedCalls::complete() {
  while (const auto call = oldest_of(1)) GRAPNEL_TRY(wait_until_over(*call));
  return {};
}

void StartedCalls::stop() {
  const base::MutexLock lock(mutex_);
  waiting_.set_background(nullptr);
  for (const auto& call : calls_) {
    if (call->is_over()) continue;
    call->end(Status(Code::unavailable, "the runtime ended before this collective was waited for"));
  }
}

std::shared_ptr<StartedCall> StartedCalls::oldest_of(std::size_t least) {
  const base::MutexLock lock(mutex_);
  const auto is_under_way = [](const auto& call) { return !call->is_over(); };
  if (static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), is_under_way)) < least) return nullptr;
  return *std::find_if(calls_.begin(), calls_.end(), is_under_way);
}

}  // namespace grapnel::collective
