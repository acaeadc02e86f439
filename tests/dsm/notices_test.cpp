// What locks and barriers carry: as it was given, as far as it fits, and strict against anything else.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/notices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "grapnel/barrier.hpp"

namespace grapnel::dsm {
namespace {

constexpr std::size_t kPages = 1000;

bool same(const Interval& a, const Interval& b) {
  if (a.number != b.number || a.runs.size() != b.runs.size()) return false;
  for (std::size_t i = 0; i < a.runs.size(); ++i) {
    if (a.runs[i].first != b.runs[i].first || a.runs[i].count != b.runs[i].count) return false;
  }
  return true;
}

TEST(Notices, AGrantComesBackAsItWas) {
  const Grant grant{{5, 0, 1234567}, {{5, {{1, 2}, {7, 1}, {990, 10}}}, {4, {{0, 1}}}}};
  const auto read = decode_grant(encode(grant), 3, kPages);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->clock, grant.clock);
  ASSERT_EQ(read->intervals.size(), 2U);
  EXPECT_TRUE(same(read->intervals[0], grant.intervals[0]));
  EXPECT_TRUE(same(read->intervals[1], grant.intervals[1]));
}

TEST(Notices, AGrantHoldsTheNewestThatFit) {
  Grant grant{Clock(kMostNodes, (std::uint64_t{1} << 55)), {}};
  for (std::uint64_t number = 500; number > 0; --number) grant.intervals.push_back({number, {{number, 1}}});
  const Bytes bytes = encode(grant);
  EXPECT_LE(bytes.size(), kMostGrantBytes);
  const auto read = decode_grant(bytes, kMostNodes, kPages);
  ASSERT_TRUE(read);
  ASSERT_FALSE(read->intervals.empty());
  EXPECT_EQ(read->intervals[0].number, 500U);
}

TEST(Notices, WhatIsNoGrantIsRefused) {
  const Bytes bytes = encode(Grant{{5, 3}, {{5, {{998, 2}}}}});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_grant(ByteView(bytes).first(length), 2, kPages));
  }
  EXPECT_FALSE(decode_grant(bytes, 3, kPages)) << "of another job";
  EXPECT_FALSE(decode_grant(bytes, 2, 999)) << "of a longer heap";
  base::Random random(3);
  for (int i = 0; i < 100'000; ++i) {
    Bytes noise(random.below(60));
    for (std::byte& one : noise) one = static_cast<std::byte>(random.below(256));
    static_cast<void>(decode_grant(noise, 2, kPages));
    static_cast<void>(decode_meeting(noise, 2, kPages));
  }
}

TEST(Notices, ABarrierJoinsWhatTheRanksOfANodeBring) {
  Bytes joined = encode({3, 7}, 1, NodeNews{4, true, false, {{3, {{10, 1}}}}});
  join_meetings(joined, encode({2, 7}, 1, NodeNews{5, true, false, {{5, {{20, 2}}}}}));
  join_meetings(joined, encode({0, 7}, 0, NodeNews{9, true, false, {}}));
  const auto meeting = decode_meeting(joined, 2, kPages);
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->first.rank, 0U);
  EXPECT_EQ(meeting->first.number, meeting->other.number);
  ASSERT_EQ(meeting->nodes.size(), 2U);
  EXPECT_EQ(meeting->nodes.at(1).latest, 5U);
  EXPECT_EQ(meeting->nodes.at(1).intervals.size(), 2U);
  EXPECT_TRUE(meeting->nodes.at(0).complete);
}

TEST(Notices, ABarrierCarriesMoves) {
  const Bytes of_0 = encode({{{5, 3}, 0, 2}, {{900, 1}, 0, 1}}, 100), of_1 = encode({{{8, 2}, 1, 0}}, 100);
  Bytes joined = encode({0, 7}, 1, NodeNews{4, true, false, {}, of_1});
  join_meetings(joined, encode({1, 7}, 0, NodeNews{4, true, false, {{3, {{10, 1}}}}, of_0}));
  join_meetings(joined, encode({2, 7}, 0, NodeNews{4, true, false, {}}));
  const auto meeting = decode_meeting(joined, 3, kPages);
  ASSERT_TRUE(meeting);
  ASSERT_EQ(meeting->moves.size(), 3U);
  EXPECT_EQ(meeting->moves[0].pages.first, 5U);
  EXPECT_EQ(meeting->moves[0].pages.count, 3U);
  EXPECT_EQ(meeting->moves[0].from, 0U);
  EXPECT_EQ(meeting->moves[0].to, 2U);
  EXPECT_EQ(meeting->moves[1].from, 1U);
  EXPECT_EQ(meeting->moves[2].pages.first, 900U);
  EXPECT_FALSE(decode_meeting(joined, 2, kPages)) << "to a node that the job has not";
  EXPECT_FALSE(decode_meeting(joined, 3, 900)) << "of a longer heap";
}

