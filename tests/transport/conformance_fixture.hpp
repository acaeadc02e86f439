// What the cases of the conformance suite share; conformance.hpp is the file to include.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/codec.hpp"
#include "transport/member.hpp"
#include "transport/peer.hpp"

namespace grapnel::testing {

using PeerGroupFactory = std::function<std::unique_ptr<PeerGroup>()>;

class TransportConformance : public ::testing::TestWithParam<PeerGroupFactory> {
 protected:
  void run(int count, const PeerGroup::Body& body) { group_->run(count, body); }
  /// Runs `body` with a worker in each peer that has called `connect` for all others; workers go only when all bodies
  /// have ended.
  void run_connected(int count, const std::function<void(Peer&, Member&)>& body) {
    run(count, [&](Peer& peer) {
      Member member(peer);
      if (member.ready()) body(peer, member);
      peer.exchange({});
    });
  }

  std::unique_ptr<PeerGroup> group_ = GetParam()();
};

inline Bytes number(std::uint64_t value) {
  const ByteView view = base::bytes_of(value);
  return {view.begin(), view.end()};
}
inline std::uint64_t number_of(ByteView header) {
  return base::Decoder(header).get<std::uint64_t>().value_or(~std::uint64_t{0});
}
inline void pause(Peer& peer, std::uint64_t time_ns) {
  os::Word never{0};
  const std::uint64_t end = peer.host().now_ns() + time_ns;
  for (std::uint64_t now = peer.host().now_ns(); now < end; now = peer.host().now_ns()) {
    peer.host().wait(never, 0, end - now);
  }
}

}  // namespace grapnel::testing
