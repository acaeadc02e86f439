// Which ranks of this node still live, and the end of the job when one died.
//
// Every rank of a node holds one connection to the node's leader, the leader one to each of the others. A process's end
// closes its connections, however it ends: an end without a goodbye before it is a death. One watcher thread per rank
// sleeps on its connections and on a hint from the launcher's library, or on a hang-up of the launcher's socket; it
// costs nothing until something happens.
//
// After a death:
//   1. the watcher writes the dead rank into node memory, where `health` reads it (waiters look every 250 ms at most),
//      and lets the layers above say what it held (Launch::at_death);
//   2. the launcher has kGrace_ns to end the job with its own message (none where it names no rank: hydra);
//   3. a process that still lives after that ends the job itself; per node one does so with a message, the others
//      leave a little later without one.
// When the launcher itself is gone there is no process to wait for: one rank of rank 0's node prints it and all leave.
//
// Invariants:
//   1. `dead` is written once (compare-and-swap from 0) and never again.
//   2. The rank that turns `announced` from 0 to 1 is the one of the node that prints.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "grapnel/types.hpp"
#include "launch/status_socket.hpp"
#include "os/descriptor.hpp"
#include "os/host.hpp"
#include "os/stream.hpp"

namespace grapnel::launch {

/// The first words of node memory.
struct LivenessWords {
  std::atomic<std::uint32_t> dead;       ///< 0: all live; rank+1; or kLauncherGone
  std::atomic<std::uint32_t> announced;  ///< 1 once a rank of the node has printed why the job ends
};

inline constexpr std::uint32_t kLauncherGone = 0xffff'ffff;

inline constexpr std::uint64_t kGrace_ns = 2 * base::kSecond_ns;
/// How long those that do not speak wait for the one that does.
inline constexpr std::uint64_t kFollow_ns = base::kSecond_ns;
/// After the launcher's end: the kernel, or what is left of the launcher, may end us first; then ours is not needed.
inline constexpr std::uint64_t kLauncherGone_ns = 300 * base::kMillisecond_ns;

/// `dead` in words: "rank 3 died", "the launcher is gone". Empty for 0.
std::string describe_death(std::uint32_t dead);

class Liveness {
 public:
  struct Peer {
    Rank rank{};
    os::Connection connection;
    bool said_goodbye = false;
    bool has_news = false;  ///< the last look found something on the connection
  };
  /// What ends with the launcher, where there is such a descriptor: its socket, which hangs up, or its pidfd.
  struct LauncherSocket {
    int number = -1;
    std::function<bool()> given_away = {};  ///< another user of the socket may have closed it: a hang-up means nothing
    short events = POLLRDHUP;               ///< poll's of the launcher's end; POLLIN for a pidfd
    bool names_no_rank = false;             ///< kills the survivors without naming the dead rank: they speak first
  };
  /// Ends the whole job; `why` is empty where another rank prints it. Does not return.
  using EndJob = std::function<void(const std::string& why)>;

  /// Starts the watcher, which also serves `status` (outlives this). `with_rank_0`: rank 0 is of this node, so that
  /// this node ends the job when the launcher is gone.
  static Result<std::unique_ptr<Liveness>> start(os::Host& host, LivenessWords& words, std::vector<Peer> peers,
                                                 bool with_rank_0, EndJob end_job, LauncherSocket launcher,
                                                 StatusSocket* status = nullptr);
  /// Stops the watcher and closes the connections.
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// Launch::at_death. Any thread.
  void at_death(const std::function<void(Rank)>& tell);

  /// From now on this process's end is no death. Any thread.
  void say_goodbye();

  /// The launcher's library lost its server. Any thread, also a library's; only writes an eventfd.
  void launcher_is_gone();

 private:
  Liveness(os::Host& host, LivenessWords& words, std::vector<Peer> peers, bool with_rank_0, EndJob end_job,
           LauncherSocket launcher, StatusSocket* status);
  void watch();
  /// Sleeps until something is there; true when it is a reason to stop watching.
  bool sleep_until_news();
  void after_hang_up();
  /// Takes what came in on one connection; true when its rank has died.
  bool take_news(Peer& peer);
  void after_death(Rank rank);
  /// Ends the process.
  void speak_first(Rank rank);
  void after_launcher();
  /// True when the stop was asked for, or the launcher lost, within the time.
  bool interrupted_within(std::uint64_t timeout_ns);
  bool speaks();

  os::Host& host_;
  LivenessWords& words_;
  std::vector<Peer> peers_;
  const bool with_rank_0_;
  const EndJob end_job_;
  LauncherSocket launcher_;
  StatusSocket* const status_;  ///< may be null
  base::Mutex tell_mutex_;
  std::function<void(Rank)> tell_ GRAPNEL_GUARDED_BY(tell_mutex_);  ///< also while it runs
  os::Descriptor stop_;
  os::Descriptor launcher_gone_;
  std::unique_ptr<os::Thread> watcher_;
};

}  // namespace grapnel::launch
