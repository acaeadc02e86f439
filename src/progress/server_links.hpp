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
#include <vector>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/handlers.hpp"
#include "progress/message.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

/// What one must know to talk to a server; published by the node's leader.
struct ServerDescription {
  Bytes worker_address;
  std::uint64_t window_bytes = 0;

  Bytes encode() const;
  static Result<ServerDescription> decode(ByteView bytes);
};

class ServerLinks {
 public:
  static constexpr std::uint32_t kCredits = 256;

  explicit ServerLinks(launch::Launch& launch);

  void use(transport::Worker& worker) { worker_ = &worker; }
  void know(std::vector<ServerDescription> servers);
  void add_to(HandlerTable& handlers);

  /// Queues a one-way request; it leaves when the loop calls `move` and credits allow.
  void post(NodeId node, HandlerId handler, ByteView body);

  /// Sends what may leave; true when anything left.
  bool move();

  /// A message of that node's server has been executed here.
  void count_handled(NodeId from);

 private:
  struct Link {
    ServerDescription server;
    transport::EndpointId endpoint{};
    bool connected = false;
    bool failed = false;
    std::deque<Bytes> waiting;                    ///< whole headers, oldest first
    std::uint32_t sent = 0, acknowledged = 0;     ///< monotone, compared by difference
    std::uint32_t handled = 0, handled_told = 0;  ///< of theirs
    bool counts_due = false;
  };

  Bytes compose(HandlerId handler, ByteView body) const;
  bool move(Link& link);
  void send(Link& link, const Bytes& message);

  launch::Launch& launch_;
  transport::Worker* worker_ = nullptr;
  std::vector<Link> links_;  ///< by node
  std::size_t waiting_ = 0;  ///< messages in all links
  bool counts_due_ = false;
};

}  // namespace grapnel::progress
