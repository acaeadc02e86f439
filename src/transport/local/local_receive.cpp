// What arrives: frames out of the bytes of a connection, bulk payloads into their places.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "transport/local/local_worker.hpp"

namespace grapnel::transport::local {
namespace {

/// Of one connection, that the sink has neither received nor declined: more than a window of requests announces.
constexpr std::size_t kMostArrivals = 65536;

}  // namespace

// One read: what belongs to a frame or a payload that is begun is read there, the rest into the worker's buffer.
bool LocalWorker::read(Connection& connection) {
  Incoming& incoming = connection.incoming;
  iovec parts[2] = {{nullptr, 0}, {buffer_.get(), kReadBytes}};
  if (incoming.chunk_left > 0) {
    parts[0] = {incoming.landing->place + incoming.landing->received, incoming.chunk_left};
  } else if (incoming.received > 0) {
    parts[0] = {incoming.partial.data() + incoming.received, incoming.partial.size() - incoming.received};
  }
  const std::size_t there = parts[0].iov_len;
  ssize_t got = -1;
  do {
    got = there == 0 ? ::recv(connection.socket.number(), buffer_.get(), kReadBytes, MSG_DONTWAIT)
                     : ::readv(connection.socket.number(), parts, 2);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    const char* why = got == 0 ? "it was closed at the other end" : std::strerror(errno);
    fail(connection, peer_gone(why));
    return true;
  }
  const std::size_t bytes = static_cast<std::size_t>(got);
  const std::size_t in_place = std::min(bytes, there);
  if (incoming.chunk_left > 0) {
    take_into_place(connection, in_place);
  } else if (there > 0) {
    // As if it had come into the buffer: it is where it belongs already.
    incoming.received += in_place;
    take_partial(connection, {});
  }
  take(connection, ByteView(buffer_.get(), bytes - in_place));
  return true;
}

void LocalWorker::take(Connection& connection, ByteView bytes) {
  Incoming& incoming = connection.incoming;
  while (!bytes.empty() && !connection.ending) {
    if (incoming.chunk_left > 0 || incoming.zeros_left > 0) {
      bytes = take_chunk(connection, bytes);
    } else if (incoming.received > 0) {
      bytes = take_partial(connection, bytes);
    } else {
      bytes = take_frames(connection, bytes);
    }
  }
}

ByteView LocalWorker::take_chunk(Connection& connection, ByteView bytes) {
  Incoming& incoming = connection.incoming;
  if (incoming.chunk_left > 0) {
    const std::size_t count = std::min(bytes.size(), incoming.chunk_left);
    std::memcpy(incoming.landing->place + incoming.landing->received, bytes.data(), count);
    take_into_place(connection, count);
    return bytes.subspan(count);
  }
  const std::size_t zeros = std::min(bytes.size(), incoming.zeros_left);
  incoming.zeros_left -= zeros;
  return bytes.subspan(zeros);
}

void LocalWorker::take_into_place(Connection& connection, std::size_t bytes) {
  Incoming& incoming = connection.incoming;
  Arrival& arrival = *incoming.landing;
  incoming.chunk_left -= bytes;
  arrival.received += bytes;
  if (incoming.chunk_left > 0) return;
  incoming.landing = nullptr;
  if (arrival.received < arrival.bytes) return;
  connection.arrivals.erase(arrival.number);
  arrival.state = Arrival::State::ended;
  landed_.push_back(&arrival);
}

// Adds to the frame that is begun; hands it on when it is whole.
ByteView LocalWorker::take_partial(Connection& connection, ByteView bytes) {
  Incoming& incoming = connection.incoming;
  const std::size_t count = std::min(bytes.size(), incoming.partial.size() - incoming.received);
  if (count > 0) std::memcpy(incoming.partial.data() + incoming.received, bytes.data(), count);
  incoming.received += count;
  bytes = bytes.subspan(count);
  if (incoming.received < incoming.partial.size()) return bytes;
  FrameHead head;
  std::memcpy(&head, incoming.partial.data(), sizeof head);
  if (incoming.partial.size() == sizeof head) {
    if (const char* fault = fault_of(head)) {
      wrong(connection, fault);
      return bytes;
    }
    if (head.kind == FrameKind::chunk) {
      incoming.received = 0;
      begin_chunk(connection, head);
      return bytes;
    }
    if (frame_bytes(head) > sizeof head) {
      incoming.partial.resize(frame_bytes(head));
      return bytes;
    }
  }
  // Taken out: the sink may be called, and the buffer is freed when the frame was a long one.
  const Bytes whole = std::exchange(incoming.partial, {});
  incoming.received = 0;
  const ByteView rest = ByteView(whole).subspan(sizeof head);
  deliver(connection, head, rest.first(head.header_bytes),
          rest.subspan(padded(head.header_bytes), payload_bytes(head)));
  return bytes;
}

// Frames that lie whole in the buffer; the last one may be begun only.
ByteView LocalWorker::take_frames(Connection& connection, ByteView bytes) {
  Incoming& incoming = connection.incoming;
  FrameHead head;
  std::size_t wanted = sizeof head;
  if (bytes.size() >= sizeof head) {
    std::memcpy(&head, bytes.data(), sizeof head);
    if (const char* fault = fault_of(head)) {
      wrong(connection, fault);
      return {};
    }
    if (head.kind == FrameKind::chunk) {
      begin_chunk(connection, head);
      return bytes.subspan(sizeof head);
    }
    wanted = frame_bytes(head);
    if (wanted <= bytes.size()) {
      const ByteView rest = bytes.subspan(sizeof head);
      deliver(connection, head, rest.first(head.header_bytes),
              rest.subspan(padded(head.header_bytes), payload_bytes(head)));
      return bytes.subspan(wanted);
    }
  }
  incoming.partial.resize(wanted);
  std::memcpy(incoming.partial.data(), bytes.data(), bytes.size());
  incoming.received = bytes.size();
  return {};
}

void LocalWorker::begin_chunk(Connection& connection, const FrameHead& head) {
  const auto found = connection.arrivals.find(head.number);
  const bool landing = found != connection.arrivals.end() && found->second->state == Arrival::State::landing;
  if (!landing || head.length > found->second->bytes - found->second->received) {
    wrong(connection, "a chunk that was not requested");
    return;
  }
  connection.incoming.landing = found->second;
  connection.incoming.chunk_left = head.length;
  connection.incoming.zeros_left = padded(head.length) - head.length;
}

void LocalWorker::deliver(Connection& connection, const FrameHead& head, ByteView header, ByteView payload) {
  switch (head.kind) {
    case FrameKind::message:
      if (!closing_) sink_.on_message({.header = header, .payload = payload, .reply_path = {&connection}});
      return;
    case FrameKind::announcement: return announce(connection, head, header);
    case FrameKind::request: return bulk_requested(connection, head.number);
    case FrameKind::decline: return bulk_declined(connection, head.number);
    case FrameKind::hello:
    case FrameKind::chunk: return;  // fault_of and begin_chunk take these
  }
}

void LocalWorker::announce(Connection& connection, const FrameHead& head, ByteView header) {
  if (head.number != connection.last_announced + 1) return wrong(connection, "an announcement out of turn");
  if (connection.arrivals.size() >= kMostArrivals) return wrong(connection, "too many bulk payloads at once");
  ++connection.last_announced;
  Arrival& arrival = arrivals_.acquire();
  arrival.connection = &connection;
  arrival.number = head.number;
  arrival.bytes = head.length;
  connection.arrivals.emplace(head.number, &arrival);
  if (closing_) return decline({&arrival});
  sink_.on_bulk({.header = header, .payload_bytes = arrival.bytes, .reply_path = {&connection}, .bulk = {&arrival}});
}

void LocalWorker::receive(BulkHandle bulk, ByteSpan place, Completion landed) {
  Arrival& arrival = offered_arrival<Arrival>(bulk, place.size());
  Connection& connection = *arrival.connection;
  arrival.completion = landed;
  arrival.place = place.data();
  arrival.state = Arrival::State::landing;
  const FrameHead head{.kind = FrameKind::request, .number = arrival.number};
  if (connection.failure.ok()) static_cast<void>(start(connection, head, {}, {}, {}));
  if (connection.failure.ok()) return;
  connection.arrivals.erase(arrival.number);
  arrival.state = Arrival::State::ended;
  arrival.outcome = connection.failure;
  landed_.push_back(&arrival);
}

void LocalWorker::decline(BulkHandle bulk) {
  auto* arrival = static_cast<Arrival*>(bulk.handle);
  offered_arrival<Arrival>(bulk, arrival->bytes);
  Connection& connection = *arrival->connection;
  const FrameHead head{.kind = FrameKind::decline, .number = arrival->number};
  connection.arrivals.erase(arrival->number);
  arrivals_.release(*arrival);
  if (connection.failure.ok()) static_cast<void>(start(connection, head, {}, {}, {}));
}

void LocalWorker::wrong(Connection& connection, const char* what) {
  if (connection.ending) return;
  base::log_warn("closed a connection of this machine: it brought {}", what);
  fail(connection, Status(Code::peer_dead, std::string("a peer's connection was closed: it brought ") + what));
}

}  // namespace grapnel::transport::local
