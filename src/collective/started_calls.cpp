// SPDX-License-Identifier: Apache-2.0
#include "collective/started_calls.hpp"

#include <algorithm>

namespace grapnel::collective {

StartedCalls::StartedCalls(core::Core& core, std::uint64_t long_bytes)
    : core_(core), long_bytes_(long_bytes), shown_(std::make_shared<ShownMemory>(core)) {}

// Without memory in a segment letters carry all messages.
CallMemory StartedCalls::memory_for(const CallStart& start) {
  const Schedule& schedule = start.schedule;
  const bool shows = std::any_of(schedule.steps.begin(), schedule.steps.end(), [&](const Step& step) {
    return step.kind == Step::Kind::send && is_long(step.bytes) && core_.letters.is_local((*start.ranks)[step.peer]);
  });
  if (shows) {
    if (const auto block = shown_->take(schedule.memory_bytes)) return {shown_, *block, schedule.memory_bytes};
  }
  return CallMemory(schedule.memory_bytes);
}

Result<std::shared_ptr<StartedCall>> StartedCalls::start(CallStart start) {
  // Outside the mutex: the source may lie in the shared heap, where a fault waits and advances the others.
  CallMemory memory = memory_for(start);
  const bool shows = memory.is_shown();
  auto call = std::make_shared<StartedCall>(*this, std::move(start), std::move(memory));
  for (const Step& step : call->schedule().steps) {
    if (step.kind == Step::Kind::send) GRAPNEL_TRY(core_.letters.prepare(call->rank_of(step.peer)));
  }
  while (const auto before = oldest_of(kMost)) GRAPNEL_TRY(wait_until_over(*before));
  {
    const base::MutexLock lock(mutex_);
    calls_.push_back(call);
    if (shows) {
      std::erase_if(showing_, [](const auto& one) { return one.expired(); });
      showing_.push_back(call);
    }
    core_.waiting.set_background(this);
  }
  advance();
  return call;
}

bool StartedCalls::advance() {
  if (!mutex_.try_lock()) return false;  // another thread of the rank does it
  const base::MutexLock lock(mutex_, std::adopt_lock);
  bool moved = false;
  for (const auto& call : calls_) moved |= call->advance(core_);
  if (moved) std::erase_if(calls_, [](const auto& call) { return call->is_over(); });
  if (calls_.empty()) core_.waiting.set_background(nullptr);
  return moved;
}

Result<bool> StartedCalls::test(StartedCall& call) {
  advance();
  if (!call.is_over()) {
    GRAPNEL_TRY(core_.waiting.health());
    core_.waiting.host().relax();
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
    const bool from_away = core_.server != nullptr && !call.is_unanswered() && call.receives() && awaited &&
                           !core_.letters.is_local(*awaited);
    GRAPNEL_TRY(core_.letters.wait(
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
  core_.waiting.set_background(nullptr);
  for (const auto& call : calls_) {
    if (call->is_over()) continue;
    call->end(Status(Code::unavailable, "the runtime ended before this collective was waited for"));
  }
  for (const auto& one : showing_) {
    if (const auto call = one.lock()) call->leave_segment();
  }
}

std::shared_ptr<StartedCall> StartedCalls::oldest_of(std::size_t least) {
  const base::MutexLock lock(mutex_);
  const auto is_under_way = [](const auto& call) { return !call->is_over(); };
  if (static_cast<std::size_t>(std::count_if(calls_.begin(), calls_.end(), is_under_way)) < least) return nullptr;
  return *std::find_if(calls_.begin(), calls_.end(), is_under_way);
}

}  // namespace grapnel::collective
