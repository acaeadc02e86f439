// What servers send each other to notice a lost host: the messages, the sentences, and the thread that gives the beat.
// The watch itself is part of the links (server_links.hpp, server_watch.cpp).
//
// Threads: Metronome has one of its own; the rest is free of state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::progress {

struct HeartbeatBody {
  enum Kind : std::uint32_t {
    alive = 1,
    traced = 2,  ///< alive, and a debugger has the process: it may be silent from now on
    lost = 3,    ///< `node` is lost, and the job ends
  };
  std::uint32_t kind = 0;
  std::uint32_t node = 0;   ///< of `lost`; else the sender's
  std::uint64_t proof = 0;  ///< depends on all of the above and on the secret: random bytes must not end a job
};
HeartbeatBody make_heartbeat(HeartbeatBody::Kind kind, NodeId node, std::uint64_t secret);
/// Whether such a message can have been sent by a server of this job.
bool is_sound(const HeartbeatBody& body, std::size_t nodes, std::uint64_t secret);

/// "host h1 (node 1, ranks 2 to 3)"
std::string describe_host(const launch::NodeMap& nodes, NodeId node);
/// Why the job ends where the server of `node` has been silent for so long.
std::string describe_lost(const launch::NodeMap& nodes, NodeId node, std::uint64_t silent_ns, std::uint64_t beat_ns);
/// The error of a connection that `origin` ("rank 3") made to the server of `node`, and that was not accepted in time.
std::string describe_unanswered(const launch::Launch& launch, const std::string& origin, NodeId node,
                                std::uint64_t limit_ns);

/// Calls `beat` once in a period, from a thread of its own, until it is destroyed. A process that was stopped
/// gets one beat for the whole stop, so that a count of beats measures the time in which the process could run.
class Metronome {
 public:
  static Result<std::unique_ptr<Metronome>> start(os::Host& host, const std::vector<int>& cpus, std::uint64_t period_ns,
                                                  std::function<void()> beat);
  ~Metronome();
  Metronome(const Metronome&) = delete;
  Metronome& operator=(const Metronome&) = delete;

 private:
  Metronome(os::Host& host, std::uint64_t period_ns, std::function<void()> beat)
      : host_(host), period_ns_(period_ns), beat_(std::move(beat)) {}
  void run();

  os::Host& host_;
  const std::uint64_t period_ns_;
  const std::function<void()> beat_;
  os::Word stopping_{0};
  std::unique_ptr<os::Thread> thread_;
};

}  // namespace grapnel::progress
