// The suite that every transport passes, written against transport.hpp only.
//
// Include it in one file of an executable and instantiate it:
//   INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance, ::testing::Values(factory, …));
// A factory makes a PeerGroup; see peer.hpp. Times are the host's, so that a virtual clock serves too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
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

TEST_P(TransportConformance, CountsTheEndpointsItConnected) {
  run_connected(3, [](Peer& peer, Member& member) {
    EXPECT_EQ(member.worker().endpoint_count(), 2U);
    const int next = (peer.index() + 1) % 3;
    member.send(next, number(1), {});
    ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 1 && member.all_ended(); }));
    // The way back to who connected to us is no endpoint of ours.
    EXPECT_EQ(member.worker().endpoint_count(), 2U);
  });
}

TEST_P(TransportConformance, RefusesAnAddressThatIsNone) {
  run_connected(2, [](Peer&, Member& member) {
    const Bytes stub(3);
    EXPECT_EQ(member.worker().connect(stub).status().code(), Code::system);
    EXPECT_EQ(member.worker().connect({}).status().code(), Code::system);
    EXPECT_EQ(member.worker().endpoint_count(), 1U);
  });
}

TEST_P(TransportConformance, CarriesHeadersAndPayloadsOfAllSizes) {
  static constexpr std::array<std::size_t, 7> kHeaders{0, 1, 8, 64, 200, 511, 512};
  static constexpr std::array<std::size_t, 14> kPayloads{0,    1,     8,     93,    511,    2048,   4096,
                                                         8191, 8192,  40000, 65536, 100000, 131071, 131072};
  run_connected(2, [](Peer& peer, Member& member) {
    const std::size_t total = kHeaders.size() * kPayloads.size();
    if (peer.index() == 0) {
      std::uint64_t seed = 0;
      for (const std::size_t header : kHeaders) {
        for (const std::size_t payload : kPayloads) {
          ++seed;
          member.send(1, pattern(seed, header), pattern(seed + 1000, payload));
        }
      }
      ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
      member.expect_all_well();
      return;
    }
    ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == total; }));
    std::uint64_t seed = 0;
    for (const std::size_t header : kHeaders) {
      for (const std::size_t payload : kPayloads) {
        const Letter& letter = member.mailbox().letters[seed++];
        ASSERT_EQ(letter.header.size(), header);
        ASSERT_EQ(letter.payload.size(), payload);
        EXPECT_TRUE(is_pattern(letter.header, seed)) << header << " + " << payload;
        EXPECT_TRUE(is_pattern(letter.payload, seed + 1000)) << header << " + " << payload;
      }
    }
  });
}

// Half of the messages are sent from completions of earlier ones: where a transport runs those while it empties a queue,
// what they send must not overtake the queue.
TEST_P(TransportConformance, KeepsTheOrderOfAnEndpoint) {
  static constexpr std::uint64_t kMessages = 10'000;
  run_connected(2, [](Peer& peer, Member& member) {
    if (peer.index() == 1) {
      std::uint64_t expected = 0;
      bool right = true;
      member.mailbox().handle = [&](const Message& message) {
        right = right && number_of(message.header) == expected;
        if (!message.payload.empty()) right = right && message.payload.front() == static_cast<std::byte>(expected);
        if (!message.payload.empty()) right = right && message.payload.back() == static_cast<std::byte>(expected);
        ++expected;
      };
      EXPECT_TRUE(member.until([&] { return expected == kMessages || !right; }));
      EXPECT_TRUE(right) << "first wrong message before number " << expected;
      return;
    }
    base::Random random(7);
    std::uint64_t next = 0;
    const auto send_next = [&](auto&& again) -> void {
      if (next == kMessages) return;
      const std::size_t largest = random.chance(0.05) ? transport::kMaxPayloadBytes : random.chance(0.5) ? 64 : 9000;
      const std::size_t bytes = random.chance(0.3) ? 0 : random.between(1, largest);
      const std::uint64_t mine = next++;
      Tracked& message = member.send(1, number(mine), Bytes(bytes, static_cast<std::byte>(mine)));
      if (!message.done && random.chance(0.5)) message.then = [&again] { again(again); };
    };
    std::size_t oldest = 0;
    while (next < kMessages) {
      send_next(send_next);
      // At most 128 under way, so that the receiver's pace shows.
      ASSERT_TRUE(member.until([&] {
        while (oldest < member.sent().size() && member.sent()[oldest].ended()) ++oldest;
        return member.sent().size() - oldest < 128;
      }));
    }
    ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
    member.expect_all_well();
  });
}

