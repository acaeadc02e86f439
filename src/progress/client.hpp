// A rank's way to the servers of other nodes: one worker, one endpoint per node, windows, counts and replies.
//
// Invariants:
//  1. `issued` counts the requests sent to a node, `handled` those that its server has reported as applied; handled ≤
//     issued.
//  2. The charges of requests that are not handled stay within the server's window.
//  3. Endpoints ≤ nodes, so a job has ranks × nodes of them and not ranks².
//  4. What must leave has left when `drain` returns: no thread moves this rank's messages while it computes.
//  5. After a failure nothing is written to the callers' memory any more: while a bulk payload lands there, the worker
//     is not progressed again.
//
// Threads: any thread, one at a time: every call needs a `Guard`. A thread that waits lets others in between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "base/config.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/internal/doorbell.hpp"
#include "progress/message.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "progress/write_counts.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

/// What a server answered; the views end when the callback returns.
struct Reply {
  ReplyCode code;
  NodeId node;
  ByteView body;
  ByteView payload;

  template <typename T>
  T body_as() const {
    T value{};
    std::memcpy(&value, body.data(), std::min(sizeof value, body.size()));
    return value;
  }
};

/// Called once, inside some call's progress.
struct OnReply {
  void (*notify)(void* context, const Reply& reply) = nullptr;
  void* context = nullptr;
  ByteSpan place{};  ///< where a bulk payload of the reply goes; none: it brings none
};

/// One request on its way out.
struct OutgoingRequest {
  HandlerId handler = 0;
  ByteView body;
  ByteView payload;             ///< untouched until `sent`, or until the call returned with Sent::done
  std::size_t reply_bytes = 0;  ///< payload of the reply at most; takes window too
  bool whole = false;           ///< the payload is no bulk, however long: `most_whole_bytes` at most
  bool write = false;           ///< every fence and barrier after it completes it
  OnReply on_reply;             ///< none: no reply, where the handler has none; else its acknowledgement
  transport::Completion sent;
};

class Client final : public transport::MessageSink {
 public:
  static Result<std::unique_ptr<Client>> create(launch::Launch& launch, Waiting& waiting,
                                                transport::Transport& transport,
                                                std::vector<ServerDescription> servers);

  /// Keeps other threads of this rank out; wakes one that sleeps in a wait.
  class Guard {
   public:
    explicit Guard(Client& client);
    ~Guard() { client_.mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Client& client_;
  };

  /// The same for a caller that must not wait: where another thread has the client, this one has not got it.
  class TryGuard {
   public:
    explicit TryGuard(Client& client) : client_(client), has_(client.mutex_.try_lock()) {}
    ~TryGuard() {
      if (has_) client_.mutex_.unlock();
    }
    TryGuard(const TryGuard&) = delete;
    TryGuard& operator=(const TryGuard&) = delete;
    explicit operator bool() const { return has_; }

   private:
    Client& client_;
    const bool has_;
  };

  /// From now on a connection that its server has not accepted after this time ends the job; 0: never.
  void limit_connecting(std::uint64_t limit_ns) { connect_limit_ns_ = limit_ns; }

  /// Sends a request, after waiting until the node's window has room for it; the first one to a node waits for the
  /// connection. Errors: peer_dead, system.
  Result<transport::Sent> send(NodeId node, const OutgoingRequest& request);

  /// Whether `send` of a request with such a payload, and without data in the answer, would not wait: the connection is
  /// there, and the window has room.
  bool sends_at_once(NodeId node, std::size_t payload_bytes) const {
    const Peer& peer = peers_[index(node)];
    return peer.connected && peer.charged + charge_of(payload_bytes) - peer.released <= peer.server.window_bytes;
  }

  /// The longest payload of a request that is `whole`.
  std::size_t most_whole_bytes(NodeId node) const {
    return progress::most_whole_bytes(peers_[index(node)].server.window_bytes);
  }

  /// Returns when everything sent to the node, or to these nodes, has left this process. Errors: peer_dead.
  Status drain(NodeId node) { return drain({&node, 1}); }
  Status drain(std::span<const NodeId> nodes);
  /// The same without waiting: whether it has left.
  bool try_drain(NodeId node);

  /// Requests to the node so far, and how many of them its server has applied, as far as is known here.
  std::uint64_t issued(NodeId node) const { return peers_[index(node)].issued; }
  std::uint64_t handled(NodeId node) const { return peers_[index(node)].handled; }

  /// `issued` at the last write to the node, whichever layer sent it: what a fence and a barrier complete.
  std::uint64_t written(NodeId node) const { return peers_[index(node)].written; }
  /// Whether all requests up to that one are known to be applied.
  bool acknowledged(NodeId node, std::uint64_t until) const {
    const Peer& peer = peers_[index(node)];
    GRAPNEL_ASSERT(until <= peer.issued, "request {} of {} that were sent to node {}", until, peer.issued, index(node));
    return peer.handled >= until || peer.confirmed >= until;
  }
  bool acknowledged(NodeId node) const { return acknowledged(node, written(node)); }
  /// A barrier has shown that all requests up to that one are applied.
  void confirm(NodeId node, std::uint64_t until) {
    Peer& peer = peers_[index(node)];
    GRAPNEL_ASSERT(until <= peer.written, "confirms request {}; the last write was {}", until, peer.written);
    peer.confirmed = std::max(peer.confirmed, until);
  }

