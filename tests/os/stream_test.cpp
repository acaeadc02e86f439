// SPDX-License-Identifier: Apache-2.0
#include "os/stream.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/units.hpp"
#include "os/process.hpp"

namespace grapnel::os {
namespace {

using base::kMillisecond_ns;
using base::kSecond_ns;

ByteView text(std::string_view words) { return std::as_bytes(std::span(words)); }
std::string words_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

TEST(Stream, CarriesPacketsAndThenTheEnd) {
  const std::string name = test::unique_name("stream");
  auto listener = Listener::listen(name);
  ASSERT_TRUE(listener.ok()) << listener.status().to_string();
  test::Child child([&] {
    auto connection = Connection::connect(name, kSecond_ns);
    return connection.ok() && connection->send(text("one"), kSecond_ns).ok() &&
           connection->send(text("two"), kSecond_ns).ok();
  });
  auto connection = listener->accept(10 * kSecond_ns);
  ASSERT_TRUE(connection.ok()) << connection.status().to_string();
  EXPECT_EQ(connection->peer_pid(), child.pid());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(words_of(*connection->receive(kSecond_ns)), "one");
  EXPECT_EQ(words_of(*connection->receive(kSecond_ns)), "two");
  EXPECT_EQ(connection->receive(kSecond_ns).status().code(), Code::peer_dead);
  EXPECT_EQ(connection->receive(0).status().code(), Code::peer_dead) << "and so it stays";
  EXPECT_EQ(connection->send(text("x"), 0).code(), Code::peer_dead);
}

TEST(Stream, KilledPeerIsSeenAtOnce) {
  const std::string name = test::unique_name("stream");
  auto listener = Listener::listen(name);
  test::Child child([&] {
    auto connection = Connection::connect(name, kSecond_ns);
    ::pause();
    return false;
  });
  auto connection = listener->accept(10 * kSecond_ns);
  ASSERT_TRUE(connection.ok());
  EXPECT_EQ(connection->receive(10 * kMillisecond_ns).status().code(), Code::timed_out);
  ::kill(child.pid(), SIGKILL);
  EXPECT_EQ(connection->receive(10 * kSecond_ns).status().code(), Code::peer_dead);
  child.wait();
}

TEST(Stream, LastPacketComesEvenIfTheOtherEndReadNothing) {
  const std::string name = test::unique_name("stream");
  const std::string heard = test::unique_name("heard");
  auto listener = Listener::listen(name);
  auto gate = Listener::listen(heard);
  test::Child child([&] {
    auto connection = Connection::connect(name, kSecond_ns);
    // What the parent sends is under way here, unread, when this end closes.
    auto sent = Connection::connect(heard, 10 * kSecond_ns);
    return sent.ok() && sent->receive(10 * kSecond_ns).ok() && connection->send(text("last"), kSecond_ns).ok();
  });
  auto connection = listener->accept(10 * kSecond_ns);
  ASSERT_TRUE(connection->send(text("unread"), kSecond_ns).ok());
  auto told = gate->accept(10 * kSecond_ns);
  ASSERT_TRUE(told->send(text("go"), kSecond_ns).ok());
  EXPECT_EQ(child.wait(), 0);
  const auto last = connection->receive(kSecond_ns);
  ASSERT_TRUE(last.ok()) << last.status().to_string();
  EXPECT_EQ(words_of(*last), "last");
  EXPECT_EQ(connection->receive(kSecond_ns).status().code(), Code::peer_dead);
}

TEST(Stream, ConnectWaitsForTheListener) {
  const std::string name = test::unique_name("stream");
  test::Child child([&] {
    ::usleep(100'000);
    auto listener = Listener::listen(name);
    auto connection = listener->accept(10 * kSecond_ns);
    return connection.ok() && words_of(*connection->receive(kSecond_ns)) == "hello";
  });
  auto connection = Connection::connect(name, 10 * kSecond_ns);
  ASSERT_TRUE(connection.ok()) << connection.status().to_string();
  EXPECT_EQ(connection->peer_pid(), child.pid());
  EXPECT_TRUE(connection->send(text("hello"), kSecond_ns).ok());
  EXPECT_EQ(child.wait(), 0);
}

TEST(Stream, TimesOut) {
  const std::string name = test::unique_name("stream");
  EXPECT_EQ(Connection::connect(name, 20 * kMillisecond_ns).status().code(), Code::timed_out);
  auto listener = Listener::listen(name);
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(Listener::listen(name).status().code(), Code::unavailable);
  EXPECT_EQ(listener->accept(0).status().code(), Code::timed_out);
  EXPECT_EQ(listener->accept(10 * kMillisecond_ns).status().code(), Code::timed_out);
  auto connection = Connection::connect(name, kSecond_ns);
  ASSERT_TRUE(connection.ok());
  EXPECT_EQ(connection->send({}, 0).code(), Code::invalid_argument);
  EXPECT_EQ(connection->send(Bytes(kMaxPacketBytes + 1), 0).code(), Code::invalid_argument);
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i)
    status = connection->send(Bytes(kMaxPacketBytes), 10 * kMillisecond_ns);
  EXPECT_EQ(status.code(), Code::timed_out);
}

TEST(Stream, RefusesOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  const std::string name = test::unique_name("stream");
  auto listener = Listener::listen(name);
  test::Child stranger([&] {
    if (::setuid(65534) != 0) return false;
    return Connection::connect(name, kSecond_ns).status().code() == Code::refused;
  });
  EXPECT_EQ(stranger.wait(), 0);
  EXPECT_EQ(listener->accept(50 * kMillisecond_ns).status().code(), Code::timed_out);
}

}  // namespace
}  // namespace grapnel::os
