// A server's way to the servers of other nodes: what it sends by itself, such as the grant of a lock.
//
// A handler posts; the server's loop sends, because a handler runs inside the worker's progress, where nothing may be
// connected. Endpoints are made at the first message. Each pair of servers has credits of its own, apart from those of
// the clients: kCredits messages may be unacknowledged; what is beyond waits here, in order.
//
// Invariants:
//  1. Messages to one node arrive in the order posted.
//  2. No handler waits: a post returns at once, and a message that waits for credits needs nothing but the other
//     server, which acknowledges in its own loop, whatever its clients do. So no cycle of waiting contains a link.
//  3. Unacknowledged messages per pair ≤ kCredits; acknowledgements take no credit, and one is sent per kCredits/2
//     messages, so of those two at most are under way.
//
//  4. A message is sent only on a connection that the other server has accepted; one that does not accept in time ends
//     the job.
//
// The watch (server_watch.cpp): the nodes are a ring, and each server sends a heartbeat to the next and to the previous
// one, once in a period, and expects theirs. A neighbour that is silent for kMissed beats is lost: the server that
// notices sends that around the ring, and every server ends the job with the same sentence. Any message of a neighbour
// counts as a beat. Time is counted in beats of this process, so that a stop of the whole job suspends it.
//
// Threads: the server's, except `tick`, `leave` and `heartbeats`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "progress/handlers.hpp"
#include "progress/internal/heartbeat.hpp"
#include "progress/message.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

/// What one must know to talk to a server; published by the node's leader.
struct ServerDescription {
  Bytes worker_address;
  std::uint64_t window_bytes = 0;
  std::string settings;  ///< base::Config::alike

  Bytes encode() const;
  static Result<ServerDescription> decode(ByteView bytes);
};

class ServerLinks {
 public:
  static constexpr std::uint32_t kCredits = 256;
  /// The launch layer names the dead rank in half of it; and a server ends only when all are about to be stopped.
  static constexpr std::uint64_t kGrace_ns = 6 * base::kSecond_ns;
  /// Beats without a sign of a neighbour after which it is lost: not so few that a server which gets no processor for
  /// some seconds is taken for dead, not so many that all is not over within ten periods.
  static constexpr std::uint32_t kMissed = 6;

  explicit ServerLinks(launch::Launch& launch);

  void use(transport::Worker& worker, os::Host& host) {
    worker_ = &worker;
    host_ = &host;
  }
  void know(std::vector<ServerDescription> servers);
  void add_to(HandlerTable& handlers);

  /// Before the server starts. `beat_ns`: the period of heartbeats, 0: none. `connect_ns`: how long a connection may
  /// wait to be accepted, 0: for ever.
  void watch(std::uint64_t beat_ns, std::uint64_t connect_ns);
  /// How often `tick` is to be called; 0: never.
  std::uint64_t tick_ns() const { return tick_ns_; }
  /// One period is over: `move` will look at the neighbours. Any thread.
  void tick();
  /// The job is about to end in order: a server that is silent from now on is not lost. Any thread.
  void leave() { leaving_.store(true, std::memory_order_relaxed); }
  /// Heartbeats sent. Any thread.
  std::uint64_t heartbeats() const { return heartbeats_.load(std::memory_order_relaxed); }
  /// Requests sent: neither heartbeats nor credits. Any thread.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

  /// Queues a one-way request; it leaves when the loop calls `move` and credits allow. Both views are copied.
  void post(NodeId node, HandlerId handler, ByteView body, ByteView payload);

  /// Sends what may leave; true when anything left.
  bool move();

  /// What sending one message takes, ns, smoothed; 0: none was sent.
  std::uint32_t message_cost_ns() const { return message_cost_ns_; }

  /// A message of that node's server has been executed here.
  void count_handled(NodeId from);

  /// A connection broke. What was on its way is lost and a rank waits for it, so where this server is not stopped
  /// within kGrace_ns, or half as much more where the other server should have done it, `move` ends the job.
  void lost(transport::EndpointId endpoint, const Status& why);

 private:
  struct Letter {
    Bytes header;  ///< and body
    Bytes payload;
  };
  struct Link {
    ServerDescription server;
    transport::EndpointId endpoint{};
    bool has_endpoint = false;
    bool open = false;  ///< the other server has accepted the connection, or it has failed
    bool failed = false;
    std::deque<Letter> waiting;                   ///< oldest first
    std::uint32_t sent = 0, acknowledged = 0;     ///< monotone, compared by difference
    std::uint32_t handled = 0, handled_told = 0;  ///< of theirs
    bool counts_due = false;
    std::uint64_t connecting_ns = 0;  ///< in ticks; the endpoint is there, but not open
    std::uint32_t beats = 0;          ///< of theirs
    std::uint32_t heard = 0;          ///< all of theirs, at the last tick
    std::uint32_t silent = 0;         ///< ticks since
    bool patient = false;             ///< a debugger has that server
  };

  Letter compose(HandlerId handler, ByteView body, ByteView payload) const;
  void lost(std::size_t node, const Status& why);
  bool open(Link& link);
  bool move(Link& link);
  void send(Link& link, Letter letter);

  // The watch: server_watch.cpp
  void attend();
  void look_at_connections();
  void look_at_neighbours();
  void beat(Link& link, const HeartbeatBody& body);
  std::uint32_t silent_limit(const Link& link) const;
  Outcome take_heartbeat(Request& request);
  void lose_host(NodeId lost);
  void pass_on(NodeId lost);
  void end_job_after(std::uint64_t delay_ns, std::string why);
  NodeId next() const;
  NodeId previous() const;

  launch::Launch& launch_;
  transport::Worker* worker_ = nullptr;
  os::Host* host_ = nullptr;
  std::uint32_t message_cost_ns_ = 0;
  std::vector<Link> links_;  ///< by node
  std::size_t waiting_ = 0;  ///< messages in all links
  bool counts_due_ = false;
  struct Loss {
    std::uint64_t end_job_ns;
    std::string why;
  };
  std::optional<Loss> loss_;  ///< the first to end the job
  std::uint64_t beat_ns_ = 0, connect_ns_ = 0, tick_ns_ = 0;
  bool passed_on_ = false;  ///< that a host is lost
  std::atomic<bool> ticked_{false}, leaving_{false};
  std::atomic<bool> attention_{false};  ///< a tick or a loss is to be looked at
  std::atomic<std::uint64_t> heartbeats_{0}, messages_{0};
};

}  // namespace grapnel::progress
