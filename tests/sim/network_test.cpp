// The simulated network: what it promises holds under every misbehaviour, and every misbehaviour happens.
// SPDX-License-Identifier: Apache-2.0
#include "transport/sim/sim_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::sim {
namespace {

using base::kMicrosecond_ns;
using base::kMillisecond_ns;
using transport::BulkMessage;
using transport::Completion;
using transport::EndpointId;
using transport::Message;
using transport::Sent;
using transport::Worker;

struct Numbered {
  std::uint32_t from;
  std::uint32_t number;
};

// A rank with one worker, connected to every rank's; notes what it gets and answers what asks for it.
class Peer : public transport::MessageSink {
 public:
  explicit Peer(RankWorld& me) : me_(me) {
    worker_ = *me.transport.create_worker(*this);
    EXPECT_TRUE(me.launch.publish("worker", worker_->address()).ok());
    EXPECT_TRUE(me.launch.fence().ok());
    for (int rank = 0; rank < me.launch.size(); ++rank) {
      endpoints_.push_back(*worker_->connect(*me.launch.lookup(static_cast<Rank>(rank), "worker")));
    }
  }

  void on_bulk(const BulkMessage&) override { ADD_FAILURE() << "nobody sends bulk here"; }
  void on_message(const Message& message) override {
    got.push_back(*base::Decoder(message.header).get<Numbered>());
    payloads.emplace_back(message.payload.begin(), message.payload.end());
    if (answers) {
      const Numbered reply{static_cast<std::uint32_t>(index(me_.rank)), got.back().number};
      EXPECT_TRUE(worker_->reply(message.reply_path, base::bytes_of(reply), {}, {}).ok());
    }
  }
  void on_endpoint_failure(EndpointId endpoint, const Status& why) override {
    EXPECT_EQ(why.code(), Code::peer_dead);
    failures.push_back(endpoint);
  }

  Worker& worker() { return *worker_; }
  EndpointId to(std::size_t rank) { return endpoints_[rank]; }
  Result<Sent> send(std::size_t rank, std::uint32_t number, ByteView payload = {}, Completion completion = {}) {
    const Numbered header{static_cast<std::uint32_t>(index(me_.rank)), number};
    return worker_->send(to(rank), base::bytes_of(header), payload, completion);
  }
  template <typename Ready>
  void wait_until(Ready ready) {
    while (!ready()) {
      if (!worker_->progress()) worker_->sleep(250 * kMillisecond_ns);
    }
  }
  void flush_all() {
    for (const EndpointId endpoint : endpoints_) {
      bool over = false;
      const auto sent = worker_->flush(endpoint, set_flag(over));
      ASSERT_TRUE(sent.ok());
      if (*sent == Sent::pending) wait_until([&] { return over; });
    }
  }
  static Completion set_flag(bool& flag) {
    return {[](void* context, const Status& outcome) {
              EXPECT_TRUE(outcome.ok()) << outcome.to_string();
              *static_cast<bool*>(context) = true;
            },
            &flag};
  }
  /// No rank destroys its worker while others still talk to it.
  void part() {
    flush_all();
    EXPECT_TRUE(me_.launch.fence().ok());
  }

  std::vector<Numbered> got;
  std::vector<Bytes> payloads;
  std::vector<EndpointId> failures;
  bool answers = false;

