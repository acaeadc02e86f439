// A server's way to the servers of other nodes: what it sends by itself, such as the grant of a lock.
//
// A handler posts; the server's loop sends, because a handler runs inside the worker's progress, where nothing may be
// connected. Endpoints are made at the first message. Each pair of servers has credits of its own, apart from those of
// the clients: kCredits messages may be unacknowledged; what is beyond waits here, in order.
//
// Invariants:
//  1. Messages to one node arrive in the order posted.
//  2. Nobody waits: a post returns at once, and a message that waits for credits needs nothing but the other server,
//     which acknowledges in its own loop, whatever its clients do. So no cycle of waiting goes through here.
//  3. Unacknowledged messages per pair ≤ kCredits; acknowledgements take no credit, and one is sent per kCredits/2
//     messages, so of those two at most are under way.
//
// Threads: the server's.
#pragma once

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
  /// The launch layer names who has died in half of it; and a server goes only when all are about to be stopped.
  static constexpr std::uint64_t kGrace_ns = 10 * base::kSecond_ns;

  explicit ServerLinks(launch::Launch& launch);

  void use(transport::Worker& worker, os::Host& host) {
    worker_ = &worker;
    host_ = &host;
  }
  void know(std::vector<ServerDescription> servers);
  void add_to(HandlerTable& handlers);

  /// Queues a one-way request; it leaves when the loop calls `move` and credits allow. Both views are copied.
  void post(NodeId node, HandlerId handler, ByteView body, ByteView payload);

  /// Sends what may leave; true when anything left.
  bool move();

  /// What sending one message takes, ns, smoothed; 0: none was sent.
  std::uint32_t message_cost_ns() const { return message_cost_ns_; }

  /// A message of that node's server has been executed here.
  void count_handled(NodeId from);

  /// A connection broke. What was on its way is lost and somebody waits for it, so where this server is not stopped
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
    bool connected = false;
    bool failed = false;
    std::deque<Letter> waiting;                   ///< oldest first
    std::uint32_t sent = 0, acknowledged = 0;     ///< monotone, compared by difference
    std::uint32_t handled = 0, handled_told = 0;  ///< of theirs
    bool counts_due = false;
  };

  Letter compose(HandlerId handler, ByteView body, ByteView payload) const;
  void lost(std::size_t node, const Status& why);
  bool move(Link& link);
  void send(Link& link, Letter letter);

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
  std::optional<Loss> loss_;  ///< of the first connection that broke
};

}  // namespace grapnel::progress
