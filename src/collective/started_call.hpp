// One collective that was started: its schedule, its memory, and how far it has come.
//
//   start ─▶ copy the source, apply the reduction's `prepare` ─▶ advance: step after step, as messages come and there
//   is room for them; from any wait of the rank ─▶ over ─▶ test, wait: write the result
//
// Invariants:
//  1. A step begins when the one before it is done; a send is done when its message has left.
//  2. Until it is over nothing but its own memory is touched; the caller's is written by `finish` alone.
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
  /// Copies the source.
  StartedCall(StartedCalls& owner, CallStart start);

  /// As many steps as go without waiting: whether there were any.
  bool advance(launch::Launch& launch, exchange::Letters& letters);
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
  progress::WaitSubject subject() const;

 private:
  Result<bool> run(const Step& step, launch::Launch& launch, exchange::Letters& letters);
  Result<bool> send(const Step& step, exchange::Letters& letters);
  bool receive(const Step& step, launch::Launch& launch, exchange::Letters& letters);
  void check(launch::Launch& launch, Rank from, ByteView letter) const;
  std::size_t count_of(std::size_t bytes) const { return bytes / start_.reduction.element_bytes; }

  StartedCalls& owner_;
  CallStart start_;
  Bytes memory_;
  std::atomic<std::size_t> next_{0};  ///< relaxed: written in `advance`; others see that it has changed
  std::optional<exchange::OutgoingMessage> outgoing_;  ///< of the step that it is in
  Status status_;                                      ///< once it is over
  std::atomic<bool> over_{false};
};

}  // namespace grapnel::collective
