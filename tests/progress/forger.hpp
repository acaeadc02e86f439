// A rank that knows the job's secret and sends what no correct rank sends: as a client, as its node's server, and on
// connections that are not its own.
//
// Threads: the rank's, outside of other calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "progress/message.hpp"

namespace grapnel::test {

class Forger {
 public:
  explicit Forger(Runtime& g) : parts_(g.implementation()) {}

  Runtime::Implementation& parts() { return parts_; }
  int me() const { return static_cast<int>(index(parts_.launch->rank())); }

  /// A counted request of this rank's client, right but for what it asks. It has left on return; `answered`, if any,
  /// states whether a reply came.
  void ask(NodeId node, progress::HandlerId handler, ByteView body, ByteView payload, bool* answered = nullptr,
           std::size_t reply_bytes = 0) {
    progress::OutgoingRequest request;
    request.handler = handler;
    request.body = body;
    request.payload = payload;
    request.reply_bytes = reply_bytes;
    if (answered != nullptr) {
      request.on_reply = {[](void* context, const progress::Reply&) { *static_cast<bool*>(context) = true; }, answered};
    }
    progress::Client::Guard guard(*parts_.client);
    if (parts_.client->send(node, request).ok()) static_cast<void>(parts_.client->drain(node));
  }
  void await(const bool& answered) {
    progress::Client::Guard guard(*parts_.client);
    static_cast<void>(parts_.client->wait_until([&] { return answered; }));
  }

  /// As this node's server, which this rank's process hosts, in that one's turn. False: it was awake all the time.
  bool tell(NodeId node, progress::HandlerId handler, ByteView body, ByteView payload = {}) {
    for (int attempts = 0; attempts < 2000; ++attempts) {
      if (progress::Server::Driver driver(*parts_.server); driver.has_turn()) {
        parts_.server->tell(node, handler, body, payload);
        driver.progress();
        return true;
      }
      parts_.host->relax();
      parts_.host->yield();
      if (attempts % 16 == 15) pass(base::kMicrosecond_ns * 20);
    }
    return false;
  }

  progress::RequestHeader front(progress::HandlerId handler, std::size_t body_bytes, std::size_t payload_bytes) const {
    progress::RequestHeader front;
    front.secret = parts_.launch->job_secret();
    front.handler = handler;
    front.body_bytes = static_cast<std::uint16_t>(body_bytes);
    front.origin = me();
    front.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    front.charge = progress::charge_of(payload_bytes);
    return front;
  }
  /// On this client's connection, in no count of it.
  void send_raw(NodeId node, const progress::RequestHeader& front, ByteView body) {
    base::Encoder encoder;
    encoder.put(front).put_bytes(body);
    const Bytes header = encoder.take();
    progress::Client::Guard guard(*parts_.client);
    const auto endpoint = parts_.client->endpoint(node);
    ASSERT_TRUE(endpoint.ok());
    ASSERT_TRUE(parts_.client->worker().send(*endpoint, header, {}, {}).ok());
  }

  void pass(std::uint64_t duration_ns) {
    os::Word never{0};
    const std::uint64_t end_ns = parts_.host->now_ns() + duration_ns;
    while (parts_.host->now_ns() < end_ns) parts_.host->wait(never, 0, end_ns - parts_.host->now_ns());
  }

 private:
  Runtime::Implementation& parts_;
};

}  // namespace grapnel::test
