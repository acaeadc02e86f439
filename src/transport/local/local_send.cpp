// What leaves: messages at once or from the queue, bulk payloads in chunks, flushes.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "transport/local/local_events.hpp"
#include "transport/local/local_worker.hpp"

namespace grapnel::transport::local {
namespace {

constexpr std::array<std::byte, 8> kZeros{};
/// Payloads up to this are copied behind the header: one short copy costs less than a list of parts.
constexpr std::size_t kCopiedBytes = 1024;
constexpr std::size_t kFramesAtOnce = 16;
/// System calls of one look that empties a queue, so that a fast receiver does not keep the other connections waiting.
constexpr int kSendsAtOnce = 4;

// Head, header and zeros in a row. Answers their length.
std::size_t compose(std::byte* front, const FrameHead& head, ByteView header) {
  const std::size_t bytes = sizeof head + padded(header.size());
  std::memset(front + bytes - 8, 0, 8);
  std::memcpy(front, &head, sizeof head);
  if (!header.empty()) std::memcpy(front + sizeof head, header.data(), header.size());
  return bytes;
}

// The parts of a frame after its first `skip` bytes.
std::size_t parts_of(iovec* parts, ByteView front, ByteView payload, std::size_t skip) {
  std::size_t count = 0;
  for (const ByteView part : {front, payload, ByteView(kZeros).first(padded(payload.size()) - payload.size())}) {
    const std::size_t skipped = std::min(skip, part.size());
    skip -= skipped;
    if (skipped == part.size()) continue;
    parts[count++] = {const_cast<std::byte*>(part.data() + skipped), part.size() - skipped};
  }
  return count;
}

bool is_full(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

ssize_t send_parts(int socket, iovec* parts, std::size_t count) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

}  // namespace

Connection& LocalWorker::connection(EndpointId id) {
  const auto position = static_cast<std::size_t>(id);
  GRAPNEL_CHECK(position < endpoints_.size(), "endpoint {} of {}", position, endpoints_.size());
  return *endpoints_[position];
}

Result<Sent> LocalWorker::send(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  return send_on(connection(to), header, payload, completion, kMaxPayloadBytes);
}

Result<Sent> LocalWorker::send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  GRAPNEL_CHECK(payload.size() <= kMaxWholeBytes, "a payload of {} bytes, of {}", payload.size(), kMaxWholeBytes);
  return send_on(connection(to), header, payload, completion, kMaxWholeBytes);
}

Result<Sent> LocalWorker::reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) {
  GRAPNEL_CHECK(to.handle != nullptr, "a reply along no path");
  return send_on(*static_cast<Connection*>(to.handle), header, payload, completion, kMaxPayloadBytes);
}

Result<Sent> LocalWorker::send_on(Connection& connection, ByteView header, ByteView payload, Completion completion,
                                  std::size_t most_whole_bytes) {
  GRAPNEL_CHECK(header.size() <= kMaxHeaderBytes, "a header of {} bytes, of {}", header.size(), kMaxHeaderBytes);
  GRAPNEL_CHECK(payload.size() <= kMaxBulkBytes, "a payload of {} bytes, of {}", payload.size(), kMaxBulkBytes);
  if (!connection.failure.ok()) [[unlikely]]
    return connection.failure;
  FrameHead head{.kind = FrameKind::message,
                 .header_bytes = static_cast<std::uint16_t>(header.size()),
                 .length = static_cast<std::uint32_t>(payload.size())};
  if (payload.size() <= most_whole_bytes) [[likely]]
    return start(connection, head, header, payload, completion);
  head.kind = FrameKind::announcement;
  head.number = ++connection.last_bulk_number;
  connection.bulk.push_back({.number = head.number, .payload = payload, .completion = completion});
  Result<Sent> announced = start(connection, head, header, {}, {});
  if (announced.ok()) return Sent::pending;
  connection.bulk.pop_back();
  return announced;
}

