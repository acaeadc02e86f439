// A collective that was started and is waited for later.
//
//   grapnel::PendingCollective sum = g.start_allreduce(plus, mine, total, 100).value();
//   compute();                                       // `mine` may be written again; `total` is not the result yet
//   grapnel::Status done = sum.wait();               // now it is
//
// Completion: `wait`, or a `test` that answers true, writes the result to the caller's memory; it must live until then.
//   Nothing else touches that memory. Afterwards the handle is empty.
// Order: all members of a group start its collectives in the same order; each may wait for them in any.
// Progress: a started call is advanced by its own rank alone: in the start, in `test` and `wait`, and in each wait of
//   this library (a lock, a barrier, a get). A rank that computes for long delays the others as long.
// End: the destructor, and an assignment, let go of a call that was not waited for: the rank's part in it is done all
//   the same, by `Runtime::finish` at the latest, and its result is dropped.
// Bounds: 128 calls of a rank are under way at most; a start beyond that waits for the oldest one.
// Errors: peer_dead; unavailable: the runtime ended first.
// Threads: a handle, one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "grapnel/export.hpp"
#include "grapnel/status.hpp"

namespace grapnel {

namespace collective {
class StartedCall;
}

class GRAPNEL_API PendingCollective {
 public:
  /// Of no call: `wait` returns at once, `test` answers true.
  PendingCollective() = default;
  PendingCollective(PendingCollective&&) noexcept = default;
  PendingCollective& operator=(PendingCollective&&) noexcept = default;
  PendingCollective(const PendingCollective&) = delete;
  PendingCollective& operator=(const PendingCollective&) = delete;
  ~PendingCollective() = default;

  /// Whether there is a call that was not waited for.
  bool pending() const { return call_ != nullptr; }
  /// True: as after `wait`. Never sleeps. After an error the handle is empty.
  Result<bool> test();
  /// The result is there, or an error; the handle is empty.
  Status wait();

  /// For the library's own layers: of a call that they have started. A program has no use for it.
  explicit PendingCollective(std::shared_ptr<collective::StartedCall> call) : call_(std::move(call)) {}

 private:
  std::shared_ptr<collective::StartedCall> call_;
};

}  // namespace grapnel
