// Messages on their way out of a simulated worker: from the call, or from the backlog of what could not leave at once,
// into the receiver's mailbox; and the flush, which waits until nothing is left here.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "transport/sim/sim_transport.hpp"
#include "transport/sim/sim_use.hpp"

namespace grapnel::transport::sim {

Status SimWorker::failure_of(const Line& line, std::uint64_t now_ns) const {
  if (line.connection->cut_at_ns.load(std::memory_order_acquire) > now_ns) [[likely]]
    return {};
  return Status(Code::peer_dead, fmt::format("the connection of rank {} with rank {} is gone", index(line.source->rank),
                                             index(line.target->rank)));
}

Result<Sent> SimWorker::send(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  const Use use(*this);
  return post(line_of(to), header, payload, completion);
}

Result<Sent> SimWorker::send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  const Use use(*this);
  GRAPNEL_CHECK(payload.size() <= kMaxWholeBytes, "a message of {} bytes delivered whole; {} is the limit",
                payload.size(), kMaxWholeBytes);
  return post(line_of(to), header, payload, completion, kMaxWholeBytes);
}

Result<Sent> SimWorker::reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) {
  const Use use(*this);
  GRAPNEL_CHECK(to.handle != nullptr, "a reply without a path");
  Line& line = *static_cast<Line*>(to.handle);
  GRAPNEL_CHECK(line.source == &inbox_, "a reply path of worker {} used by worker {}", line.source->id, inbox_.id);
  list(line);
  return post(line, header, payload, completion);
}

bool SimWorker::has_room(const Line& line, std::size_t bytes) const {
  const std::size_t flying = line.in_flight_bytes.load(std::memory_order_seq_cst);
  return flying == 0 || (flying <= options_.in_flight_bytes && bytes <= options_.in_flight_bytes - flying);
}

Result<Sent> SimWorker::post(Line& line, ByteView header, ByteView payload, Completion completion,
                             std::size_t most_whole_bytes) {
  GRAPNEL_CHECK(header.size() <= kMaxHeaderBytes && payload.size() <= kMaxBulkBytes,
                "a message of {} + {} bytes; {} + {} is the limit", header.size(), payload.size(), kMaxHeaderBytes,
                kMaxBulkBytes);
  const std::uint64_t now_ns = host_.now_ns();
  GRAPNEL_TRY(failure_of(line, now_ns));
  ++sequence_;
  if (payload.size() > most_whole_bytes) return announce(line, header, payload, completion, now_ns);
  Bytes header_copy(header.begin(), header.end());
  const bool held = random_.chance(options_.pending_probability);
  if (!held && line.backlog.empty() && has_room(line, header.size() + payload.size())) {
    depart(line, {.header = std::move(header_copy), .payload = Bytes(payload.begin(), payload.end())}, now_ns);
    return Sent::done;
  }
  line.backlog.push_back(PendingSend{.header = std::move(header_copy),
                                     .payload = payload,
                                     .payload_hash = hash_of(payload),
                                     .completion = completion,
                                     .holds = held ? static_cast<std::uint32_t>(random_.between(1, 3)) : 1,
                                     .sequence = sequence_});
  line.starved.store(true, std::memory_order_seq_cst);  // as in move_backlog: the caller may go to sleep right away
  return Sent::pending;
}

void SimWorker::depart(Line& line, Packet packet, std::uint64_t now_ns) {
  std::uint64_t arrival_ns = now_ns + options_.delay_ns;
  if (options_.jitter_ns > 0) arrival_ns += random_.between(0, options_.jitter_ns);
  if (random_.chance(options_.reorder_probability)) arrival_ns += random_.between(0, options_.reorder_ns);
  if (random_.chance(options_.stall_probability)) arrival_ns += random_.between(1, options_.stall_max_ns);
  // Never before the one sent before: late messages reorder connections, not the messages of one.
  line.last_arrival_ns = std::max(arrival_ns, line.last_arrival_ns + 1);
  packet.line = &line;
  packet.arrival_ns = line.last_arrival_ns;
  const bool is_message = packet.kind == PacketKind::message || packet.kind == PacketKind::announcement;
  line.messages.fetch_add(is_message ? 1 : 0, std::memory_order_relaxed);
  line.bytes.fetch_add(packet.bytes(), std::memory_order_relaxed);
  if (random_.chance(options_.cut_probability)) {
    network_.fail(*line.connection, now_ns + random_.between(1, 2 * options_.delay_ns + 1), host_);
  }
  if (line.target->closed.load(std::memory_order_acquire)) return;
  line.in_flight_bytes.fetch_add(packet.bytes(), std::memory_order_seq_cst);
  line.target->push(std::move(packet), host_);
}

bool SimWorker::move_backlog(Line& line, std::uint64_t now_ns) {
  bool any = false;
  while (!line.backlog.empty()) {
    PendingSend& first = line.backlog.front();
    if (first.holds > 1) {
      --first.holds;
      return true;
    }
    // Set before the test: the receiver frees bytes first and then looks at the flag (both seq_cst).
    line.starved.store(true, std::memory_order_seq_cst);
    if (!has_room(line, first.header.size() + first.payload.size())) return any;
    line.starved.store(false, std::memory_order_relaxed);
    GRAPNEL_CHECK(hash_of(first.payload) == first.payload_hash,
                  "rank {}: the payload of a pending message of {} bytes to rank {} was changed before its completion",
                  index(rank_), first.payload.size(), index(line.target->rank));
    PendingSend leaving = std::move(first);
    line.backlog.pop_front();
    depart(line,
           {.kind = leaving.kind,
            .header = std::move(leaving.header),
            .payload = Bytes(leaving.payload.begin(), leaving.payload.end()),
            .bulk = leaving.bulk,
            .arrival = leaving.arrival,
            .bulk_bytes = leaving.bulk_bytes},
           now_ns);
    notify(leaving.completion, Status{});
    any = true;
    if (!line.backlog.empty() && line.backlog.front().holds > 1) return true;
  }
  return any;
}

// ---- flush

Result<Sent> SimWorker::flush(EndpointId endpoint, Completion completion) {
  const Use use(*this);
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(endpoint);
  GRAPNEL_TRY(failure_of(line, now_ns));
  GRAPNEL_CHECK(!line.flush, "a second flush on an endpoint to rank {}", index(line.target->rank));
  const bool empty = line.backlog.empty() && !has_bulk(line, sequence_);
  if (empty && !natives_.has_puts(line, sequence_)) return Sent::done;
  line.flush = PendingFlush{.completion = completion, .last_sequence = sequence_};
  natives_.hasten(line, now_ns);
  return Sent::pending;
}

bool SimWorker::flush_is_over(const Line& line, std::uint64_t now_ns) const {
  const PendingFlush& flush = *line.flush;
  const bool waits = std::any_of(line.backlog.begin(), line.backlog.end(),
                                 [&](const PendingSend& send) { return send.sequence <= flush.last_sequence; });
  const bool left = !waits && !has_bulk(line, flush.last_sequence);
  return left && flush.not_before_ns <= now_ns && !natives_.has_puts(line, flush.last_sequence);
}

bool SimWorker::finish_flush(Line& line, std::uint64_t now_ns) {
  if (!line.flush || !flush_is_over(line, now_ns)) return false;
  const Completion completion = std::exchange(line.flush, std::nullopt)->completion;
  notify(completion, Status{});
  return true;
}

}  // namespace grapnel::transport::sim
