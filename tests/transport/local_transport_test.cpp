// The conformance suite over the local transport, in threads and in processes; and what only it has.
// SPDX-License-Identifier: Apache-2.0
#include "transport/local/local_transport.hpp"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "os/byte_stream.hpp"
#include "transport/conformance.hpp"
#include "transport/local/local_frame.hpp"
#include "transport/process_peers.hpp"
#include "transport/thread_peers.hpp"

namespace grapnel::testing {
namespace {

constexpr std::uint64_t kSecret = 77;

Result<std::unique_ptr<transport::Transport>> make_transport(int, int) {
  return transport::make_local_transport(kSecret);
}

PeerGroupFactory threads() {
  return [] { return make_thread_peers(make_transport); };
}
PeerGroupFactory processes() {
  return [] { return make_process_peers(make_transport, {}); };
}

INSTANTIATE_TEST_SUITE_P(LocalThreads, TransportConformance, ::testing::Values(threads()));
INSTANTIATE_TEST_SUITE_P(LocalProcesses, TransportConformance, ::testing::Values(processes()));

using transport::local::FrameHead;
using transport::local::FrameKind;
using transport::local::HelloBody;

/// A worker and its listener's name.
class LocalHostile : public ::testing::Test {
 protected:
  void SetUp() override {
    worker_ = *transport_->create_worker(mailbox_);
    friend_ = *transport_->create_worker(friends_);
    const Bytes address = worker_->address();
    base::Decoder decoder(address);
    ASSERT_TRUE(decoder.get<std::uint64_t>());
    const ByteView name = *decoder.get_string();
    name_.assign(reinterpret_cast<const char*>(name.data()), name.size());
  }

  os::Descriptor connect_as_stranger() {
    auto socket = os::create_stream();
    if (!socket) return {};
    const auto step = os::try_connect(*socket, name_);
    return step.ok() && *step == os::ConnectStep::connected ? std::move(*socket) : os::Descriptor();
  }

  void progress(int times = 50) {
    for (int i = 0; i < times; ++i) worker_->progress(), friend_->progress();
  }

