// Signals: words in segment memory that grow behind their origin's writes, and that a rank sleeps on.
//
// The word (32 bits, aligned, zero at first):   bits 31…1: the count | bit 0: a thread sleeps on it
//
// `add` is one atomic addition, which shows the adder whether a thread sleeps: only then it makes a system call. On the
// node the caller adds itself. Elsewhere the target node's server does, by one message: it executes an origin's
// messages in the order sent, and native puts were flushed before. So all that the origin wrote to the target before,
// natively or by messages, is there once the count is seen.
//
// Counts are cumulative and compared by difference, so that wrap-around does no harm: two counts that are compared
// differ by less than 2^30.
//
// Invariants:
//  1. Bit 0 is set by a thread before it sleeps, while the count is what it saw; an adder that finds it set clears it
//     and wakes every sleeper.
//  2. Nothing but `add` changes a word in use; memory that a segment hands out is a word whose count is 0.
//
// Threads: any.
// Source: the posts and completions of MPI's active target synchronization; ARMCI's notify, with words of the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "progress/handlers.hpp"
#include "rma/rma.hpp"

namespace grapnel::sync {

extern const core::ServiceType kSignalService;

class Signals final : public core::Service {
 public:
  static constexpr std::uint32_t kMostAdded = (std::uint32_t{1} << 30) - 1;

  /// Collective. `handler`: the number of its message.
  Signals(core::Core& core, rma::Rma& rma, progress::HandlerId handler);

  /// Adds `amount` (1 to kMostAdded) to the count of a word of `target`'s segments, behind the caller's earlier writes
  /// to `target`, and wakes what sleeps on it. A write: fences and barriers complete it, and the next fence answers
  /// `refused` where the target's server found no segment at `word`. Between nodes it has left on return.
  /// Cost: an atomic addition; elsewhere one message. Errors: invalid_argument, peer_dead.
  Status add(void* word, std::uint32_t amount, Rank target);

  /// Waits until the count of a word of this node has reached `count` (of 31 bits), and sees what was written before
  /// the additions. Errors: invalid_argument, peer_dead.
  Status wait(void* word, std::uint32_t count);
  /// Whether it has reached `count`. Errors: those of `wait`.
  Result<bool> test(void* word, std::uint32_t count);
  /// The count of a word of this node, of 31 bits.
  static std::uint32_t count_of(const void* word);

  progress::HandlerId handler() const { return handler_; }
  void append_counts(std::vector<OperationCount>& rows) const override;

 private:
  progress::Outcome run(progress::Request& request);
  void increase(void* word, std::uint32_t amount);
  bool is_word(const void* word) const;
  Status check_mine(const void* word, const char* what) const;

  launch::Launch& launch_;
  segment::SegmentTable& segments_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  rma::Rma& rma_;
  const progress::HandlerId handler_;
  struct Counts {
    rma::Count shared, wire, messages;
  };
  Counts counts_;
};

}  // namespace grapnel::sync
