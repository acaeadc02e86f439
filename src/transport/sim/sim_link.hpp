// What lies between two simulated workers: mailboxes, and connections with a line in each direction.
//
// Invariants:
//  1. A packet is in exactly one place: a line's backlog (not left yet) or a mailbox (on its way or arrived).
//  2. `Line::last_arrival_ns` never falls, and packets of a line arrive at ascending times: that is the order promised.
//  3. A line's members above "shared" belong to the thread that uses the sending worker.
//  4. A thread that changes what a sleeping worker waits for calls `Mailbox::nudge` after.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "base/mutex.hpp"
#include "os/host.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport::sim {

inline constexpr std::uint64_t kNever = UINT64_MAX;

struct Connection;
struct Line;
struct Mailbox;

/// What a packet is: a message, or a step of a bulk one: announced, taken or declined by the receiver, and the payload.
enum class PacketKind { message, announcement, taken, declined, payload };

struct Packet {
  Line* line = nullptr;
  PacketKind kind = PacketKind::message;
  Bytes header{};
  Bytes payload{};
  std::uint64_t arrival_ns = 0;
  std::uint64_t bulk = 0;      ///< the sender's number of a bulk message
  std::uint64_t arrival = 0;   ///< the receiver's number of it
  std::size_t bulk_bytes = 0;  ///< announced
  std::size_t bytes() const { return header.size() + payload.size(); }
};

/// A message that has not left: the payload is still the caller's, and must not change.
struct PendingSend {
  PacketKind kind = PacketKind::message;
  Bytes header{};
  ByteView payload{};
  std::uint64_t payload_hash = 0;
  Completion completion{};
  std::uint32_t holds = 0;  ///< calls of `progress` that it sits out
  std::uint64_t sequence = 0;
  std::uint64_t bulk = 0, arrival = 0;  ///< as in Packet
  std::size_t bulk_bytes = 0;
};

struct PendingFlush {
  Completion completion;
  std::uint64_t last_sequence = 0;  ///< of the sends and puts that it waits for
  std::uint64_t not_before_ns = 0;  ///< the last put's landing and the way back
};

/// One direction of a connection.
struct Line {
  Connection* connection = nullptr;
  Mailbox* source = nullptr;
  Mailbox* target = nullptr;
  std::optional<EndpointId> endpoint;  ///< none: the way back
  std::uint64_t last_arrival_ns = 0;
  std::deque<PendingSend> backlog;
  std::optional<PendingFlush> flush;
  bool listed = false;  ///< in its worker's list of lines
  bool failure_told = false;

  // shared
  std::atomic<std::size_t> in_flight_bytes{0};
  std::atomic<bool> starved{false};  ///< the sender waits for in-flight bytes to arrive
  std::atomic<std::uint64_t> messages{0}, bytes{0};
};

struct Connection {
  Line forward;                                  ///< from the side that connected
  Line backward;                                 ///< replies
  std::atomic<std::uint64_t> cut_at_ns{kNever};  ///< what would arrive later does not
  std::atomic<std::uint64_t> puts{0}, put_bytes{0}, gets{0}, get_bytes{0}, atomics{0};
};

/// The receiving end of a worker.
struct Mailbox {
  const std::uint64_t id;
  const Rank rank;
  os::Word bell{0};                 ///< changes with every nudge; what the worker sleeps on
  std::atomic<bool> woken{false};   ///< `Worker::wake` was called
  std::atomic<bool> closed{false};  ///< the worker or its process is gone

  Mailbox(std::uint64_t mailbox_id, Rank owner) : id(mailbox_id), rank(owner) {}

  void push(Packet packet, os::Host& host);
  /// The earliest packet that has arrived by `now_ns`.
  std::optional<Packet> pop(std::uint64_t now_ns);
  void nudge(os::Host& host);
  void close();

  struct Sleep {
    std::uint32_t seen;  ///< value of `bell` to sleep on
    std::uint64_t next_arrival_ns;
  };
  /// From here until `end_sleep` a nudge rings the bell. The caller looks at everything else after this.
  Sleep begin_sleep();
  void end_sleep();

 private:
  base::Mutex mutex_;  ///< never held across a call of a Host
  std::multimap<std::uint64_t, Packet> packets_
      GRAPNEL_GUARDED_BY(mutex_);                ///< by arrival; equal times in the order of pushing
  int sleepers_ GRAPNEL_GUARDED_BY(mutex_) = 0;  ///< an owner that dozes, and the thread in its stead
};

}  // namespace grapnel::transport::sim