  /// While a barrier is under way the rank's writes are not counted (write_counts.hpp). Nests.
  void stop_counting() { ++not_counting_; }
  void resume_counting() {
    GRAPNEL_ASSERT(not_counting_ > 0, "{} barriers are under way", not_counting_);
    --not_counting_;
  }
  /// `issued` at the last write to the node that was not counted.
  std::uint64_t uncounted(NodeId node) const { return peers_[index(node)].uncounted; }
  const WriteCounts& write_counts() const { return write_counts_; }
  Doorbell& bell() { return bell_; }

  struct Answer {
    ReplyCode code{};
    std::int64_t value = 0;  ///< 0 where the reply carries none
  };
  /// A request whose answer is waited for. Errors: peer_dead, system.
  Result<Answer> ask(NodeId node, OutgoingRequest request);
  /// After work for this node's server was stored in node memory; for processes other than the server's.
  Status ring();

  /// Requests that the node refused and that were not reported yet; asking resets it.
  std::uint32_t take_refused(NodeId node);

  bool progress() {
    if (landings_ > 0 && !failure_.ok()) return false;
    return worker_->progress();
  }

  /// Makes progress until `ready()`. Errors: peer_dead; timed_out when `until_ns` (the host's clock) has passed.
  template <typename Ready, typename Describe = NoSubject>
  Status wait_until(Ready ready, std::uint64_t until_ns = Waiting::kForever, Describe describe = {}) {
    bool done = false;
    Status waited = waiting_.on_worker(
        Yielding{*this}, [&] { return (done = ready()) || !failure_.ok(); }, until_ns, describe);
    if (waited.code() == Code::timed_out) return waited;
    // Remembered, so that nothing that arrives late is written to memory whose owner knows of the failure.
    if (!waited.ok()) failure_ = waited;
    return done ? Status{} : failure_;
  }

  /// For a caller that tests instead of waiting: why there will be no answer any more. Errors: peer_dead.
  Status health() {
    if (failure_.ok()) failure_ = waiting_.health();
    return failure_;
  }

  /// By node: requests that its server has not acknowledged. For reports only: any thread, and a number may be the one
  /// of a moment ago, as it is read while another thread changes it.
  std::vector<std::uint64_t> outstanding() const;

  /// Messages sent so far.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }
  std::size_t endpoint_count() const { return worker_->endpoint_count(); }

  transport::Worker& worker() { return *worker_; }
  /// The node's endpoint, connected at first use. For native operations.
  Result<transport::EndpointId> endpoint(NodeId node);
  Waiting& waiting() { return waiting_; }

 private:
  struct Peer {
    ServerDescription server;
    transport::EndpointId endpoint{};
    bool has_endpoint = false;
    bool connected = false;  ///< and its server has accepted the connection
    bool flushing = false;
    std::uint64_t issued = 0, handled = 0, uncounted = 0;
    std::uint64_t written = 0, confirmed = 0;
    std::uint64_t charged = 0, released = 0;
    std::uint32_t refused = 0, refused_told = 0;
  };
  struct Slot {
    OnReply on_reply;
    std::uint32_t generation = 1;
    std::uint32_t next_free = 0;
  };
  // A reply whose bulk payload is landing.
  struct Landing {
    Client* client = nullptr;
    ReplyHeader header;
    OnReply on_reply;
  };
  // A worker as the wait policy sees it: before each step, other threads that want the client get it.
  struct Yielding {
    using AdvancesBackground = void;  ///< between the other threads: it may need the client itself
    Client& client;
    bool progress() const {
      client.let_others_in();
      return client.progress();
    }
    // A thread that arrived before this look is seen here; a later one has woken the worker.
    void sleep(std::uint64_t timeout_ns) const {
      if (client.others_.load() == 0) client.worker_->sleep(timeout_ns);
    }
  };

  Client(launch::Launch& launch, Waiting& waiting, std::vector<ServerDescription> servers);
  void lock();
  void let_others_in();
  void let_background_in();
  Status connect(NodeId node);
  static std::uint64_t look_at(const std::uint64_t& word);
  Status start_flush(Peer& peer);
  void on_message(const transport::Message& message) override;
  void on_bulk(const transport::BulkMessage& message) override;
  /// False where it is no reply of our servers.
  bool read(ByteView front, std::size_t payload_bytes, ReplyHeader& header) const;
  void reply_landed(Landing& landing, const Status& outcome);
  void on_endpoint_failure(transport::EndpointId endpoint, const Status& why) override;
  Status fail_over_send(const Peer& peer, const Status& why);
  void count_write(NodeId node, RequestHeader& header);
  void take_counts(Peer& peer, const ReplyHeader& header);
  std::uint64_t take_token(OnReply on_reply);
  OnReply give_token_back(std::uint64_t token);

  launch::Launch& launch_;
  Waiting& waiting_;
  WriteCounts write_counts_;
  Doorbell bell_;
  std::uint64_t connect_limit_ns_ = 0;
  std::uint32_t not_counting_ = 0;
  std::mutex mutex_;
  std::atomic<int> others_{0};   ///< threads that wait for `mutex_`
  std::vector<Peer> peers_;      ///< by node
  std::vector<Slot> slots_;      ///< by the low half of a token, less one
  std::uint32_t free_slot_ = 0;  ///< index + 1 of the first free slot; 0: none
  Status failure_;
  std::size_t landings_ = 0;                   ///< bulk payloads on their way to callers' memory
  std::unique_ptr<transport::Worker> worker_;  ///< ends first: its last completions still find what is above
  std::atomic<std::uint64_t> messages_{0};
};

}  // namespace grapnel::progress
