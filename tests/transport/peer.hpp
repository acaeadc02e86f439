// What a peer of a transport test can do, apart from how peers exist: in threads, in processes, in the simulator.
//
// A test is written once, as what one peer does; a PeerGroup runs it for each. EXPECT_ and ASSERT_ work in the body,
// wherever it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "os/host.hpp"
#include "transport/transport.hpp"

namespace grapnel::testing {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual int index() const = 0;
  virtual int count() const = 0;
  virtual transport::Transport& transport() = 0;
  virtual os::Host& host() = 0;
  /// Collective among the peers that live: gives `mine`, gets every rank's by index (a dead peer's is empty). It blocks
  /// without progressing any worker, so it is also how a test stops calling the transport.
  virtual std::vector<Bytes> exchange(const Bytes& mine) = 0;
  /// Ends this peer as kill -9 would. Only where the group's peers can die.
  virtual void die() = 0;
};

class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  using Body = std::function<void(Peer&)>;
  /// Runs `body` as peers 0 … count−1 and returns when all have ended. The body's memory may be shared among the peers
  /// or not: nothing but `exchange` and the transport passes from one to another.
  virtual void run(int count, const Body& body) = 0;
  virtual bool peers_can_die() const = 0;
};

}  // namespace grapnel::testing
