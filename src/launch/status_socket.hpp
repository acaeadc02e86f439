// The socket by which a process of this machine asks a rank what it does, and what else the watcher thread does for
// reports: a look now and then, and a report that a signal handler asked for.
//
// The name is grapnel-status-JOB-PROCESS-RANDOM in the abstract namespace, so that the ranks of a job are found by
// /proc/net/unix and another user cannot take the name before. Only processes of the same user and of root are
// answered. One request is one byte, one answer some packets and the end of the connection.
//
// Threads: `serve` and `look`: the watcher; `use` and `ask_for_report`: any, the latter also in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"
#include "os/stream.hpp"

namespace grapnel::launch {

inline constexpr const char* kStatusPrefix = "grapnel-status-";
/// A request of a report that covers every wait that has begun by now.
inline constexpr std::byte kAskAndCover{'w'};
inline constexpr std::byte kAsk{'s'};

/// Names a job in its sockets' names; tells nothing of the secret that matters to another user.
std::uint64_t status_tag(std::uint64_t job_secret);

/// What the layers above do. All of it runs in the watcher thread.
struct StatusHooks {
  std::function<Bytes(bool cover)> answer;  ///< kMostStatusBytes at most
  std::function<void()> look;               ///< each `look_every_ms`; none: −1
  int look_every_ms = -1;
  std::function<void()> report;  ///< after `ask_for_report`
};

inline constexpr std::size_t kMostStatusBytes = 40'000;  ///< that a socket takes before anybody reads

class StatusSocket {
 public:
  /// Errors: those of a listener.
  static Result<std::unique_ptr<StatusSocket>> open(std::uint64_t job_secret);

  /// From now on. Empty: no more, once it returns.
  void use(StatusHooks hooks);
  /// Async-signal-safe.
  void ask_for_report() const;

  int listener() const { return listener_.number(); }
  int wake() const { return wake_.number(); }
  int look_every_ms() const { return look_every_ms_.load(std::memory_order_relaxed); }

  /// Answers who waits for an answer.
  void serve();
  /// After `wake` was readable, or the time was over.
  void look(bool woken);

 private:
  StatusSocket(os::Listener listener, os::Descriptor wake);

  os::Listener listener_;
  os::Descriptor wake_;
  mutable std::atomic<bool> report_asked_{false};
  std::atomic<int> look_every_ms_{-1};
  std::recursive_mutex mutex_;  ///< held while a hook runs; one that reports answers others meanwhile
  StatusHooks hooks_;
};

}  // namespace grapnel::launch
