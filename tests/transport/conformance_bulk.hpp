// Conformance: bulk messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "transport/conformance_fixture.hpp"

namespace grapnel::testing {

inline constexpr std::array<std::size_t, 5> kBulkSizes{131'073, 200'001, 262'144, 1'048'576, 5'000'003};

/// A place for a bulk payload, and how its landing ended.
struct Landing {
  Bytes place;
  Tracked tracked;
};

inline Landing& receive(Member& member, std::deque<Landing>& landings, BulkHandle bulk, std::size_t bytes) {
  Landing& landing = landings.emplace_back();
  landing.place.assign(bytes, std::byte{0});
  member.worker().receive(bulk, landing.place, landing.tracked.completion());
  return landing;
}

inline bool all_landed(const std::deque<Landing>& landings, std::size_t count) {
  return landings.size() == count &&
         std::all_of(landings.begin(), landings.end(), [](const Landing& one) { return one.tracked.told > 0; });
}

// At once or later, asked for or answered with.
TEST_P(TransportConformance, CarriesBulkPayloadsBothWays) {
  run_connected(2, [](Peer& peer, Member& member) {
    std::deque<Landing> landings;
    const int other = 1 - peer.index();
    const std::size_t total = 2 * kBulkSizes.size();  // half of them are sent, half are answers
    std::vector<BulkLetter> kept;
    member.mailbox().handle_bulk = [&](const BulkMessage& message) {
      const std::uint64_t id = number_of(message.header);
      EXPECT_EQ(message.payload_bytes, kBulkSizes[id % kBulkSizes.size()]);
      if (id % 2 == 0) {
        kept.push_back(
            {{message.header.begin(), message.header.end()}, message.payload_bytes, message.reply_path, message.bulk});
      } else {
        receive(member, landings, message.bulk, message.payload_bytes).tracked.header = {message.header.begin(),
                                                                                         message.header.end()};
      }
      if (id < 100) member.reply(message.reply_path, number(id + 100), pattern(id + 100, message.payload_bytes));
    };
    for (std::uint64_t id = 0; id < kBulkSizes.size(); ++id)
      member.send(other, number(id), pattern(id, kBulkSizes[id]));
    EXPECT_TRUE(member.until([&] {
      for (const BulkLetter& letter : std::exchange(kept, {})) {
        receive(member, landings, letter.bulk, letter.bytes).tracked.header = letter.header;
      }
      return all_landed(landings, total) && member.all_ended();
    }));
    member.expect_all_well();
    for (const Landing& landing : landings) {
      EXPECT_EQ(landing.tracked.told, 1);
      EXPECT_TRUE(landing.tracked.outcome.ok()) << landing.tracked.outcome.to_string();
      EXPECT_TRUE(is_pattern(landing.place, number_of(landing.tracked.header)));
    }
  });
}

// Announcements keep their place among the messages, whatever the receiver does with them.
TEST_P(TransportConformance, AnnouncementsKeepTheOrderOfAnEndpoint) {
  static constexpr std::uint64_t kMessages = 400;
  run_connected(2, [](Peer& peer, Member& member) {
    base::Random random(11);
    if (peer.index() == 0) {
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const std::size_t bytes = random.chance(0.3) ? 131'073 + random.below(100'000) : random.below(131'073);
        member.send(1, number(i), Bytes(bytes, static_cast<std::byte>(i)));
        if (i % 20 == 0) {
          EXPECT_TRUE(member.until([&] { return member.all_ended(); }));
        }
      }
      EXPECT_TRUE(member.until([&] { return member.all_ended(); }));
      member.expect_all_well();
      return;
    }
    std::deque<Landing> landings;
    std::vector<BulkLetter> kept;
    std::uint64_t expected = 0;
    std::size_t wanted = 0;
    const auto check = [&](ByteView header) { EXPECT_EQ(number_of(header), expected++); };
    member.mailbox().handle = [&](const Message& message) { check(message.header); };
    member.mailbox().handle_bulk = [&](const BulkMessage& message) {
      check(message.header);
      switch (random.below(3)) {
        case 0: member.worker().decline(message.bulk); break;
        case 1: receive(member, landings, message.bulk, message.payload_bytes); break;
        case 2: kept.push_back({{}, message.payload_bytes, message.reply_path, message.bulk}); break;
      }
      ++wanted;
    };
    EXPECT_TRUE(member.until([&] {
      // The last one first, so that they land in another order than they were announced in.
      while (!kept.empty()) {
        if (random.chance(0.2)) {
          member.worker().decline(kept.back().bulk);
        } else {
          receive(member, landings, kept.back().bulk, kept.back().bytes);
        }
        kept.pop_back();
      }
      return expected == kMessages && all_landed(landings, landings.size());
    }));
    EXPECT_GT(wanted, landings.size());
    for (const Landing& landing : landings) {
      EXPECT_TRUE(landing.tracked.outcome.ok());
      const auto same = [&](std::byte one) { return one == landing.place.front(); };
      EXPECT_TRUE(std::all_of(landing.place.begin(), landing.place.end(), same));
    }
  });
}

// A flush covers payloads, too: an origin that computes afterwards holds nothing back. On a connection that is UCX
// takes the flush's marker at once, on one that is being made it does not.
inline std::function<void(Peer&, Member&)> bulk_leaves_by_a_flush(bool stands) {
  return [stands](Peer& peer, Member& member) {
    static constexpr std::size_t kCount = 6;
    if (stands) member.meet();
    if (peer.index() == 0) {
      for (std::size_t i = 0; i < kCount; ++i) member.send(1, number(i), pattern(i, 300'000));
      member.send(1, number(kCount), {});
      Tracked& flushed = member.flush(1);
      EXPECT_TRUE(member.until([&] { return flushed.ended(); }));
      EXPECT_TRUE(flushed.outcome.ok());
      peer.exchange({});  // no call into the transport until the receiver has everything
      return;
    }
    pause(peer, 20 * base::kMillisecond_ns);
    std::deque<Landing> landings;
    EXPECT_TRUE(member.until([&] {
      auto& letters = member.mailbox().bulk_letters;
      if (!letters.empty()) {
        receive(member, landings, letters.front().bulk, letters.front().bytes);
        letters.pop_front();
      }
      return all_landed(landings, kCount) && member.mailbox().arrived == 1;
    }));
    for (std::size_t i = 0; i < landings.size(); ++i) EXPECT_TRUE(is_pattern(landings[i].place, i));
    peer.exchange({});
  };
}

TEST_P(TransportConformance, AfterAFlushBulkPayloadsHaveLeft) { run_connected(2, bulk_leaves_by_a_flush(true)); }
TEST_P(TransportConformance, AfterAFlushBulkPayloadsHaveLeftANewConnection) {
  run_connected(2, bulk_leaves_by_a_flush(false));
}

TEST_P(TransportConformance, AWorkerEndsWithBulkPayloadsUnanswered) {
  run(2, [](Peer& peer) {
    auto member = std::make_unique<Member>(peer);
    ASSERT_TRUE(member->ready());
    std::deque<Landing> landings;
    if (peer.index() == 0) {
      for (int i = 0; i < 4; ++i) member->send(1, number(1), Bytes(2'000'000));
      Tracked& marker = member->send(1, number(1), {});
      EXPECT_TRUE(member->until([&] { return marker.ended(); }));
    } else {
      EXPECT_TRUE(member->until([&] { return member->mailbox().bulk_letters.size() == 4; }));
      auto& letters = member->mailbox().bulk_letters;
      receive(*member, landings, letters[1].bulk, letters[1].bytes);
      member.reset();
      EXPECT_EQ(landings.front().tracked.told, 1);
    }
    peer.exchange({});
    for (int i = 0; i < 100 && peer.index() == 0; ++i) member->worker().progress();
  });
}

TEST_P(TransportConformance, APeerThatIsKilledEndsItsBulkMessages) {
  if (!group_->peers_can_die()) GTEST_SKIP() << "the peers of this group cannot be killed";
  run(2, [](Peer& peer) {
    Member member(peer);
    ASSERT_TRUE(member.ready());
    if (!peer.transport().capabilities().detects_dead_peers) return;
    member.meet();
    if (peer.index() == 1) {
      for (int i = 0; i < 4; ++i) member.send(0, number(1), Bytes(16'000'000));
      ASSERT_TRUE(member.until([&] { return member.mailbox().bulk_letters.size() == 3; }));
      // The payloads of ours are under way, or not asked for yet.
      for (int i = 0; i < 20; ++i) member.worker().progress();
      peer.die();
    }
    for (int i = 0; i < 3; ++i) member.send(1, number(1), Bytes(3'000'000));
    ASSERT_TRUE(member.until([&] { return member.mailbox().bulk_letters.size() == 4; }));
    std::deque<Landing> landings;
    auto& letters = member.mailbox().bulk_letters;
    receive(member, landings, letters[0].bulk, letters[0].bytes);
    receive(member, landings, letters[1].bulk, letters[1].bytes);
    EXPECT_TRUE(member.until(
        [&] { return !member.mailbox().failures.empty() && all_landed(landings, 2) && member.all_ended(); }));
    // Answered only now that no peer is there.
    receive(member, landings, letters[2].bulk, letters[2].bytes);
    member.worker().decline(letters[3].bulk);
    EXPECT_TRUE(member.until([&] { return all_landed(landings, 3); }));
    EXPECT_EQ(landings.back().tracked.outcome.code(), Code::peer_dead);
    for (const Landing& landing : landings) {
      const Status& outcome = landing.tracked.outcome;  // some may have come before
      EXPECT_TRUE(outcome.ok() || outcome.code() == Code::peer_dead) << outcome.to_string();
    }
    for (const Tracked& message : member.sent()) EXPECT_LE(message.told, message.done ? 0 : 1);
    EXPECT_EQ(member.sent().back().outcome.code(), Code::peer_dead);
  });
}

}  // namespace grapnel::testing