// Into the socket where nothing waits, else, or the rest of it, into the queue.
Result<Sent> LocalWorker::start(Connection& connection, const FrameHead& head, ByteView header, ByteView payload,
                                Completion completion) {
  std::byte front[kMaxFrontBytes + kCopiedBytes];
  const std::size_t front_bytes = compose(front, head, header);
  std::size_t sent = 0;
  if (connection.frames.empty() && !connection.connecting) [[likely]] {
    ssize_t taken = 0;
    if (payload.size() <= kCopiedBytes) {
      const std::size_t bytes = front_bytes + padded(payload.size());
      std::memset(front + bytes - 8, 0, payload.empty() ? 0 : 8);
      if (!payload.empty()) std::memcpy(front + front_bytes, payload.data(), payload.size());
      do {
        taken = ::send(connection.socket.number(), front, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      } while (taken < 0 && errno == EINTR);
    } else {
      iovec parts[3];
      const std::size_t count = parts_of(parts, ByteView(front, front_bytes), payload, 0);
      taken = send_parts(connection.socket.number(), parts, count);
    }
    if (taken < 0 && !is_full(errno)) [[unlikely]] {
      // Reported when all that the peer had sent before its end is read; see `read`.
      connection.failure = peer_gone(std::strerror(errno));
      return connection.failure;
    }
    sent = taken < 0 ? 0 : static_cast<std::size_t>(taken);
    if (sent == front_bytes + padded(payload.size())) [[likely]]
      return Sent::done;
  }
  queue(connection, ByteView(front, front_bytes), head.kind, head.number, payload, completion, sent);
  watch_for_room(connection);
  return Sent::pending;
}

void LocalWorker::queue(Connection& connection, ByteView front, FrameKind kind, std::uint32_t number, ByteView payload,
                        Completion completion, std::size_t sent) {
  if (connection.frames.empty()) connection.front_sent = sent;
  OutgoingFrame& frame = connection.frames.emplace_back();
  std::memcpy(frame.front.data(), front.data(), front.size());
  frame.front_bytes = static_cast<std::uint32_t>(front.size());
  frame.kind = kind;
  frame.number = number;
  frame.payload = payload;
  frame.completion = completion;
  ++connection.frames_queued;
}

// The event loop looks for room in the socket exactly where something waits for it.
void LocalWorker::watch_for_room(Connection& connection) {
  const bool more = !connection.frames.empty() || !connection.requested.empty();
  if (more == connection.wants_room || connection.connecting) return;
  const bool watched = watch(connection, more ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
  GRAPNEL_CHECK(watched, "epoll_ctl on a connection failed with errno {}", errno);
}

// The next piece of the bulk payload that was requested first.
void LocalWorker::queue_chunk(Connection& connection) {
  const std::uint32_t number = connection.requested.front();
  OutgoingBulk* bulk = nullptr;
  for (OutgoingBulk& one : connection.bulk) {
    if (one.number == number) bulk = &one;
  }
  const std::size_t bytes = std::min(kMaxChunkBytes, bulk->payload.size() - bulk->sent);
  const FrameHead head{.kind = FrameKind::chunk, .number = number, .length = static_cast<std::uint32_t>(bytes)};
  std::byte front[sizeof head];
  compose(front, head, {});
  queue(connection, ByteView(front), head.kind, number, bulk->payload.subspan(bulk->sent, bytes), {}, 0);
  bulk->sent += bytes;
  if (bulk->sent == bulk->payload.size()) connection.requested.pop_front();
}

// Gives the socket what it takes of the queue and of the bulk payloads that were requested.
void LocalWorker::move_out(Connection& connection) {
  if (!connection.failure.ok() || connection.connecting) return;
  for (int sends = 0; sends < kSendsAtOnce; ++sends) {
    if (connection.frames.empty() && !connection.requested.empty()) queue_chunk(connection);
    if (connection.frames.empty() || !send_some(connection)) break;
  }
  if (!connection.failure.ok()) return;
  watch_for_room(connection);
  end_flushes(connection);
}

// One system call. True when all that it was given was taken.
bool LocalWorker::send_some(Connection& connection) {
  iovec parts[3 * kFramesAtOnce];
  std::size_t count = 0;
  std::size_t given = 0;
  std::size_t skip = connection.front_sent;
  const std::size_t frames = std::min(kFramesAtOnce, connection.frames.size());
  for (std::size_t i = 0; i < frames; ++i) {
    const OutgoingFrame& frame = connection.frames[i];
    count += parts_of(parts + count, ByteView(frame.front.data(), frame.front_bytes), frame.payload, skip);
    given += frame.bytes() - skip;
    skip = 0;
  }
  const ssize_t taken = send_parts(connection.socket.number(), parts, count);
  if (taken < 0) {
    if (is_full(errno)) return false;
    // Reported when all that the peer had sent before its end is read; see `read`.
    connection.failure = peer_gone(std::strerror(errno));
    return false;
  }
  std::size_t left_bytes = connection.front_sent + static_cast<std::size_t>(taken);
  while (!connection.frames.empty() && left_bytes >= connection.frames.front().bytes()) {
    left_bytes -= connection.frames.front().bytes();
    left(connection, connection.frames.front());
    connection.frames.pop_front();
  }
  connection.front_sent = left_bytes;
  return static_cast<std::size_t>(taken) == given;
}

void LocalWorker::left(Connection& connection, OutgoingFrame& frame) {
  ++connection.frames_left;
  if (frame.kind == FrameKind::message) return ended(frame.completion, {});
  if (frame.kind != FrameKind::chunk) return;
  const auto bulk = std::find_if(connection.bulk.begin(), connection.bulk.end(),
                                 [&](const OutgoingBulk& one) { return one.number == frame.number; });
  if (bulk->sent < bulk->payload.size()) return;
  ended(bulk->completion, {});
  connection.bulk.erase(bulk);
}

void LocalWorker::ended(Completion completion, Status outcome) {
  if (completion.notify != nullptr) ended_.push_back({completion, std::move(outcome)});
}

void LocalWorker::bulk_requested(Connection& connection, std::uint32_t number) {
  for (OutgoingBulk& bulk : connection.bulk) {
    if (bulk.number != number) continue;
    if (std::exchange(bulk.requested, true)) return wrong(connection, "a bulk payload requested twice");
    connection.requested.push_back(number);
    if (connection.frames.empty()) move_out(connection);
    return;
  }
  wrong(connection, "a request for a bulk payload that was not announced");
}

void LocalWorker::bulk_declined(Connection& connection, std::uint32_t number) {
  const auto bulk = std::find_if(connection.bulk.begin(), connection.bulk.end(),
                                 [number](const OutgoingBulk& one) { return one.number == number; });
  if (bulk == connection.bulk.end() || bulk->requested) {
    return wrong(connection, "a decline of a bulk payload that was not announced, or was requested");
  }
  ended(bulk->completion, {});
  connection.bulk.erase(bulk);
  end_flushes(connection);
}

Result<Sent> LocalWorker::flush(EndpointId endpoint, Completion completion) {
  Connection& target = connection(endpoint);
  if (!target.failure.ok()) return target.failure;
  if (target.has_left()) return Sent::done;
  target.flushes.push_back(
      {.frames = target.frames_queued, .bulk_number = target.last_bulk_number, .completion = completion});
  return Sent::pending;
}

void LocalWorker::end_flushes(Connection& connection) {
  std::erase_if(connection.flushes, [&](const Flush& flush) {
    const bool waits = connection.frames_left < flush.frames ||
                       (!connection.bulk.empty() && connection.bulk.front().number <= flush.bulk_number);
    if (!waits) ended(flush.completion, {});
    return !waits;
  });
}

}  // namespace grapnel::transport::local
