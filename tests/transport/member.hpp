// A peer with one worker, connected to all others: what most cases of the conformance suite start from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "transport/peer.hpp"

namespace grapnel::testing {

using transport::BulkHandle;
using transport::BulkMessage;
using transport::Completion;
using transport::EndpointId;
using transport::Message;
using transport::ReplyPath;
using transport::Sent;

/// Bytes that depend on `seed` and on their place, so that a byte at the wrong place or of another message is seen.
inline Bytes pattern(std::uint64_t seed, std::size_t bytes) {
  Bytes result(bytes);
  base::Random random(seed * 2654435761 + bytes);
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(result.data() + at, &word, 8);
  }
  for (; at < bytes; ++at) result[at] = static_cast<std::byte>(random.next());
  return result;
}

inline bool is_pattern(ByteView bytes, std::uint64_t seed) {
  const Bytes expected = pattern(seed, bytes.size());
  return bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0;
}

struct BulkLetter {
  Bytes header;
  std::size_t bytes = 0;
  ReplyPath reply_path;
  BulkHandle bulk;
};

struct Letter {
  Bytes header;
  Bytes payload;
  ReplyPath reply_path;
};

/// Keeps what arrives, or hands it on while it is there.
class Mailbox final : public transport::MessageSink {
 public:
  void on_message(const Message& message) override {
    ++arrived;
    if (handle) {
      handle(message);
      return;
    }
    letters.push_back({.header = {message.header.begin(), message.header.end()},
                       .payload = {message.payload.begin(), message.payload.end()},
                       .reply_path = message.reply_path});
  }
  void on_bulk(const BulkMessage& message) override {
    ++announced;
    if (handle_bulk) {
      handle_bulk(message);
      return;
    }
    bulk_letters.push_back({.header = {message.header.begin(), message.header.end()},
                            .bytes = message.payload_bytes,
                            .reply_path = message.reply_path,
                            .bulk = message.bulk});
  }
  void on_endpoint_failure(EndpointId endpoint, const Status& why) override { failures.emplace_back(endpoint, why); }

  std::size_t arrived = 0;
  std::deque<Letter> letters;
  std::function<void(const Message&)> handle;
  std::size_t announced = 0;
  std::deque<BulkLetter> bulk_letters;
  std::function<void(const BulkMessage&)> handle_bulk;
  std::vector<std::pair<EndpointId, Status>> failures;
};

/// One operation with the memory that it needs, and how often and how it ended.
struct Tracked {
  Bytes header;
  Bytes payload;
  bool done = false;  ///< ended at once: must never be told again
  int told = 0;
  Status outcome;
  std::function<void()> then;  ///< called when told

  Completion completion() {
    return {.notify =
                [](void* context, const Status& how) {
                  auto& self = *static_cast<Tracked*>(context);
                  ++self.told;
                  self.outcome = how;
                  if (self.then) self.then();
                },
            .context = this};
  }
  bool ended() const { return done || told > 0; }
};

class Member {
 public:
  static constexpr std::uint64_t kPatience_ns = 30 * base::kSecond_ns;

  explicit Member(Peer& peer) : peer_(peer), endpoints_(static_cast<std::size_t>(peer.count())) {
    auto worker = peer.transport().create_worker(mailbox_);
    if (!worker.ok()) {
      ADD_FAILURE() << worker.status().to_string();
      return;
    }
    worker_ = std::move(*worker);
    const auto addresses = peer.exchange(worker_->address());
    for (int other = 0; other < peer.count(); ++other) {
      if (other == peer.index()) continue;
      const auto endpoint = worker_->connect(addresses[static_cast<std::size_t>(other)]);
      if (!endpoint.ok()) {
        ADD_FAILURE() << endpoint.status().to_string();
        worker_.reset();
        return;
      }
      endpoints_[static_cast<std::size_t>(other)] = *endpoint;
    }
  }

  bool ready() const { return worker_ != nullptr; }
  transport::Worker& worker() { return *worker_; }
  Mailbox& mailbox() { return mailbox_; }
  EndpointId to(int other) const { return endpoints_[static_cast<std::size_t>(other)]; }

  /// Exchanges a message with every other peer, so that all connections stand: a connection that is still being made
  /// needs the other side to call progress, whatever is sent over it.
  void meet() {
    for (int other = 0; other < peer_.count(); ++other) {
      if (other != peer_.index()) send(other, {}, {});
    }
    const auto others = static_cast<std::size_t>(peer_.count()) - 1;
    EXPECT_TRUE(until([&] { return mailbox_.arrived == others && all_ended(); }));
    for (int other = 0; other < peer_.count(); ++other) {
      if (other == peer_.index()) continue;
      Tracked& flushed = flush(other);
      EXPECT_TRUE(until([&] { return flushed.ended(); }));
    }
    peer_.exchange({});
    mailbox_.letters.clear();
    mailbox_.arrived = 0;
  }

  /// Progresses until `reached`, sleeping where nothing happens; false after kPatience_ns.
  bool until(const std::function<bool()>& reached) {
    const std::uint64_t deadline = peer_.host().now_ns() + kPatience_ns;
    while (!reached()) {
      if (worker_->progress()) continue;
      if (peer_.host().now_ns() > deadline) return false;
      worker_->sleep(base::kMillisecond_ns);
    }
    return true;
  }

  /// Sends with memory that lives as long as this member.
  Tracked& send(int other, Bytes header, Bytes payload) {
    return post(std::move(header), std::move(payload), [this, other](Tracked& message) {
      return worker_->send(to(other), message.header, message.payload, message.completion());
    });
  }
  Tracked& send_whole(int other, Bytes header, Bytes payload) {
    return post(std::move(header), std::move(payload), [this, other](Tracked& message) {
      return worker_->send_whole(to(other), message.header, message.payload, message.completion());
    });
  }
  Tracked& reply(ReplyPath path, Bytes header, Bytes payload) {
    return post(std::move(header), std::move(payload), [this, path](Tracked& message) {
      return worker_->reply(path, message.header, message.payload, message.completion());
    });
  }
  Tracked& flush(int other) {
    return post({}, {}, [this, other](Tracked& flush) { return worker_->flush(to(other), flush.completion()); });
  }

  const std::deque<Tracked>& sent() const { return sent_; }
  bool all_ended() const {
    for (const Tracked& operation : sent_) {
      if (!operation.ended()) return false;
    }
    return true;
  }
  /// Every operation so far succeeded and was told exactly once, or not at all where it was done at once.
  void expect_all_well() const {
    for (const Tracked& operation : sent_) {
      EXPECT_EQ(operation.told, operation.done ? 0 : 1);
      EXPECT_TRUE(operation.outcome.ok()) << operation.outcome.to_string();
    }
  }

 private:
  template <typename Start>
  Tracked& post(Bytes header, Bytes payload, Start start) {
    Tracked& operation = sent_.emplace_back();
    operation.header = std::move(header);
    operation.payload = std::move(payload);
    const Result<Sent> started = start(operation);
    if (!started.ok()) operation.outcome = started.status();
    operation.done = !started.ok() || *started == Sent::done;
    return operation;
  }

  Peer& peer_;
  Mailbox mailbox_;
  std::deque<Tracked> sent_;
  std::vector<EndpointId> endpoints_;
  std::unique_ptr<transport::Worker> worker_;
};

}  // namespace grapnel::testing
