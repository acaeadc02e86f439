// Conformance: workers that end, peers that die, native puts and gets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>

#include "transport/conformance_fixture.hpp"

namespace grapnel::testing {

TEST_P(TransportConformance, AWorkerEndsWhilePeersDoNotListen) {
  run(2, [](Peer& peer) {
    auto member = std::make_unique<Member>(peer);
    ASSERT_TRUE(member->ready());
    if (peer.index() == 0) {
      for (int i = 0; i < 100; ++i) member->send(1, number(1), Bytes(131'072));
      const std::uint64_t start = peer.host().now_ns();
      member.reset();
      EXPECT_LT(peer.host().now_ns() - start, 5 * base::kSecond_ns);
    }
    peer.exchange({});
    for (int i = 0; i < 100 && peer.index() == 1; ++i) member->worker().progress();
  });
}

TEST_P(TransportConformance, APeerThatIsKilledFailsItsEndpoint) {
  if (!group_->peers_can_die()) GTEST_SKIP() << "the peers of this group cannot be killed";
  run(3, [](Peer& peer) {
    Member member(peer);
    ASSERT_TRUE(member.ready());
    if (!peer.transport().capabilities().detects_dead_peers) return;
    // Once the connections stand: UCX 1.13 has a fault of its own before (docs/transport.md, limits).
    member.meet();
    if (peer.index() == 1) {
      member.send(0, number(1), {});
      Tracked& flushed = member.flush(0);
      ASSERT_TRUE(member.until([&] { return flushed.ended() && member.mailbox().arrived >= 1; }));
      peer.die();
    }
    if (peer.index() == 0) {
      ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == 1; }));
      const ReplyPath back = member.mailbox().letters.front().reply_path;
      // More than the connection takes in, so that some are pending when the peer dies. Without copies UCX 1.13 has a
      // fault with messages of several segments (docs/transport.md, limits).
      const std::size_t bytes = std::getenv("UCX_ZCOPY_THRESH") != nullptr ? 1000 : 131'072;
      for (std::size_t sent = 0; sent < 24'000'000; sent += bytes) member.send(1, number(1), Bytes(bytes));
      ASSERT_TRUE(member.until([&] { return !member.mailbox().failures.empty() && member.all_ended(); }));
      for (int i = 0; i < 100; ++i) member.worker().progress();
      ASSERT_EQ(member.mailbox().failures.size(), 1U);
      EXPECT_EQ(member.mailbox().failures[0].first, member.to(1));
      EXPECT_EQ(member.mailbox().failures[0].second.code(), Code::peer_dead);
      for (const Tracked& message : member.sent()) {
        EXPECT_LE(message.told, message.done ? 0 : 1);
        EXPECT_TRUE(message.outcome.ok() || message.outcome.code() == Code::peer_dead) << message.outcome.to_string();
      }
      EXPECT_EQ(member.send(1, number(1), {}).outcome.code(), Code::peer_dead);
      EXPECT_EQ(member.flush(1).outcome.code(), Code::peer_dead);
      EXPECT_EQ(member.reply(back, number(1), {}).outcome.code(), Code::peer_dead);
      // The others go on.
      member.send(2, number(2), {});
      ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
      Tracked& flushed = member.flush(2);
      ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    }
    if (peer.index() == 2) {
      EXPECT_TRUE(member.until(
          [&] { return !member.mailbox().letters.empty() && number_of(member.mailbox().letters.back().header) == 2; }));
    }
    peer.exchange({});
  });
}

