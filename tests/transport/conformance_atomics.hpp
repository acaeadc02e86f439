// Conformance: native atomics. The target's tasks take no part once an endpoint is opened for them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <set>

#include "transport/conformance_fixture.hpp"

namespace grapnel::testing {

/// One peer's words, as another reaches them.
struct RemoteWords {
  std::uintptr_t address = 0;
  std::unique_ptr<transport::RemoteKey> key;
};

/// Runs an atomic of `member` to its end.
inline std::uint64_t finish_atomic(Member& member, int target, const RemoteWords& words, std::size_t position,
                                   const transport::Atomic& what) {
  std::uint64_t old_value = ~std::uint64_t{0};
  Tracked operation;
  const auto started =
      member.worker().atomic(member.to(target), what, &old_value, words.address + position * sizeof old_value,
                             *words.key, operation.completion());
  EXPECT_TRUE(started.ok()) << started.status().to_string();
  operation.done = started.ok() && *started == Sent::done;
  EXPECT_TRUE(!started.ok() || member.until([&] { return operation.ended(); }));
  EXPECT_TRUE(operation.outcome.ok()) << operation.outcome.to_string();
  EXPECT_EQ(operation.told, operation.done ? 0 : 1);
  return old_value;
}

/// The registered words of peer 0, opened in all others.
inline RemoteWords open_words(Peer& peer, Member& member, ByteView address_and_key) {
  RemoteWords words;
  Tracked opened;
  const auto started = member.worker().open_atomics(member.to(0), opened.completion());
  EXPECT_TRUE(started.ok()) << started.status().to_string();
  if (!started.ok()) return words;
  opened.done = *started == Sent::done;
  EXPECT_TRUE(member.until([&] { return opened.ended(); })) << "peer " << peer.index();
  EXPECT_TRUE(opened.outcome.ok()) << opened.outcome.to_string();
  base::Decoder decoder(address_and_key);
  words.address = *decoder.get<std::uintptr_t>();
  auto key = member.worker().import_key(member.to(0), *decoder.get_string());
  EXPECT_TRUE(key.ok()) << key.status().to_string();
  if (key.ok()) words.key = std::move(*key);
  return words;
}

TEST_P(TransportConformance, NativeAtomicsNeedNobodyAtTheTarget) {
  using Kind = transport::Atomic::Kind;
  constexpr std::uint64_t kEach = 40;
  run_connected(3, [](Peer& peer, Member& member) {
    alignas(8) std::array<std::uint64_t, 4> memory{};
    member.meet();
    const ByteSpan bytes = std::as_writable_bytes(std::span(memory));
    auto registered = peer.transport().register_memory(bytes, transport::Access::atomics);
    if (!peer.transport().capabilities().native_atomics.suffice()) {
      EXPECT_EQ(registered.status().code(), Code::unavailable);
      Tracked opened;
      const int other = peer.index() == 0 ? 1 : 0;
      EXPECT_EQ(member.worker().open_atomics(member.to(other), opened.completion()).status().code(), Code::unavailable);
      return;
    }
    ASSERT_TRUE(registered.ok()) << registered.status().to_string();
    base::Encoder encoder;
    encoder.put(reinterpret_cast<std::uintptr_t>(memory.data())).put_string((*registered)->key());
    const auto all = peer.exchange(encoder.take());
    if (peer.index() == 0) {
      // The others open their endpoints; when they have, this worker makes no more progress.
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 2; }));
      peer.exchange({});
      const auto tickets = peer.exchange({});
      std::set<std::uint64_t> seen;
      for (const int other : {1, 2}) {
        base::Decoder decoder(tickets[static_cast<std::size_t>(other)]);
        for (std::uint64_t i = 0; i < kEach; ++i) seen.insert(*decoder.get<std::uint64_t>());
      }
      EXPECT_EQ(seen.size(), 2 * kEach);
      EXPECT_EQ(*seen.rbegin(), 2 * kEach - 1);
      EXPECT_EQ(memory[0], 2 * kEach);
      EXPECT_EQ(memory[1], 2 * kEach);
      EXPECT_EQ(memory[3], 0U);
      return;
    }
    const RemoteWords words = open_words(peer, member, all[0]);
    ASSERT_NE(words.key, nullptr);
    member.send(0, number(1), {});
    Tracked& flushed = member.flush(0);
    ASSERT_TRUE(member.until([&] { return flushed.ended(); }));
    peer.exchange({});
    base::Encoder tickets;
    for (std::uint64_t i = 0; i < kEach; ++i) {
      tickets.put(finish_atomic(member, 0, words, 0, {Kind::fetch_add, 1}));
      // An addition by compare-and-swap: each success counts one.
      for (std::uint64_t expected = 0;;) {
        const std::uint64_t found = finish_atomic(member, 0, words, 1, {Kind::compare_swap, expected + 1, expected});
        if (found == expected) break;
        expected = found;
      }
    }
    EXPECT_LT(finish_atomic(member, 0, words, 0, {Kind::fetch_add, 0}), 2 * kEach + 1);
    peer.exchange(tickets.take());
  });
}

TEST_P(TransportConformance, NativeAtomicsOfADeadPeerFail) {
  using Kind = transport::Atomic::Kind;
  if (!group_->peers_can_die()) GTEST_SKIP() << "the peers of this group cannot be killed";
  run(2, [](Peer& peer) {
    Member member(peer);
    ASSERT_TRUE(member.ready());
    const auto& capabilities = peer.transport().capabilities();
    if (!capabilities.detects_dead_peers || !capabilities.native_atomics.suffice()) return;
    member.meet();
    alignas(8) std::array<std::uint64_t, 2> memory{};
    auto registered =
        peer.transport().register_memory(std::as_writable_bytes(std::span(memory)), transport::Access::atomics);
    ASSERT_TRUE(registered.ok()) << registered.status().to_string();
    base::Encoder encoder;
    encoder.put(reinterpret_cast<std::uintptr_t>(memory.data())).put_string((*registered)->key());
    const auto all = peer.exchange(encoder.take());
    if (peer.index() == 0) {
      ASSERT_TRUE(member.until([&] { return member.mailbox().arrived == 1; }));
      peer.die();
    }
    const RemoteWords words = open_words(peer, member, all[0]);
    ASSERT_NE(words.key, nullptr);
    member.send(0, number(1), {});
    // Until one fails: the first ones may reach the memory before the death.
    Status outcome;
    const std::uint64_t deadline = peer.host().now_ns() + 20 * base::kSecond_ns;
    while (outcome.ok() && peer.host().now_ns() < deadline) {
      std::uint64_t old_value = 0;
      Tracked operation;
      const auto started = member.worker().atomic(member.to(0), {Kind::fetch_add, 1}, &old_value, words.address,
                                                  *words.key, operation.completion());
      operation.done = !started.ok() || *started == Sent::done;
      ASSERT_TRUE(member.until([&] { return operation.ended(); }));
      outcome = started.ok() ? operation.outcome : started.status();
    }
    EXPECT_EQ(outcome.code(), Code::peer_dead) << outcome.to_string();
    EXPECT_EQ(member.mailbox().failures.size(), 1U);
  });
}

}  // namespace grapnel::testing