  static void put(const os::Descriptor& socket, ByteView bytes) {
    EXPECT_EQ(::write(socket.number(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  static Bytes hello(std::uint64_t secret) {
    base::Encoder encoder;
    encoder.put(FrameHead{.kind = FrameKind::hello, .header_bytes = sizeof(HelloBody)});
    return encoder.put(HelloBody{.secret = secret}).take();
  }
  static bool is_closed(const os::Descriptor& socket) {
    char byte = 0;
    const ssize_t got = ::read(socket.number(), &byte, 1);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

  /// The worker still serves: a message of a right peer arrives, and its answer goes.
  void expect_service() {
    const auto endpoint = friend_->connect(worker_->address());
    ASSERT_TRUE(endpoint.ok());
    const std::size_t before = mailbox_.letters.size(), answers = friends_.arrived;
    ASSERT_TRUE((*friend_).send(*endpoint, number(5), Bytes(100'000), {}).ok());
    for (int i = 0; i < 100'000 && mailbox_.letters.size() == before; ++i) progress(1);
    ASSERT_EQ(mailbox_.letters.size(), before + 1);
    ASSERT_TRUE(worker_->reply(mailbox_.letters.back().reply_path, number(6), {}, {}).ok());
    for (int i = 0; i < 100'000 && friends_.arrived == answers; ++i) progress(1);
    EXPECT_EQ(friends_.arrived, answers + 1);
    EXPECT_TRUE(friends_.failures.empty());
  }

  std::unique_ptr<transport::Transport> transport_ = transport::make_local_transport(kSecret);
  Mailbox mailbox_, friends_;
  std::unique_ptr<transport::Worker> worker_, friend_;
  std::string name_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(LocalHostile, BytesThatAreNoHelloEndOnlyTheirConnection) {
  const os::Descriptor stranger = connect_as_stranger();
  const os::Descriptor foreign = connect_as_stranger();
  const os::Descriptor half = connect_as_stranger();
  put(stranger, Bytes(4096, std::byte{'x'}));
  put(foreign, hello(kSecret + 1));
  put(half, ByteView(hello(kSecret)).first(20));
  progress();
  EXPECT_TRUE(is_closed(stranger));
  EXPECT_TRUE(is_closed(foreign));
  EXPECT_FALSE(is_closed(half));
  put(half, ByteView(hello(kSecret)).subspan(20));
  base::Encoder message;
  message.put(FrameHead{.kind = FrameKind::message, .header_bytes = 8}).put(std::uint64_t{9});
  put(half, message.view());
  progress();
  ASSERT_EQ(mailbox_.letters.size(), 1U);
  EXPECT_EQ(number_of(mailbox_.letters.back().header), 9U);
  expect_service();
}

TEST_F(LocalHostile, PeersThatAreSilentCostABoundedNumberOfDescriptors) {
  std::vector<os::Descriptor> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(connect_as_stranger());
  const std::size_t before = open_descriptors();
  progress();
  EXPECT_LE(open_descriptors(), before + 16);
  std::size_t closed = 0;
  for (const os::Descriptor& one : idle) closed += is_closed(one) ? 1 : 0;
  EXPECT_EQ(closed, 84U);
  EXPECT_TRUE(is_closed(idle.front()));  // the oldest first
  EXPECT_FALSE(is_closed(idle.back()));
  expect_service();
}

TEST_F(LocalHostile, FramesThatAreWrongEndOnlyTheirConnection) {
  using Heads = std::vector<FrameHead>;
  const Heads wrong = {
      {.kind = FrameKind{0}},
      {.kind = FrameKind{7}},
      {.kind = FrameKind{255}},
      {.kind = FrameKind::hello, .header_bytes = sizeof(HelloBody)},
      {.kind = FrameKind::message, .zero = 1},
      {.kind = FrameKind::message, .header_bytes = 513},
      {.kind = FrameKind::message, .length = 512 * 1024 + 1},
      {.kind = FrameKind::message, .length = 0xffff'ffff},
      {.kind = FrameKind::message, .number = 1},
      {.kind = FrameKind::announcement, .number = 1, .length = 10},
      {.kind = FrameKind::announcement, .number = 1, .length = (1U << 30) + 1},
      {.kind = FrameKind::announcement, .number = 2, .length = 200'000},
      {.kind = FrameKind::request, .number = 1},
      {.kind = FrameKind::request, .header_bytes = 8, .number = 1},
      {.kind = FrameKind::decline, .number = 1},
      {.kind = FrameKind::chunk, .number = 1, .length = 8},
      {.kind = FrameKind::chunk, .number = 1, .length = 0},
      {.kind = FrameKind::chunk, .number = 1, .length = 0xffff'fff0},
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    for (const std::size_t at_once : {std::size_t{5}, sizeof(FrameHead)}) {  // in pieces, and whole
      const os::Descriptor peer = connect_as_stranger();
      put(peer, hello(kSecret));
      progress();
      put(peer, base::bytes_of(wrong[i]).first(at_once));
      progress(2);
      if (at_once < sizeof(FrameHead)) put(peer, base::bytes_of(wrong[i]).subspan(at_once));
      progress(2);
      EXPECT_TRUE(is_closed(peer));
    }
  }
  EXPECT_EQ(mailbox_.arrived, 0U);
  EXPECT_EQ(mailbox_.announced, 0U);
  expect_service();
}

// A chunk for a payload that was announced but not received, and one that is longer than what is left.
TEST_F(LocalHostile, ChunksAreTakenOnlyAsRequested) {
  for (const bool requested : {false, true}) {
    const os::Descriptor peer = connect_as_stranger();
    base::Encoder bytes;
    bytes.put_bytes(hello(kSecret));
    bytes.put(FrameHead{.kind = FrameKind::announcement, .number = 1, .length = 200'000});
    put(peer, bytes.view());
    progress();
    ASSERT_EQ(mailbox_.bulk_letters.size(), 1U);
    Bytes place(200'000 + 64, std::byte{1});
    Tracked landing;
    if (requested) {
      worker_->receive(mailbox_.bulk_letters[0].bulk, ByteSpan(place).first(200'000), landing.completion());
    }
    put(peer, base::bytes_of(FrameHead{.kind = FrameKind::chunk, .number = 1, .length = 200'008}));
    put(peer, Bytes(1024, std::byte{2}));
    progress();
    EXPECT_EQ(std::count(place.begin(), place.end(), std::byte{1}), static_cast<std::ptrdiff_t>(place.size()));
    EXPECT_EQ(landing.told, requested ? 1 : 0);
    if (!requested) worker_->decline(mailbox_.bulk_letters[0].bulk);
    mailbox_.bulk_letters.clear();
  }
  expect_service();
}

TEST_F(LocalHostile, AnotherUserIsRejected) {
  const passwd* nobody = ::getpwnam("nobody");
  if (::geteuid() != 0 || nobody == nullptr) GTEST_SKIP() << "only root can be another user";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setuid(nobody->pw_uid) != 0) ::_exit(3);
    auto socket = os::create_stream();
    // The connection leads to another user's process from here, too.
    if (!socket.ok() || os::try_connect(*socket, name_).status().code() != Code::refused) ::_exit(4);
    const Bytes right = hello(kSecret);
    static_cast<void>(!::write(socket->number(), right.data(), right.size()));
    for (int i = 0; i < 2000; ++i) {
      if (is_closed(*socket)) ::_exit(0);
      ::usleep(5000);
    }
    ::_exit(5);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) progress(1);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(mailbox_.arrived, 0U);
  expect_service();
}

// Few descriptors, all of them taken, and connections that come and go thousands of times.
TEST_F(LocalHostile, WithoutDescriptorsTheListenerWaitsAndGoesOn) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int i = 0; i < 3000; ++i) {
    const os::Descriptor stranger = connect_as_stranger();
    EXPECT_TRUE(stranger.valid());
    if (i % 7 == 0) progress(1);
  }
  progress(1000);  // none waits for its hello any more, whose descriptor would be taken back
  const auto endpoint = friend_->connect(worker_->address());
  ASSERT_TRUE(endpoint.ok());
  ASSERT_TRUE(friend_->send(*endpoint, number(1), {}, {}).ok());
  std::vector<os::Descriptor> taken;
  for (int spare = ::dup(0); spare >= 0; spare = ::dup(0)) taken.emplace_back(spare);
  int events = 0;
  for (int i = 0; i < 2000; ++i) events += worker_->progress() ? 1 : 0;
  EXPECT_EQ(mailbox_.arrived, 0U);
  EXPECT_LT(events, 1000) << "the event loop spins";
  taken.clear();
  for (int i = 0; i < 10'000 && mailbox_.arrived == 0; ++i) {
    if (!worker_->progress()) worker_->sleep(base::kMillisecond_ns);
  }
  EXPECT_EQ(mailbox_.arrived, 1U);
  expect_service();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Strangers fill the listener's queue: `connect` neither blocks nor fails, and what is sent leaves when there is room.
TEST_F(LocalHostile, AFullQueueOfConnectionsDelaysOnly) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit most{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &most), 0);
  std::vector<os::Descriptor> strangers;
  for (int i = 0; i < 6000; ++i) {
    strangers.push_back(connect_as_stranger());
    if (!strangers.back().valid()) break;
  }
  if (strangers.back().valid()) GTEST_SKIP() << "the queue of a listener takes 6,000 connections here";
  const auto endpoint = friend_->connect(worker_->address());
  ASSERT_TRUE(endpoint.ok());
  Tracked message;
  const auto sent = friend_->send(*endpoint, number(1), {}, message.completion());
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(*sent, Sent::pending);
  for (int i = 0; i < 100'000 && mailbox_.arrived == 0; ++i) {
    progress(1);
    friend_->sleep(base::kMillisecond_ns);
  }
  EXPECT_EQ(mailbox_.arrived, 1U);
  EXPECT_EQ(message.told, 1);
  strangers.clear();
  expect_service();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(LocalHostile, AWorkerThatIsGoneFailsTheEndpoint) {
  const Bytes address = worker_->address();
  worker_.reset();
  const auto endpoint = friend_->connect(address);
  ASSERT_TRUE(endpoint.ok());
  friend_->progress();
  ASSERT_EQ(friends_.failures.size(), 1U);
  EXPECT_EQ(friends_.failures[0].second.code(), Code::peer_dead);
}

TEST_F(LocalHostile, OneReplyPathStandsForOneConnection) {
  const auto first = friend_->connect(worker_->address());
  const auto second = friend_->connect(worker_->address());
  ASSERT_TRUE(first.ok() && second.ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(friend_->send(i % 2 == 0 ? *first : *second, number(i % 2), {}, {}).ok());
  for (int i = 0; i < 1000 && mailbox_.letters.size() < 6; ++i) progress(1);
  ASSERT_EQ(mailbox_.letters.size(), 6U);
  std::array<std::set<void*>, 2> handles;
  for (const Letter& letter : mailbox_.letters) handles[number_of(letter.header)].insert(letter.reply_path.handle);
  EXPECT_EQ(handles[0].size(), 1U);
  EXPECT_EQ(handles[1].size(), 1U);
  EXPECT_NE(*handles[0].begin(), *handles[1].begin());
}

TEST(LocalTransport, AWorkerMayConnectToItself) {
  const auto transport = transport::make_local_transport(kSecret);
  Mailbox mailbox;
  auto worker = transport->create_worker(mailbox);
  ASSERT_TRUE(worker.ok());
  const auto endpoint = (*worker)->connect((*worker)->address());
  ASSERT_TRUE(endpoint.ok());
  ASSERT_TRUE((*worker)->send(*endpoint, number(5), {}, {}).ok());
  for (int i = 0; i < 1000 && mailbox.arrived == 0; ++i) (*worker)->progress();
  ASSERT_EQ(mailbox.letters.size(), 1U);
  ASSERT_TRUE((*worker)->reply(mailbox.letters[0].reply_path, number(6), {}, {}).ok());
  for (int i = 0; i < 1000 && mailbox.arrived == 1; ++i) (*worker)->progress();
  EXPECT_EQ(mailbox.arrived, 2U);
}

}  // namespace
}  // namespace grapnel::testing