TEST(Notices, MovesThatMakeNoSenseAreNone) {
  const auto decoded = [](const std::vector<Move>& of_0, const std::vector<Move>& of_1) {
    Bytes joined = encode({0, 0}, 0, NodeNews{0, true, false, {}, encode(of_0, 2000)});
    join_meetings(joined, encode({1, 0}, 1, NodeNews{0, true, false, {}, encode(of_1, 2000)}));
    return decode_meeting(joined, 2, kPages).has_value();
  };
  EXPECT_TRUE(decoded({{{5, 3}, 0, 1}}, {{{8, 1}, 1, 0}}));
  EXPECT_FALSE(decoded({{{5, 3}, 0, 1}}, {{{7, 1}, 1, 0}})) << "a page twice";
  EXPECT_FALSE(decoded({{{5, 3}, 0, 0}}, {})) << "to its own home";
  EXPECT_FALSE(decoded({{{5, 0}, 0, 1}}, {})) << "no page";
  std::vector<Move> many;
  for (std::size_t page = 0; page < 450; ++page) many.push_back({{2 * page, 1}, 0, 1});
  EXPECT_EQ(encode(many, kMostMovesBytes / 2).size(), kMostMovesBytes / 2 / 3 * 3);
  EXPECT_FALSE(decoded(many, {})) << "more than a barrier carries";
  EXPECT_FALSE(decoded({{{std::size_t{1} << 50, 1}, 0, 1}}, {})) << "behind the heap";
}

TEST(Notices, ABarrierFindsAnotherNumber) {
  const NodeNews none;
  Bytes joined = encode({4, 2}, 0, none);
  for (const auto& [rank, number] : {std::pair{7, 2}, {1, 2}, {3, 5}, {6, 5}}) {
    join_meetings(joined, encode({static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(number)}, 0, none));
  }
  const auto meeting = decode_meeting(joined, 1, kPages);
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->first.rank, 1U);
  EXPECT_EQ(meeting->other.rank, 3U);
  EXPECT_EQ(meeting->other.number, 5U);
}

// The longest is left out, and to be asked for.
TEST(Notices, ABarriersPayloadStaysShortEnough) {
  Bytes joined;
  for (std::uint64_t rank = 0; rank < 64; ++rank) {
    NodeNews news{20, true, {}};
    for (std::uint64_t i = 1; i <= 10 + rank; ++i) news.intervals.push_back({i, {{i * 10, 3}}});
    const Bytes one = encode({rank, 0}, rank % 32, news);
    if (joined.empty()) {
      joined = one;
    } else {
      join_meetings(joined, one);
    }
    ASSERT_LE(joined.size(), kMostBarrierPayload);
  }
  const auto meeting = decode_meeting(joined, 32, kPages);
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->nodes.size(), 32U);
  EXPECT_FALSE(
      std::all_of(meeting->nodes.begin(), meeting->nodes.end(), [](const auto& n) { return n.second.complete; }));
}

TEST(Notices, ABarrierWithAPayloadThatIsNoneIsNone) {
  const Bytes good = encode({0, 0}, 0, NodeNews());
  Bytes bad(5, std::byte{0});
  Bytes joined = good;
  join_meetings(joined, bad);
  EXPECT_FALSE(decode_meeting(joined, 1, kPages));
  join_meetings(joined, good);
  EXPECT_FALSE(decode_meeting(joined, 1, kPages));
  join_meetings(bad, good);
  EXPECT_FALSE(decode_meeting(bad, 1, kPages));
}

}  // namespace
}  // namespace grapnel::dsm