TEST_P(TransportConformance, AnswersAlongTheWayAMessageCame) {
  static constexpr std::uint64_t kRounds = 300;
  run_connected(3, [](Peer& peer, Member& member) {
    if (peer.index() == 0) {
      // From inside the sink, as a server answers.
      member.mailbox().handle = [&](const Message& message) {
        member.reply(message.reply_path, {message.header.begin(), message.header.end()},
                     pattern(number_of(message.header), message.payload.size()));
      };
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 2 * kRounds && member.all_ended(); }));
      member.expect_all_well();
      return;
    }
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t id = round * 10 + static_cast<std::uint64_t>(peer.index());
      const std::size_t bytes = round % 3 == 0 ? 0 : round * 400;
      member.send(0, number(id), Bytes(bytes));
      ASSERT_TRUE(member.until([&] { return !member.mailbox().letters.empty(); }));
      const Letter& answer = member.mailbox().letters.front();
      EXPECT_EQ(number_of(answer.header), id);
      EXPECT_EQ(answer.payload.size(), bytes);
      EXPECT_TRUE(is_pattern(answer.payload, id));
      member.mailbox().letters.pop_front();
    }
  });
}

TEST_P(TransportConformance, ReplyPathsMayBeKept) {
  run_connected(3, [](Peer& peer, Member& member) {
    if (peer.index() == 0) {
      ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == 2; }));
      const auto asked = std::exchange(member.mailbox().letters, {});
      peer.exchange({});
      for (int round = 0; round < 3; ++round) {
        for (const Letter& letter : asked) {
          member.reply(letter.reply_path, letter.header, Bytes(round == 1 ? 70'000 : 0));
        }
      }
      ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
      return;
    }
    member.send(0, number(static_cast<std::uint64_t>(peer.index())), {});
    ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
    // Peer 0 may still need this worker to take part in the connection's set-up.
    Tracked& flushed = member.flush(0);
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    peer.exchange({});
    ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == 3; }));
    for (const Letter& letter : member.mailbox().letters) {
      EXPECT_EQ(number_of(letter.header), static_cast<std::uint64_t>(peer.index()));
    }
    EXPECT_EQ(member.mailbox().letters[1].payload.size(), 70'000U);
  });
}

TEST_P(TransportConformance, SurvivesFloodsFromBothSidesAndASlowReceiver) {
  static constexpr std::uint64_t kMessages = 300;
  run_connected(2, [](Peer& peer, Member& member) {
    const int other = 1 - peer.index();
    std::uint64_t expected = 0;
    bool right = true;
    member.mailbox().handle = [&](const Message& message) {
      right = right && number_of(message.header) == expected && is_pattern(message.payload, expected);
      ++expected;
      if (peer.index() == 1 && expected % 50 == 1) pause(peer, 5 * base::kMillisecond_ns);
    };
    for (std::uint64_t i = 0; i < kMessages; ++i) member.send(other, number(i), pattern(i, 65'536));
    if (peer.index() == 1) pause(peer, 100 * base::kMillisecond_ns);
    EXPECT_TRUE(member.until([&] { return expected == kMessages && member.all_ended(); }));
    EXPECT_TRUE(right);
    member.expect_all_well();
  });
}

TEST_P(TransportConformance, TellsOfPendingOperationsOnceAndOfDoneOnesNever) {
  run_connected(2, [](Peer& peer, Member& member) {
    if (peer.index() == 1) {
      pause(peer, 50 * base::kMillisecond_ns);
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 2000; }));
      return;
    }
    for (int i = 0; i < 2000; ++i) member.send(1, number(1), Bytes(i % 4 == 0 ? 30'000 : 16));
    ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
    Tracked& flushed = member.flush(1);
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    for (int i = 0; i < 100; ++i) member.worker().progress();
    member.expect_all_well();
  });
}

// An origin that computes after a flush must not hold anything back, whatever the receiver's pace was.
inline void sends_flushes_and_stops_calling(Peer& peer, Member& member, std::size_t messages, std::size_t bytes) {
  if (peer.index() == 0) {
    for (std::size_t i = 0; i < messages; ++i) member.send(1, number(i), Bytes(bytes));
    member.send(1, number(messages), {});
    Tracked& flushed = member.flush(1);
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    EXPECT_TRUE(flushed.outcome.ok()) << flushed.outcome.to_string();
    peer.exchange({});  // no call into the transport until the receiver has everything
    return;
  }
  pause(peer, 30 * base::kMillisecond_ns);
  EXPECT_TRUE(member.until([&] { return member.mailbox().arrived == messages + 1; }))
      << member.mailbox().arrived << " of " << messages + 1 << " messages arrived";
  peer.exchange({});
}

TEST_P(TransportConformance, AfterAFlushEverythingHasLeft) {
  for (const std::size_t messages : {0, 1, 3, 20, 200}) {
    for (const std::size_t bytes : {8, 4096, 131072}) {
      run_connected(2, [=](Peer& peer, Member& member) {
        sends_flushes_and_stops_calling(peer, member, messages, bytes);
      });
    }
  }
}

TEST_P(TransportConformance, AFlushOfNothingIsDone) {
  run_connected(2, [](Peer& peer, Member& member) {
    if (peer.index() == 1) {
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 1; }));
      return;
    }
    member.send(1, number(1), {});
    Tracked& first = member.flush(1);
    ASSERT_TRUE(member.until([&] { return first.ended() && member.all_ended(); }));
    Tracked& second = member.flush(1);
    EXPECT_TRUE(second.done);
    EXPECT_TRUE(second.outcome.ok());
  });
}