// A way back that was kept must stay good to call after the one it led to died, although no peer connected to that one.
TEST_P(TransportConformance, AReplyToADeadPeerIsRefused) {
  if (!group_->peers_can_die()) GTEST_SKIP() << "the peers of this group cannot be killed";
  run(2, [](Peer& peer) {
    Mailbox mailbox;
    auto worker = peer.transport().create_worker(mailbox);
    ASSERT_TRUE(worker.ok());
    const auto addresses = peer.exchange((*worker)->address());
    if (!peer.transport().capabilities().detects_dead_peers) return;
    if (peer.index() == 1) {
      const auto endpoint = (*worker)->connect(addresses[0]);
      ASSERT_TRUE(endpoint.ok());
      ASSERT_TRUE((*worker)->send(*endpoint, number(1), {}, {}).ok());
      while (mailbox.arrived == 0) (*worker)->progress();
      peer.die();
    }
    while (mailbox.letters.empty()) (*worker)->progress();
    const ReplyPath back = mailbox.letters.front().reply_path;
    ASSERT_TRUE((*worker)->reply(back, number(1), {}, {}).ok());
    const std::uint64_t deadline = peer.host().now_ns() + 10 * base::kSecond_ns;
    Status outcome;
    while (outcome.ok() && peer.host().now_ns() < deadline) {
      (*worker)->progress();
      outcome = (*worker)->reply(back, number(1), {}, {}).status();
    }
    EXPECT_EQ(outcome.code(), Code::peer_dead);
    EXPECT_TRUE(mailbox.failures.empty());
  });
}

TEST_P(TransportConformance, NativePutAndGetNeedNobodyAtTheTarget) {
  static constexpr std::array<std::size_t, 7> kSizes{1, 7, 8, 64, 4096, 65536, 1048576};
  run_connected(2, [](Peer& peer, Member& member) {
    const auto& capabilities = peer.transport().capabilities();
    EXPECT_EQ(capabilities.native_put, capabilities.native_get);
    Bytes memory(2 * kSizes.back(), std::byte{0});
    member.meet();
    auto registered = peer.transport().register_memory(memory, transport::Access::copies);
    if (!capabilities.native_put) {
      EXPECT_TRUE(registered.ok() || registered.status().code() == Code::unavailable);
      return;
    }
    ASSERT_TRUE(registered.ok()) << registered.status().to_string();
    EXPECT_FALSE((*registered)->key().empty());
    base::Encoder encoder;
    encoder.put(reinterpret_cast<std::uintptr_t>(memory.data())).put_string((*registered)->key());
    const auto all = peer.exchange(encoder.take());
    if (peer.index() == 1) {
      peer.exchange({});  // the puts go on in the meantime, and no thread progresses this worker
      for (std::size_t i = 0; i < kSizes.size(); ++i)
        EXPECT_EQ(memory[kSizes[i] - 1], static_cast<std::byte>(kSizes.size()));
      EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + kSizes.back(), memory.begin() + kSizes.back()));
      return;
    }
    base::Decoder decoder(all[1]);
    const std::uintptr_t there = *decoder.get<std::uintptr_t>();
    auto key = member.worker().import_key(member.to(1), *decoder.get_string());
    ASSERT_TRUE(key.ok()) << key.status().to_string();
    const auto finish = [&](Result<Sent> started, Tracked& operation) {
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      operation.done = *started == Sent::done;
      ASSERT_TRUE(member.until([&] { return operation.ended(); }));
      EXPECT_TRUE(operation.outcome.ok());
    };
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      Bytes written(kSizes[i], static_cast<std::byte>(i + 1));
      Tracked put, get;
      finish(member.worker().put(member.to(1), written, there, **key, put.completion()), put);
      Tracked& flushed = member.flush(1);
      ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
      Bytes read(kSizes[i]);
      finish(member.worker().get(member.to(1), read, there, **key, get.completion()), get);
      EXPECT_EQ(read, written);
    }
    Bytes last(kSizes.back(), static_cast<std::byte>(kSizes.size()));
    Tracked put;
    finish(member.worker().put(member.to(1), last, there + kSizes.back(), **key, put.completion()), put);
    Tracked& flushed = member.flush(1);
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    peer.exchange({});
  });
}

}  // namespace grapnel::testing
