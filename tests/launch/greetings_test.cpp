// The door of a node's leader, with strangers at it.
// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/greetings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/units.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kLong_ns = 30 * base::kSecond_ns;
constexpr std::uint64_t kSecret = 4711;

class Door : public testing::Test {
 protected:
  os::Connection knock() {
    auto connection = os::Connection::connect(name_, kLong_ns);
    EXPECT_TRUE(connection.ok()) << connection.status().message();
    return *std::move(connection);
  }
  Result<std::vector<Greetings::Member>> gather(std::vector<Rank> expected, std::uint64_t timeout_ns = kLong_ns) {
    return Greetings(*host_, listener_, kSecret, std::move(expected)).gather(timeout_ns);
  }

  std::unique_ptr<os::Host> host_ = os::make_real_host();
  const std::string name_ = "grapnel-test-door-" + std::to_string(::getpid());
  const os::Listener listener_ = *os::Listener::listen(name_);
};

TEST_F(Door, TakesMembersAmongThoseThatSendNothing) {
  std::vector<os::Connection> silent, members;
  std::thread outside([&] {
    for (int i = 0; i < 100; ++i) silent.push_back(knock());
    for (const int rank : {7, 3}) {
      members.push_back(knock());
      EXPECT_TRUE(greet(members.back(), kSecret, Rank{rank}, kLong_ns).ok());
      silent.push_back(knock());
    }
  });
  const std::uint64_t begin_ns = host_->now_ns();
  const auto gathered = gather({Rank{3}, Rank{7}});
  outside.join();
  ASSERT_TRUE(gathered.ok()) << gathered.status().message();
  ASSERT_EQ(gathered->size(), 2u);
  EXPECT_EQ((*gathered)[0].rank, Rank{7});
  EXPECT_EQ((*gathered)[1].rank, Rank{3});
  EXPECT_LT(host_->now_ns() - begin_ns, 8 * base::kSecond_ns);  // none of the silent ones was waited for
}

TEST_F(Door, TurnsAwayWhoDoesNotKnowTheSecret) {
  const auto wrong_secret = knock(), wrong_rank = knock(), noise = knock(), twice = knock(), member = knock();
  EXPECT_TRUE(greet(wrong_secret, kSecret + 1, Rank{1}, kLong_ns).ok());
  EXPECT_TRUE(greet(wrong_rank, kSecret, Rank{2}, kLong_ns).ok());
  EXPECT_TRUE(noise.send(Bytes(100, std::byte{'x'}), kLong_ns).ok());
  EXPECT_TRUE(greet(member, kSecret, Rank{1}, kLong_ns).ok());
  const auto gathered = gather({Rank{1}});
  ASSERT_TRUE(gathered.ok()) << gathered.status().message();
  EXPECT_EQ(gathered->size(), 1u);
  for (const os::Connection* stranger : {&wrong_secret, &wrong_rank, &noise}) {
    EXPECT_EQ(stranger->receive(kLong_ns).status().code(), Code::peer_dead);
  }
  EXPECT_EQ(member.receive(0).status().code(), Code::timed_out);
}

TEST_F(Door, NamesWhoDidNotCome) {
  const auto silent = knock();
  const auto gathered = gather({Rank{5}, Rank{6}}, base::kSecond_ns / 10);
  EXPECT_EQ(gathered.status().code(), Code::timed_out);
  EXPECT_NE(gathered.status().message().find("rank 5"), std::string::npos) << gathered.status().message();
}

}  // namespace
}  // namespace grapnel::launch
