// The rows against others: what is read from the programs, and what follows from it.
// SPDX-License-Identifier: Apache-2.0
#include "peer_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace grapnel::bench {
namespace {

const std::string kGet = "get/8B/latency";
const std::string kPut = "put/1MiB/bandwidth";

const PeerRow& row_named(PeerPlace place, const std::string& name) {
  const auto& rows = peer_rows(place);
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PeerRow& row) { return row.name == name; });
  EXPECT_NE(found, rows.end()) << name;
  return *found;
}

void add(PeerValues& values, const std::string& program, const std::string& operation,
         const std::vector<double>& rounds) {
  for (const double value : rounds) {
    EXPECT_TRUE(values.take(program, "peer-row " + operation + " " + std::to_string(value)));
  }
}

TEST(PeerValues, OnlyTheirLinesAreTaken) {
  PeerValues values;
  for (const char* line : {"", "hello", "peer-row", "peer-row x", "peer-row x y", "peer-row x 0", "peer-row x -3"}) {
    EXPECT_FALSE(values.take("p", line)) << line;
  }
  add(values, "p", kGet, {3, 1, 2});
  EXPECT_EQ(values.median_of(kGet, "p"), 2);
  EXPECT_EQ(values.median_of(kGet, "q"), std::nullopt);
  EXPECT_EQ(values.median_of(kPut, "p"), std::nullopt);
}

TEST(PeerValues, TheBestPeerIsNeverOurs) {
  PeerValues values;
  EXPECT_EQ(values.best_peer(kGet), std::nullopt);
  add(values, kOurCore, kGet, {1});
  EXPECT_EQ(values.best_peer(kGet), std::nullopt);
  add(values, "slow", kGet, {9, 9, 1});
  add(values, "fast", kGet, {5, 5, 50});
  EXPECT_EQ(values.best_peer(kGet), "fast");
  add(values, "slow", kPut, {2});
  add(values, "fast", kPut, {8});
  add(values, kOurArmci, kPut, {10});
  EXPECT_EQ(values.best_peer(kPut), "fast");
}

TEST(PeerValues, WrongAnswersAreNoLimit) {
  PeerValues values;
  add(values, "liar", kGet, {1, 1});
  add(values, "liar", "busy_target/" + kGet, {1});
  add(values, "honest", kGet, {4});
  EXPECT_TRUE(values.take("liar", "peer-wrong " + kGet));
  add(values, "liar", kGet, {1});
  add(values, "liar", "busy_target/" + kGet, {1});
  EXPECT_EQ(values.best_peer(kGet), "honest");
  EXPECT_EQ(values.best_peer("busy_target/" + kGet), std::nullopt);
  ASSERT_EQ(values.wrong().size(), 1u);
  EXPECT_EQ(values.wrong()[0], std::pair(std::string("liar"), kGet));
}

TEST(PeerRows, LatencyAgainstTheBestPeer) {
  PeerValues values;
  const PeerRow& row = row_named(PeerPlace::two_hosts, "peers/two_hosts/" + kGet);
  EXPECT_FALSE(peer_measurement(row, PeerPlace::two_hosts, values, kOurArmci));
  add(values, kOurArmci, kGet, {12000, 10000, 11000});
  EXPECT_FALSE(peer_measurement(row, PeerPlace::two_hosts, values, kOurArmci)) << "there is no peer";
  add(values, "p", kGet, {20000, 22000, 24000});
  add(values, "q", kGet, {30000, 10000, 30000});
  const auto m = peer_measurement(row, PeerPlace::two_hosts, values, kOurArmci);
  ASSERT_TRUE(m);
  EXPECT_DOUBLE_EQ(m->value, 11);
  EXPECT_DOUBLE_EQ(*m->limit, 22);
  EXPECT_EQ(m->unit, "us");
  EXPECT_EQ(m->note, "p");
  EXPECT_EQ(m->runs, 3);
  EXPECT_FALSE(m->disturbed);
}

TEST(PeerRows, BandwidthAndADisturbedLimit) {
  PeerValues values;
  const PeerRow& row = row_named(PeerPlace::same_node, "peers/same_node/" + kPut);
  add(values, kOurCore, kPut, {40, 50, 45});
  add(values, "p", kPut, {10, 11, 40});
  const auto m = peer_measurement(row, PeerPlace::same_node, values, kOurCore);
  ASSERT_TRUE(m);
  EXPECT_DOUBLE_EQ(m->value, 45);
  EXPECT_DOUBLE_EQ(*m->limit, 11);
  EXPECT_EQ(m->better, Better::higher);
  EXPECT_TRUE(m->disturbed) << "its best round was 40";
}

TEST(PeerRows, ABusyTargetIsHeldAgainstOurIdleOne) {
  PeerValues values;
  const PeerRow& row = row_named(PeerPlace::two_hosts, "peers/busy_target/" + kGet);
  add(values, kOurArmci, kGet, {10000});
  add(values, kOurArmci, "busy_target/" + kGet, {14000});
  add(values, "p", kGet, {1000});
  add(values, "p", "busy_target/" + kGet, {5e7});
  const auto m = peer_measurement(row, PeerPlace::two_hosts, values, kOurArmci);
  ASSERT_TRUE(m);
  EXPECT_DOUBLE_EQ(m->value, 14);
  EXPECT_DOUBLE_EQ(*m->limit, 10);
  EXPECT_NE(m->note.find("p takes 50000 us"), std::string::npos) << m->note;
}

TEST(PeerRows, TheFaceIsHeldAgainstTheCore) {
  PeerValues values;
  const PeerRow& row = row_named(PeerPlace::same_node, "peers/face/" + kGet);
  add(values, kOurCore, kGet, {6});
  add(values, kOurArmci, kGet, {8});
  add(values, "p", kGet, {1});
  const auto m = peer_measurement(row, PeerPlace::same_node, values, kOurArmci);
  ASSERT_TRUE(m);
  EXPECT_DOUBLE_EQ(m->value, 8);
  EXPECT_DOUBLE_EQ(*m->limit, 6);
  EXPECT_EQ(m->unit, "ns");
}

TEST(PeerRows, NamesAreUniqueAndAllArePeers) {
  std::vector<std::string> names;
  for (const PeerPlace place : {PeerPlace::same_node, PeerPlace::two_hosts}) {
    for (const PeerRow& row : peer_rows(place)) names.push_back(row.name);
  }
  for (const std::string& name : names) EXPECT_EQ(name.rfind("peers/", 0), 0u) << name;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace grapnel::bench
