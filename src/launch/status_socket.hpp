// The socket by which a process of this machine asks a rank what it does, and what else the watcher thread does for
// reports: a look now and then, and a report that a signal handler asked for.
//
// The name is grapnel-status-JOB-RANK-PROCESS-RANDOM in the abstract namespace, so that the ranks of a job are found by
// /proc/net/unix and another user cannot take the name before. Only processes of the same user and of root are
// answered. One request is one packet, one answer some packets and the end of the connection.
//
// Threads: `serve`, `look` and `sleep_ms`: the watcher; `use` and `ask_for_report`: any, the latter also in a signal
// handler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"
#include "os/stream.hpp"

namespace grapnel::launch {

inline constexpr const char* kStatusPrefix = "grapnel-status-";
inline constexpr std::byte kAsk{'s'};
/// A request of a report that covers every wait that has begun by now. The number of the rank that reports follows.
inline constexpr std::byte kAskAndCover{'w'};

/// Names a job in its sockets' names; reveals nothing of the secret that matters to another user.
std::uint64_t status_tag(std::uint64_t job_secret);

/// What the layers above do. All of it runs in the watcher thread.
struct StatusHooks {
  /// kMostStatusBytes at most. `reporter`: the rank whose report covers this one's waits.
  std::function<Bytes(std::optional<std::uint32_t> reporter)> answer;
  std::function<int()> look;     ///< answers in how many ms the next look is due
  std::function<void()> report;  ///< after `ask_for_report`
};

inline constexpr std::size_t kMostStatusBytes = 40'000;  ///< that a socket takes before anybody reads

class StatusSocket {
 public:
  /// Errors: those of a listener.
  static Result<std::unique_ptr<StatusSocket>> open(std::uint64_t job_secret, Rank rank);

  /// From now on. Empty: no more, once it returns.
  void use(StatusHooks hooks);
  /// Async-signal-safe.
  void ask_for_report() const;

  int listener() const { return listener_.number(); }
  int wake() const { return wake_.number(); }
  /// For poll(2): until the next look is due; -1: there is none.
  int sleep_ms() const;

  /// Replies to some of the requests that wait; `listener` stays readable while there are more.
  void serve();
  /// Reports if it was asked to, and looks if that is due.
  void look();

 private:
  StatusSocket(os::Listener listener, os::Descriptor wake);

  os::Listener listener_;
  os::Descriptor wake_;
  mutable std::atomic<bool> report_asked_{false};
  std::atomic<std::uint64_t> look_at_ns_{0};  ///< of the monotonic clock; 0: never
  std::recursive_mutex mutex_;                ///< held while a hook runs; a hook that reports replies to requests, too
  StatusHooks hooks_;
};

}  // namespace grapnel::launch
