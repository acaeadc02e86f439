// Conformance: connections, messages, order, replies, completions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "transport/conformance_fixture.hpp"

namespace grapnel::testing {

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
  static constexpr std::array<std::size_t, 14> kPayloads{0,    1,    8,     93,    511,    2048,   4096,
                                                         8191, 8192, 40000, 65536, 100000, 131071, 131072};
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

// Longer than what the length alone lets through whole, between messages that it does.
TEST_P(TransportConformance, CarriesWhatItsSenderWantsWhole) {
  static constexpr std::array<std::size_t, 6> kPayloads{0,      1,       transport::kMaxPayloadBytes,
                                                        131073, 300'001, transport::kMaxWholeBytes};
  run_connected(2, [](Peer& peer, Member& member) {
    constexpr std::size_t kRounds = 5;
    if (peer.index() == 0) {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        for (const std::size_t payload : kPayloads) {
          member.send_whole(1, number(payload), pattern(payload + round, payload));
          member.send(1, number(7), {});
        }
      }
      ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
      member.expect_all_well();
      return;
    }
    ASSERT_TRUE(member.until([&] { return member.mailbox().letters.size() == 2 * kRounds * kPayloads.size(); }));
    std::size_t next = 0;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (const std::size_t payload : kPayloads) {
        const Letter& letter = member.mailbox().letters[next++];
        EXPECT_EQ(number_of(letter.header), payload);
        ASSERT_EQ(letter.payload.size(), payload);
        EXPECT_TRUE(is_pattern(letter.payload, payload + round));
        EXPECT_EQ(number_of(member.mailbox().letters[next++].header), 7U);
      }
    }
  });
}

// Half of the messages are sent from completions of earlier ones: where a transport runs those while it empties a
// queue, what they send must not overtake the queue.
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

}  // namespace grapnel::testing
