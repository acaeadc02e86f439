// Conformance: flush, sleep, wake.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "transport/conformance_fixture.hpp"

namespace grapnel::testing {

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
      run_connected(
          2, [=](Peer& peer, Member& member) { sends_flushes_and_stops_calling(peer, member, messages, bytes); });
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

// Drives the worker of the peer's first thread, which dozes: takes message 1, and asks for message 2.
inline void drive(Peer& peer, Member& member, std::atomic<bool>& given_back) {
  transport::Worker& worker = member.worker();
  worker.lend();
  EXPECT_TRUE(member.until([&] { return member.mailbox().arrived == 1; }));
  Tracked& asked = member.send(0, number(0), {});
  EXPECT_TRUE(member.until([&] { return asked.ended() && member.all_ended(); }));
  pause(peer, 5 * base::kMillisecond_ns);
  const bool armed = worker.arm();
  worker.take_back();
  given_back.store(true, std::memory_order_release);
  if (!armed) worker.wake();
}

TEST_P(TransportConformance, ADriverSleepsInPlaceOfTheOwnerWhichIsWokenAfterwards) {
  run_connected(2, [](Peer& peer, Member& member) {
    member.meet();
    if (peer.index() == 0) {
      pause(peer, 10 * base::kMillisecond_ns);
      member.send(1, number(1), Bytes(100));
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 1; }));
      pause(peer, 30 * base::kMillisecond_ns);
      member.send(1, number(2), Bytes(100));
      ASSERT_TRUE(member.until([&] { return member.all_ended(); }));
      return;
    }
    const std::uint64_t start = peer.host().now_ns();
    transport::Worker& worker = member.worker();
    while (!worker.arm()) worker.progress();
    std::atomic<bool> given_back{false};  // release and acquire of each other
    auto thread = peer.host().start("driver", {}, [&] { drive(peer, member, given_back); });
    ASSERT_TRUE(thread.ok());
    while (!given_back.load(std::memory_order_acquire)) worker.doze(20 * base::kSecond_ns);
    while (member.mailbox().arrived < 2) {
      if (!worker.progress() && worker.arm()) worker.doze(20 * base::kSecond_ns);
    }
    thread->reset();
    EXPECT_LT(peer.host().now_ns() - start, 10 * base::kSecond_ns);
  });
}

}  // namespace grapnel::testing