TEST_P(TransportConformance, FlushesOfSeveralEndpointsOverlap) {
  run_connected(3, [](Peer& peer, Member& member) {
    if (peer.index() > 0) {
      pause(peer, 20 * base::kMillisecond_ns);
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 100; }));
      return;
    }
    for (int i = 0; i < 100; ++i) {
      member.send(1, number(1), Bytes(65'536));
      member.send(2, number(1), Bytes(65'536));
    }
    Tracked& first = member.flush(1);
    Tracked& second = member.flush(2);
    ASSERT_TRUE(member.until([&] { return first.ended() && second.ended() && member.all_ended(); }));
    member.expect_all_well();
  });
}

TEST_P(TransportConformance, SleepEndsAtItsTimeout) {
  run_connected(2, [](Peer& peer, Member& member) {
    Tracked& flushed = member.flush(1 - peer.index());
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    const std::uint64_t start = peer.host().now_ns();
    int sleeps = 0;
    // It may return early, but not so often that it would be no sleep.
    while (peer.host().now_ns() - start < 50 * base::kMillisecond_ns) {
      while (member.worker().progress()) {
      }
      member.worker().sleep(5 * base::kMillisecond_ns);
      ++sleeps;
    }
    EXPECT_LT(sleeps, 200);
    EXPECT_LT(peer.host().now_ns() - start, 5 * base::kSecond_ns);
  });
}

TEST_P(TransportConformance, WakeEndsASleepFromAnotherThread) {
  run_connected(2, [](Peer& peer, Member& member) {
    std::atomic<bool> woken{false};  // set before wake, read after sleep; release and acquire of each other
    const std::uint64_t start = peer.host().now_ns();
    auto thread = peer.host().start("waker", {}, [&] {
      pause(peer, 20 * base::kMillisecond_ns);
      woken.store(true, std::memory_order_release);
      member.worker().wake();
    });
    ASSERT_TRUE(thread.ok());
    while (!woken.load(std::memory_order_acquire)) {
      while (member.worker().progress()) {
      }
      member.worker().sleep(20 * base::kSecond_ns);
    }
    EXPECT_LT(peer.host().now_ns() - start, 10 * base::kSecond_ns);
  });
}

TEST_P(TransportConformance, WakeEndsTheNextSleep) {
  run_connected(2, [](Peer& peer, Member& member) {
    Tracked& flushed = member.flush(1 - peer.index());
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    while (member.worker().progress()) {
    }
    const std::uint64_t start = peer.host().now_ns();
    member.worker().wake();
    member.worker().sleep(20 * base::kSecond_ns);
    EXPECT_LT(peer.host().now_ns() - start, 10 * base::kSecond_ns);
  });
}

TEST_P(TransportConformance, AMessageEndsASleep) {
  run_connected(2, [](Peer& peer, Member& member) {
    static constexpr std::uint64_t kRounds = 20;
    if (peer.index() == 1) {
      member.mailbox().handle = [&](const Message& message) { member.reply(message.reply_path, number(1), {}); };
      const std::uint64_t start = peer.host().now_ns();
      while (member.mailbox().arrived < kRounds || !member.all_ended()) {
        if (!member.worker().progress()) member.worker().sleep(20 * base::kSecond_ns);
        ASSERT_LT(peer.host().now_ns() - start, 15 * base::kSecond_ns);
      }
      return;
    }
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      pause(peer, 2 * base::kMillisecond_ns);
      member.send(1, number(round), Bytes(round % 2 == 0 ? 0 : 50'000));
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == round; }));
    }
  });
}

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
    if (peer.index() == 1) {
      member.send(0, number(1), {});
      Tracked& flushed = member.flush(0);
      ASSERT_TRUE(member.until([&] { return flushed.ended() && member.mailbox().arrived >= 1; }));
      peer.die();
    }
    if (peer.index() == 0) {
      ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == 1; }));
      const ReplyPath back = member.mailbox().letters.front().reply_path;
      // More than the connection takes in, so that some are pending when the peer dies.
      for (int i = 0; i < 200; ++i) member.send(1, number(1), Bytes(131'072));
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
      EXPECT_TRUE(member.until([&] {
        return !member.mailbox().letters.empty() && number_of(member.mailbox().letters.back().header) == 2;
      }));
    }
    peer.exchange({});
  });
}

// A way back that was kept must stay good to call after the one it led to died, although nobody connected to that one.
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
    auto registered = peer.transport().register_memory(memory);
    if (!capabilities.native_put) {
      EXPECT_TRUE(registered.ok() || registered.status().code() == Code::unavailable);
      return;
    }
    ASSERT_TRUE(registered.ok()) << registered.status().to_string();
    base::Encoder encoder;
    encoder.put(reinterpret_cast<std::uintptr_t>(memory.data())).put_string((*registered)->key());
    const auto all = peer.exchange(encoder.take());
    if (peer.index() == 1) {
      peer.exchange({});  // the puts go on meanwhile, and nobody progresses this worker
      for (std::size_t i = 0; i < kSizes.size(); ++i) EXPECT_EQ(memory[kSizes[i] - 1], static_cast<std::byte>(kSizes.size()));
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