 private:
  RankWorld& me_;
  std::unique_ptr<Worker> worker_;
  std::vector<EndpointId> endpoints_;
};

// Everything goes wrong that may.
WorldOptions rough(int ranks, std::uint64_t seed) {
  WorldOptions options{.ranks = ranks, .nodes = ranks};
  options.machine.stall_probability = 0.002;
  options.network = {.jitter_ns = 20 * kMicrosecond_ns,
                     .reorder_probability = 0.2,
                     .stall_probability = 0.02,
                     .worker_stall_probability = 0.02,
                     .pending_probability = 0.3,
                     .in_flight_bytes = 2000,
                     .native_put = true,
                     .native_get = true};
  return options.seed(seed);
}

// Every rank sends numbered messages with a payload of its own to every rank; each pair's arrive in order and intact.
void all_to_all(RankWorld& me, std::uint32_t count) {
  Peer peer(me);
  const auto size = static_cast<std::size_t>(me.launch.size());
  std::vector<Bytes> payloads(count);  // untouched until their completions
  for (std::uint32_t number = 0; number < count; ++number) {
    payloads[number].assign(number * 13 % 700, static_cast<std::byte>(index(me.rank) * 50 + number));
    for (std::size_t rank = 0; rank < size; ++rank) ASSERT_TRUE(peer.send(rank, number, payloads[number]).ok());
  }
  peer.wait_until([&] { return peer.got.size() == count * size; });
  std::vector<std::uint32_t> next(size, 0);
  for (std::size_t i = 0; i < peer.got.size(); ++i) {
    const Numbered& message = peer.got[i];
    ASSERT_EQ(message.number, next[message.from]++) << "from " << message.from;
    const Bytes expected(message.number * 13 % 700, static_cast<std::byte>(message.from * 50 + message.number));
    ASSERT_EQ(peer.payloads[i], expected);
  }
  peer.part();
}

TEST(Network, OrderHoldsPerEndpointWhateverHappens) {
  for (const std::uint64_t seed : seeds(30)) {
    const auto outcome = run_world(rough(3, seed), [](RankWorld& me) { all_to_all(me, 30); });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Network, OrderHoldsFreeRunning) {
  for (const std::uint64_t seed : seeds(3)) {
    const auto outcome = run_world(rough(5, seed).free_running(), [](RankWorld& me) { all_to_all(me, 50); });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Network, TheSameSeedGivesTheSameTraffic) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : seeds(10)) {
    const auto first = run_world(rough(3, seed), [](RankWorld& me) { all_to_all(me, 10); });
    const auto second = run_world(rough(3, seed), [](RankWorld& me) { all_to_all(me, 10); });
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
    hashes.insert(first.trace_hash);
  }
  EXPECT_EQ(hashes.size(), seeds(10).size());
}

TEST(Network, MessagesOfTwoEndpointsOvertakeEachOther) {
  int overtaken = 0;
  for (const std::uint64_t seed : seeds(40)) {
    WorldOptions options{.ranks = 3, .nodes = 3};
    options.network.reorder_probability = 0.5;
    bool first_has_left = false;
    const auto outcome = run_world(options.seed(seed), [&](RankWorld& me) {
      Peer peer(me);
      while (me.rank == Rank{1} && !first_has_left) me.host.relax();  // rank 0's message leaves before
      const bool sent = me.rank == Rank{2} || peer.send(2, 0).ok();
      EXPECT_TRUE(sent);
      if (me.rank == Rank{0}) first_has_left = true;
      if (me.rank == Rank{2}) {
        peer.wait_until([&] { return peer.got.size() == 2; });
        overtaken += peer.got[0].from == 1;
      }
      peer.part();
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
  EXPECT_TRUE(overtaken > 2 || seeds(40).size() == 1) << overtaken;
}

TEST(Network, DelaysAreExactInVirtualTime) {
  const auto started = std::chrono::steady_clock::now();
  WorldOptions options{.ranks = 2, .nodes = 2};
  options.network.delay_ns = kMillisecond_ns;
  const auto outcome = run_world(options, [](RankWorld& me) {
    Peer peer(me);
    peer.answers = me.rank == Rank{1};
    if (me.rank == Rank{0}) {
      for (std::uint32_t round = 1; round <= 100; ++round) {
        const std::uint64_t before_ns = me.host.now_ns();
        EXPECT_TRUE(peer.send(1, round).ok());
        peer.wait_until([&] { return peer.got.size() == round; });
        const std::uint64_t took_ns = me.host.now_ns() - before_ns;
        EXPECT_GE(took_ns, 2 * kMillisecond_ns);
        EXPECT_LT(took_ns, 2 * kMillisecond_ns + 20 * kMicrosecond_ns);
      }
    } else {
      peer.wait_until([&] { return peer.got.size() == 100; });
    }
    peer.part();
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GE(outcome.virtual_ns, 200 * kMillisecond_ns);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(150)) << "virtual time costs nothing";
}

TEST(Network, AMessageStaysInTheSenderUntilItMakesProgress) {
  WorldOptions options{.ranks = 2, .nodes = 2};
  options.network.pending_probability = 1;
  const auto outcome = run_world(options, [](RankWorld& me) {
    Peer peer(me);
    if (me.rank == Rank{0}) {
      bool sent = false;
      const auto answer = peer.send(1, 7, {}, Peer::set_flag(sent));
      EXPECT_EQ(*answer, Sent::pending);
      pass_time(me.host, 100 * kMillisecond_ns);  // computes: nothing moves
      EXPECT_FALSE(sent);
      EXPECT_TRUE(me.launch.fence().ok());
      bool flushed = false;
      EXPECT_EQ(*peer.worker().flush(peer.to(1), Peer::set_flag(flushed)), Sent::pending);
      peer.wait_until([&] { return flushed; });
      EXPECT_TRUE(sent) << "a flush ends after what was sent before it";
      EXPECT_EQ(*peer.worker().flush(peer.to(1), {}), Sent::done);
    } else {
      const std::uint64_t end_ns = me.host.now_ns() + 50 * kMillisecond_ns;
      while (me.host.now_ns() < end_ns) peer.worker().progress();
      EXPECT_TRUE(peer.got.empty());
      EXPECT_TRUE(me.launch.fence().ok());
      peer.wait_until([&] { return peer.got.size() == 1; });
    }
    peer.part();
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

TEST(Network, BytesInFlightAreLimited) {
  for (const std::uint64_t seed : seeds(10)) {
    WorldOptions options{.ranks = 2, .nodes = 2};
    options.network.in_flight_bytes = 1000;
    const auto outcome = run_world(options.seed(seed), [](RankWorld& me) {
      Peer peer(me);
      const Bytes payload(300);
      if (me.rank == Rank{0}) {
        int pending = 0;
        for (std::uint32_t i = 0; i < 10; ++i) pending += *peer.send(1, i, payload) == Sent::pending;
        EXPECT_EQ(pending, 7) << "three messages of 308 bytes fit";
        EXPECT_TRUE(me.launch.fence().ok());
        peer.flush_all();  // sleeps: the receiver must wake the sender when there is room
      } else {
        EXPECT_TRUE(me.launch.fence().ok());
        peer.wait_until([&] { return peer.got.size() == 10; });
      }
      peer.part();
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_LT(outcome.virtual_ns, 250 * kMillisecond_ns) << "nobody slept until a timeout";
  }
}

TEST(Network, WakeEndsASleep) {
  for (const std::uint64_t seed : seeds(20)) {
    const auto outcome = run_world(WorldOptions{.ranks = 1}.seed(seed), [](RankWorld& me) {
      Peer peer(me);
      os::Word slept{0};
      while (peer.worker().progress()) continue;  // nothing is left to do
      const auto sleeper = *me.host.start("sleeper", {}, [&] {
        peer.worker().sleep(10 * base::kSecond_ns);
        slept = 1;
      });
      pass_time(me.host, kMillisecond_ns);
      EXPECT_EQ(slept, 0u);
      peer.worker().wake();
      pass_time(me.host, kMillisecond_ns);
      EXPECT_EQ(slept, 1u);
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_LT(outcome.virtual_ns, kMillisecond_ns * 3);
  }
}

TEST(Network, ACutFailsBothEndsOnce) {
  for (const std::uint64_t seed : seeds(20)) {
    WorldOptions options = rough(2, seed);
    const auto outcome = run_world(options, [](RankWorld& me) {
      Peer peer(me);
      EXPECT_TRUE(me.launch.fence().ok());  // both are connected
      if (me.rank == Rank{0}) me.world.network().cut(Rank{0}, Rank{1}, me.host);
      static const Bytes payload(100);
      int failed = 0;
      const Completion count{[](void* context, const Status& why) { *static_cast<int*>(context) += !why.ok(); },
                             &failed};
      Status status;
      while (status.ok()) {
        const auto sent = peer.send(1 - index(me.rank), 0, payload, count);
        status = sent.status();
      }
      EXPECT_EQ(status.code(), Code::peer_dead);
      const EndpointId broken = peer.to(1 - index(me.rank));
      peer.wait_until([&] { return !peer.failures.empty(); });
      for (int i = 0; i < 50; ++i) peer.worker().progress();
      EXPECT_EQ(peer.failures, std::vector<EndpointId>{broken}) << "told once, and only of the cut one";
      EXPECT_TRUE(peer.send(index(me.rank), 0).ok()) << "the way to itself still works";
      EXPECT_TRUE(me.launch.fence().ok());
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Network, AKilledRankFailsItsEndpoints) {
  for (const std::uint64_t seed : seeds(20)) {
    WorldOptions options = rough(3, seed);
    options.network.pending_probability = 0;
    options.kills = {{Rank{1}, kMillisecond_ns}};
    int told = 0;
    const auto outcome = run_world(options, [&](RankWorld& me) {
      Peer peer(me);
      peer.answers = true;
      const auto& failures = peer.failures;  // of the other survivor too, once it has ended
      peer.wait_until([&] { return std::count(failures.begin(), failures.end(), peer.to(1)) == 1; });
      pass_time(me.host, kMillisecond_ns);
      EXPECT_EQ(me.launch.health().message(), "rank 1 has died");
      ++told;
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_EQ(told, 2);
  }
}

// Rank 0 puts into rank 1's memory, which makes no call of the transport; gets it back; the network counts exactly.
void put_and_get(RankWorld& me) {
  Peer peer(me);
  alignas(64) std::array<std::uint64_t, 64> memory{};
  const auto registered =
      *me.transport.register_memory(std::as_writable_bytes(std::span(memory)), transport::Access::copies);
  EXPECT_TRUE(me.launch.publish("key", registered->key()).ok());
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  EXPECT_TRUE(me.launch.publish("address", base::bytes_of(address)).ok());
  ASSERT_TRUE(me.launch.fence().ok());
  if (me.rank == Rank{0}) {
    const auto target = *base::Decoder(*me.launch.lookup(Rank{1}, "address")).get<std::uintptr_t>();
    const auto key = *peer.worker().import_key(peer.to(1), *me.launch.lookup(Rank{1}, "key"));
    std::array<std::uint64_t, 64> mine;
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = i + 1;
    const ByteView bytes = std::as_bytes(std::span(mine));
    for (std::size_t at = 0; at < bytes.size(); at += 64) {
      EXPECT_TRUE(peer.worker().put(peer.to(1), bytes.subspan(at, 64), target + at, *key, {}).ok());
    }
    peer.flush_all();
    std::array<std::uint64_t, 64> back{};
    bool done = false;
    EXPECT_EQ(
        *peer.worker().get(peer.to(1), std::as_writable_bytes(std::span(back)), target, *key, Peer::set_flag(done)),
        Sent::pending);
    EXPECT_EQ(back[0], 0xdbdbdbdbdbdbdbdbULL) << "not there before the completion";
    peer.wait_until([&] { return done; });
    EXPECT_EQ(back, mine);
    const auto outside = peer.worker().put(peer.to(1), bytes, target + 8, *key, {});
    EXPECT_EQ(outside.status().code(), Code::refused);
  }
  ASSERT_TRUE(me.launch.fence().ok());
  for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory[i], me.rank == Rank{1} ? i + 1 : 0);
  peer.part();
}

TEST(Network, NativeOperationsNeedNoTarget) {
  for (const std::uint64_t seed : seeds(30)) {
    const auto outcome = run_world(rough(2, seed), put_and_get);
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
  EXPECT_TRUE(run_world(rough(2, 1).free_running(), put_and_get).ok());
}

// A put followed by a message: without a flush between, the message must sometimes come first.
int puts_overtaken(bool flush_between, std::uint64_t seed) {
  WorldOptions options = rough(2, seed);
  int overtaken = 0;
  const auto outcome = run_world(options, [&](RankWorld& me) {
    Peer peer(me);
    alignas(8) std::uint64_t word = 0;
    const auto registered =
        *me.transport.register_memory(std::as_writable_bytes(std::span(&word, 1)), transport::Access::copies);
    EXPECT_TRUE(me.launch.publish("key", registered->key()).ok());
    EXPECT_TRUE(me.launch.publish("address", base::bytes_of(reinterpret_cast<std::uintptr_t>(&word))).ok());
    EXPECT_TRUE(me.launch.fence().ok());
    if (me.rank == Rank{0}) {
      const auto target = *base::Decoder(*me.launch.lookup(Rank{1}, "address")).get<std::uintptr_t>();
      const auto key = *peer.worker().import_key(peer.to(1), *me.launch.lookup(Rank{1}, "key"));
      const std::uint64_t one = 1;
      EXPECT_TRUE(peer.worker().put(peer.to(1), base::bytes_of(one), target, *key, {}).ok());
      if (flush_between) peer.flush_all();
      EXPECT_TRUE(peer.send(1, 0).ok());
      peer.flush_all();
    } else {
      peer.wait_until([&] { return !peer.got.empty(); });
      overtaken = word == 0;
    }
    peer.part();
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return overtaken;
}

TEST(Network, MessagesOvertakePutsUnlessFlushed) {
  int overtaken = 0;
  for (const std::uint64_t seed : seeds(30)) {
    overtaken += puts_overtaken(false, seed);
    EXPECT_EQ(puts_overtaken(true, seed), 0) << "seed " << seed;
  }
  EXPECT_TRUE(overtaken > 5 || seeds(30).size() == 1) << overtaken;
}

TEST(Network, TrafficIsCountedExactly) {
  const auto options = rough(3, 2);
  SimWorld world(options);
  const auto outcome = world.run([](RankWorld& me) {
    Peer peer(me);
    peer.answers = me.rank == Rank{2};
    const Bytes payload(10);
    if (me.rank == Rank{0}) {
      for (std::uint32_t i = 0; i < 20; ++i) EXPECT_TRUE(peer.send(2, i, payload).ok());
      peer.wait_until([&] { return peer.got.size() == 20; });
    }
    if (me.rank == Rank{2}) {
      peer.wait_until([&] { return peer.got.size() == 20; });
      pass_time(me.host, kMillisecond_ns);
      while (peer.worker().progress()) continue;  // replies may be pending
    }
    peer.part();
  });
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  for (const auto& traffic : world.network().traffic()) {
    const bool used = traffic.from == Rank{0} && traffic.to == Rank{2};
    EXPECT_EQ(traffic.messages, used ? 20u : 0u);
    EXPECT_EQ(traffic.message_bytes, used ? 360u : 0u);
    EXPECT_EQ(traffic.replies, used ? 20u : 0u);
  }
  EXPECT_EQ(world.network().messages(), 40u);
}

// ---- breaches of the contract by its user end the process and say what

class Nobody : public transport::MessageSink {
  void on_message(const Message&) override {}
  void on_bulk(const BulkMessage&) override {}
  void on_endpoint_failure(EndpointId, const Status&) override {}
};

TEST(NetworkDeathTest, ABufferReusedTooEarlyIsNoticed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto reuse = [] {
    const auto host = os::make_real_host();
    transport::sim::SimNetwork network({.pending_probability = 1});
    const auto transport = network.make_transport(Rank{0}, *host);
    Nobody nobody;
    const auto worker = *transport->create_worker(nobody);
    const EndpointId self = *worker->connect(worker->address());
    Bytes payload(100);
    [[maybe_unused]] const auto sent = worker->send(self, {}, payload, {});
    payload[50] = std::byte{1};
    for (int i = 0; i < 10; ++i) worker->progress();
  };
  EXPECT_DEATH(reuse(), "payload of a pending message of 100 bytes to rank 0 was changed");
}

TEST(NetworkDeathTest, TwoThreadsOnOneWorkerAreNoticed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto share = [] {
    [[maybe_unused]] const auto outcome = run_world({.ranks = 1}, [](RankWorld& me) {
      Peer peer(me);
      const auto other = *me.host.start("other", {}, [&] {
        for (int i = 0; i < 1000; ++i) peer.worker().progress();
      });
      for (int i = 0; i < 1000; ++i) peer.worker().progress();
    });
  };
  EXPECT_DEATH(share(), "two threads of rank 0 use worker");
}

}  // namespace
}  // namespace grapnel::sim
