// SPDX-License-Identifier: Apache-2.0
#include "collective/started_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "collective/started_calls.hpp"

namespace grapnel::collective {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace

StartedCall::StartedCall(StartedCalls& owner, CallStart start, CallMemory memory)
    : owner_(owner), start_(std::move(start)), memory_(std::move(memory)) {
  const Schedule& schedule = start_.schedule;
  std::byte* const source = memory_.data() + schedule.source_at;
  copy_bytes(source, static_cast<const std::byte*>(start_.source), schedule.source_bytes);
  const Reduction& reduction = start_.reduction;
  if (reduction.prepare != nullptr) reduction.prepare(source, count_of(schedule.source_bytes));
}

bool StartedCall::advance(core::Core& core) {
  const std::vector<Step>& steps = start_.schedule.steps;
  const std::size_t first = position();
  for (std::size_t at = first; at < steps.size(); ++at) {
    const auto done = run(steps[at], core);
    if (!done) {
      end(done.status());
      return true;
    }
    if (!*done) return at > first;
    next_.store(at + 1, std::memory_order_relaxed);
  }
  look_for_answers(core.letters);
  if (!shown_.empty()) return steps.size() > first;
  end({});
  return true;
}

void StartedCall::end(Status status) {
  GRAPNEL_ASSERT(!is_over(), "{} ends twice", to_string(start_.call));
  GRAPNEL_ASSERT(!status.ok() || shown_.empty(), "{} ends, {} messages are shown", to_string(start_.call),
                 shown_.size());
  status_ = std::move(status);
  over_.store(true, std::memory_order_release);  // pairs with `is_over`
}

Status StartedCall::finish() {
  GRAPNEL_ASSERT(is_over(), "{} has not ended", to_string(start_.call));
  auto* const to = static_cast<std::byte*>(start_.destination);
  if (status_.ok()) {
    for (const ResultPart& part : start_.schedule.results) {
      copy_bytes(to + part.to, memory_.data() + part.at, part.bytes);
    }
  }
  memory_ = {};
  return status_;
}

Result<bool> StartedCall::test() {
  if (is_over()) {
    GRAPNEL_TRY(finish());
    return true;
  }
  return owner_.test(*this);
}

Status StartedCall::wait() { return is_over() ? finish() : owner_.wait(*this); }

// ---- steps ----

Result<bool> StartedCall::run(const Step& step, core::Core& core) {
  GRAPNEL_ASSERT(step.at + step.bytes <= memory_.size() && step.from + step.bytes <= memory_.size(),
                 "step at {} from {}, {} bytes of {}", step.at, step.from, step.bytes, memory_.size());
  if (step.kind == Step::Kind::send) return send(step, core);
  if (writes_to_shown(step)) {
    look_for_answers(core.letters);
    if (writes_to_shown(step)) return false;
  }
  if (step.kind == Step::Kind::receive) return receive(step, core);
  std::byte* const to = memory_.data() + step.at;
  const std::byte* const from = memory_.data() + step.from;
  if (step.kind == Step::Kind::join) {
    start_.reduction.join(to, from, count_of(step.bytes));
  } else {
    copy_bytes(to, from, step.bytes);
  }
  return true;
}

bool StartedCall::shows(const Step& step, const exchange::Letters& letters) const {
  return memory_.is_shown() && owner_.is_long(step.bytes) && letters.is_local(rank_of(step.peer));
}

Result<bool> StartedCall::send(const Step& step, core::Core& core) {
  const bool shown = shows(step, core.letters);
  if (!outgoing_) {
    base::Encoder letter;
    Call call = start_.call;
    call.announces = shown ? 1 : 0;
    letter.put(call).put(std::uint64_t{step.total});
    const std::byte* const content = memory_.data() + step.at;
    if (shown) {
      letter.put(reinterpret_cast<std::uint64_t>(content));
    } else {
      letter.put_bytes({content, step.bytes});
    }
    outgoing_.emplace(exchange::OutgoingMessage{
        rank_of(step.peer), {start_.group, kCollectiveSequences | start_.sequence, step.name}, letter.take()});
  }
  GRAPNEL_ASSIGN_OR_RETURN(const bool left, let_leave(core.letters));
  if (left && shown) {
    shown_.push_back({step.peer, step.at, step.bytes, step.name});
    note_unanswered();
  }
  return left;
}

Result<bool> StartedCall::let_leave(exchange::Letters& letters) {
  GRAPNEL_ASSIGN_OR_RETURN(const bool left, letters.try_send(*outgoing_));
  if (!left) return false;
  if (!letters.is_local(outgoing_->to)) start_.messages->add(outgoing_->letters);
  outgoing_.reset();
  return true;
}

Result<bool> StartedCall::receive(const Step& step, core::Core& core) {
  if (!outgoing_) {  // else the answer to what was copied has not left
    const Rank from = rank_of(step.peer);
    const std::uint64_t sequence = kCollectiveSequences | start_.sequence;
    const auto letter = core.letters.try_receive(from, {start_.group, sequence, step.name});
    if (!letter) {
      // A member that called something else may send what no step of this call receives.
      core.letters.visit_kept(start_.group, sequence, [&](Rank other, ByteView content) {
        if (content.size() >= sizeof(Call)) check(core.launch, other, content);
      });
      return false;
    }
    take(step, *letter, core);
    if (!base::Decoder(*letter).get<Call>()->announces) return true;
    outgoing_.emplace(exchange::OutgoingMessage{from, {start_.group, sequence | kTakenLetters, step.name}, {}});
  }
  return let_leave(core.letters);
}

void StartedCall::take(const Step& step, ByteView letter, core::Core& core) {
  const Rank from = rank_of(step.peer);
  check(core.launch, from, letter);
  base::Decoder in(letter);
  const bool shown = in.get<Call>()->announces != 0;
  const auto total = in.get<std::uint64_t>();
  const auto address = shown ? in.get<std::uint64_t>() : std::nullopt;
  if (total.value_or(0) != step.total || in.rest().size() != (shown ? 0 : step.bytes)) {
    abort_of_lengths(core.launch, start_.call, from, total.value_or(0), core.launch.rank(), step.total);
  }
  const std::byte* const content = shown ? reinterpret_cast<const std::byte*>(address.value_or(0)) : in.rest().data();
  if (shown && (!core.letters.is_local(from) || !core.segments.contains(content, step.bytes))) {
    abort_of_calls(core.launch, start_.call, from, std::nullopt);
  }
  copy_bytes(memory_.data() + step.at, content, step.bytes);
}

// ---- what is shown ----

bool StartedCall::writes_to_shown(const Step& step) const {
  return std::any_of(shown_.begin(), shown_.end(),
                     [&](const Shown& one) { return step.at < one.at + one.bytes && one.at < step.at + step.bytes; });
}

void StartedCall::look_for_answers(exchange::Letters& letters) {
  if (shown_.empty()) return;
  const std::uint64_t sequence = kCollectiveSequences | kTakenLetters | start_.sequence;
  std::erase_if(shown_, [&](const Shown& one) {
    return letters.try_receive(rank_of(one.peer), {start_.group, sequence, one.name}).has_value();
  });
  note_unanswered();
}

void StartedCall::check(launch::Launch& launch, Rank from, ByteView letter) const {
  auto theirs = base::Decoder(letter).get<Call>();
  if (theirs) theirs->announces = 0;
  if (!theirs || *theirs != start_.call) abort_of_calls(launch, start_.call, from, theirs);
}

// ---- what it waits for ----

std::optional<Rank> StartedCall::awaited() const {
  const std::size_t at = position(), unanswered = unanswered_.load(std::memory_order_relaxed);
  if (at < start_.schedule.steps.size()) return rank_of(start_.schedule.steps[at].peer);
  return unanswered != 0 ? std::optional(rank_of(unanswered - 1)) : std::nullopt;
}

bool StartedCall::receives() const {
  const std::size_t at = position();
  return at < start_.schedule.steps.size() ? start_.schedule.steps[at].kind == Step::Kind::receive : is_unanswered();
}

progress::WaitSubject StartedCall::subject() const {
  return {receives() ? progress::WaitKind::message : progress::WaitKind::inbox,
          name_of(start_.call.kind),
          {index(awaited().value_or(Rank{0}))}};
}

}  // namespace grapnel::collective
