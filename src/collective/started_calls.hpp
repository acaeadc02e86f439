// The collectives that this rank has started and that are not over.
//
// Each is advanced by this rank alone: when it starts, in `test` and `wait` of any of them, and in every other wait of
// the rank (progress/background.hpp). So a rank that waits for something else, a lock that another member holds, say,
// keeps no member waiting that waits for it. Calls are independent: one that cannot go on does not hold up the others.
//
// A call that is over in all its steps here may have members that have not called it yet: a root that only sends. After
// kMostInOneDirection of those in a row a call ends with a meeting of all members, and `start` waits while kMost calls
// are under way, so no member sends without end to one that takes nothing.
//
// Threads: `start` as other collective calls, one at a time; the others any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "collective/started_call.hpp"
#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "progress/background.hpp"

namespace grapnel::collective {

class StartedCalls final : public progress::Background {
 public:
  /// Under way in a rank: the next `start` waits until there are fewer. With the pieces of their messages they stay
  /// below what letters keep of a sender (Letters::kMostKept).
  static constexpr std::size_t kMost = 128;

  StartedCalls(core::Core& core, std::uint64_t long_bytes);
  /// Those that are not over answer `unavailable`.
  ~StartedCalls() { stop(); }

  /// Whether a message of that length to a rank of the node is shown. The same in all ranks.
  bool is_long(std::size_t bytes) const { return bytes >= long_bytes_; }

  /// Takes the source and sends what leaves at once. Errors: peer_dead.
  Result<std::shared_ptr<StartedCall>> start(CallStart start);
  /// Whether it is over; then its result is written. Errors: peer_dead.
  Result<bool> test(StartedCall& call);
  /// Errors: peer_dead.
  Status wait(StartedCall& call);
  /// Waits until all are over. Errors: peer_dead.
  Status complete();
  /// They end here; no message leaves any more. What is on its way stays where it is until the destructor.
  void stop();

  bool advance() override;

 private:
  Status wait_until_over(StartedCall& call);
  /// The oldest call, where at least so many are under way; else null.
  std::shared_ptr<StartedCall> oldest_of(std::size_t least);

  CallMemory memory_for(const CallStart& start);

  core::Core& core_;
  const std::uint64_t long_bytes_;
  const std::shared_ptr<ShownMemory> shown_;
  base::Mutex mutex_;
  std::vector<std::shared_ptr<StartedCall>> calls_ GRAPNEL_GUARDED_BY(mutex_);  ///< in the order of their starts
  /// Whose memory is shown; over and not waited for, or in `calls_`.
  std::vector<std::weak_ptr<StartedCall>> showing_ GRAPNEL_GUARDED_BY(mutex_);
};

}  // namespace grapnel::collective
