// One collective that was started: its schedule, its memory, and how far it has come.
//
//   start ─▶ copy the source, apply the reduction's `prepare` ─▶ advance: step after step, as messages come and there
//   is room for them; from any wait of the rank ─▶ over ─▶ test, wait: write the result
//
// A long message to a rank of the node is shown: the letter names where it lies in the sender's memory, the receiver
// copies it from there and answers. Where that memory could not be had, letters carry it.
//
// Invariants:
//  1. A step begins when the one before it is done; a send is done when its message has left, or is shown.
//  2. What is shown stays as it is until its receiver has answered: no step writes there before, and the call is not
//     over.
//  3. Until it is over nothing but its own memory is touched; the caller's is written by `finish` alone.
//
// Threads: `advance` one thread at a time (StartedCalls); `finish` by the thread that has the handle; the others any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/count.hpp"
#include "collective/call.hpp"
#include "collective/schedule.hpp"
#include "collective/shown_memory.hpp"
#include "core/core.hpp"
#include "exchange/letters.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/wait_record.hpp"

namespace grapnel::collective {

class StartedCalls;

/// What a call is started with.
struct CallStart {
  Call call;
  std::uint64_t group = 0;                   ///< key
  std::uint64_t sequence = 0;                ///< which of the group's calls
  const std::vector<Rank>* ranks = nullptr;  ///< the group's, by place; outlive the call
  Schedule schedule;
  Reduction reduction;  ///< of those that have one
  const void* source = nullptr;
  void* destination = nullptr;
  base::Count* messages = nullptr;  ///< counts those that went to other nodes
};

class StartedCall {
 public:
  /// Copies the source. `memory`: of the schedule's length.
  StartedCall(StartedCalls& owner, CallStart start, CallMemory memory);

  /// As many steps as go without waiting: whether there were any.
  bool advance(core::Core& core);
  /// The memory of a call that is over leaves the segments, which end.
  void leave_segment() { memory_.leave_segment(); }
  bool is_over() const { return over_.load(std::memory_order_acquire); }  // pairs with `end`
  /// Its last step; or an error, after which it does nothing more.
  void end(Status status);
  /// Once it is over: writes the result and gives the memory back. Errors: those that ended it.
  Status finish();

  /// The owner's `test` and `wait`; an owner that has ended is not asked.
  Result<bool> test();
  Status wait();

  const Schedule& schedule() const { return start_.schedule; }
  Rank rank_of(std::size_t place) const { return (*start_.ranks)[place]; }
  /// The step that it is in.
  std::size_t position() const { return next_.load(std::memory_order_relaxed); }
  /// The rank whose message, or whose room, it waits for.
  std::optional<Rank> awaited() const;
  bool receives() const;
  /// Whether a message that is shown was not answered yet.
  bool is_unanswered() const { return unanswered_.load(std::memory_order_relaxed) != 0; }
  progress::WaitSubject subject() const;

 private:
  /// A message that is shown.
  struct Shown {
    std::size_t peer = 0, at = 0, bytes = 0;
    std::uint32_t name = 0;
  };

  Result<bool> run(const Step& step, core::Core& core);
  Result<bool> send(const Step& step, core::Core& core);
  Result<bool> receive(const Step& step, core::Core& core);
  /// What a letter brings, where it is of this call; the job ends where it is of another.
  void take(const Step& step, ByteView letter, core::Core& core);
  Result<bool> let_leave(exchange::Letters& letters);
  bool shows(const Step& step, const exchange::Letters& letters) const;
  /// Whether the step writes to what is shown and not yet answered.
  bool writes_to_shown(const Step& step) const;
  void look_for_answers(exchange::Letters& letters);
  void note_unanswered() { unanswered_.store(shown_.empty() ? 0 : shown_.front().peer + 1, std::memory_order_relaxed); }
  void check(launch::Launch& launch, Rank from, ByteView letter) const;
  std::size_t count_of(std::size_t bytes) const { return bytes / start_.reduction.element_bytes; }

  StartedCalls& owner_;
  CallStart start_;
  CallMemory memory_;
  std::vector<Shown> shown_;                ///< not answered yet
  std::atomic<std::size_t> unanswered_{0};  ///< 1 + the receiver's place of one of those, or 0; relaxed, as `next_`
  std::atomic<std::size_t> next_{0};        ///< relaxed: written in `advance`; others see that it has changed
  std::optional<exchange::OutgoingMessage> outgoing_;  ///< of the step that it is in
  Status status_;                                      ///< once it is over
  std::atomic<bool> over_{false};
};

}  // namespace grapnel::collective
