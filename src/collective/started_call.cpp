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

StartedCall::StartedCall(StartedCalls& owner, CallStart start)
    : owner_(owner), start_(std::move(start)), memory_(start_.schedule.memory_bytes) {
  const Schedule& schedule = start_.schedule;
  std::byte* const source = memory_.data() + schedule.source_at;
  copy_bytes(source, static_cast<const std::byte*>(start_.source), schedule.source_bytes);
  const Reduction& reduction = start_.reduction;
  if (reduction.prepare != nullptr) reduction.prepare(source, count_of(schedule.source_bytes));
}

bool StartedCall::advance(launch::Launch& launch, exchange::Letters& letters) {
  const std::vector<Step>& steps = start_.schedule.steps;
  const std::size_t first = position();
  for (std::size_t at = first; at < steps.size(); ++at) {
    const auto done = run(steps[at], launch, letters);
    if (!done) {
      end(done.status());
      return true;
    }
    if (!*done) return at > first;
    next_.store(at + 1, std::memory_order_relaxed);
  }
  end({});
  return true;
}

void StartedCall::end(Status status) {
  GRAPNEL_ASSERT(!is_over(), "{} ends twice", to_string(start_.call));
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

Result<bool> StartedCall::run(const Step& step, launch::Launch& launch, exchange::Letters& letters) {
  GRAPNEL_ASSERT(step.at + step.bytes <= memory_.size() && step.from + step.bytes <= memory_.size(),
                 "step at {} from {}, {} bytes of {}", step.at, step.from, step.bytes, memory_.size());
  switch (step.kind) {
    case Step::Kind::send: return send(step, letters);
    case Step::Kind::receive: return receive(step, launch, letters);
    case Step::Kind::join:
      start_.reduction.join(memory_.data() + step.at, memory_.data() + step.from, count_of(step.bytes));
      return true;
    case Step::Kind::copy: copy_bytes(memory_.data() + step.at, memory_.data() + step.from, step.bytes); return true;
  }
  return true;
}

Result<bool> StartedCall::send(const Step& step, exchange::Letters& letters) {
  if (!outgoing_) {
    base::Encoder letter;
    letter.put(start_.call).put(std::uint64_t{step.total}).put_bytes(ByteView(memory_).subspan(step.at, step.bytes));
    outgoing_.emplace(exchange::OutgoingMessage{
        rank_of(step.peer), {start_.group, kCollectiveSequences | start_.sequence, step.name}, letter.take()});
  }
  GRAPNEL_ASSIGN_OR_RETURN(const bool sent, letters.try_send(*outgoing_));
  if (!sent) return false;
  if (!letters.is_local(outgoing_->to)) start_.messages->add(outgoing_->letters);
  outgoing_.reset();
  return true;
}

bool StartedCall::receive(const Step& step, launch::Launch& launch, exchange::Letters& letters) {
  const Rank from = rank_of(step.peer);
  const std::uint64_t sequence = kCollectiveSequences | start_.sequence;
  const auto letter = letters.try_receive(from, {start_.group, sequence, step.name});
  if (!letter) {
    // A member that called something else may send what no step of this call receives.
    letters.visit_kept(start_.group, sequence, [&](Rank other, ByteView content) {
      if (content.size() >= sizeof(Call)) check(launch, other, content);
    });
    return false;
  }
  check(launch, from, *letter);
  base::Decoder in(ByteView(*letter).subspan(sizeof(Call)));
  const auto total = in.get<std::uint64_t>();
  if (total.value_or(0) != step.total || in.rest().size() != step.bytes) {
    abort_of_lengths(launch, start_.call, from, total.value_or(0), launch.rank(), step.total);
  }
  copy_bytes(memory_.data() + step.at, in.rest().data(), step.bytes);
  return true;
}

void StartedCall::check(launch::Launch& launch, Rank from, ByteView letter) const {
  const auto theirs = base::Decoder(letter).get<Call>();
  if (!theirs || *theirs != start_.call) abort_of_calls(launch, start_.call, from, theirs);
}

// ---- what it waits for ----

std::optional<Rank> StartedCall::awaited() const {
  const std::size_t at = position();
  if (at >= start_.schedule.steps.size()) return std::nullopt;
  return rank_of(start_.schedule.steps[at].peer);
}

bool StartedCall::receives() const {
  const std::size_t at = position();
  return at < start_.schedule.steps.size() && start_.schedule.steps[at].kind == Step::Kind::receive;
}

progress::WaitSubject StartedCall::subject() const {
  return {receives() ? progress::WaitKind::message : progress::WaitKind::inbox,
          name_of(start_.call.kind),
          {index(awaited().value_or(Rank{0}))}};
}

}  // namespace grapnel::collective
