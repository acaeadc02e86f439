// Bulk messages: announced in line, taken or declined by the receiver, then the payload, or nothing.
//
// Each step takes a message's time. The payload leaves when its sender makes progress after it was taken, and lies in
// no buffer of the receiver. Until it has landed its place holds 0xdb.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "transport/sim/sim_transport.hpp"
#include "transport/sim/sim_use.hpp"

namespace grapnel::transport::sim {

// ---- the sender

Result<Sent> SimWorker::announce(Line& line, ByteView header, ByteView payload, Completion completion,
                                 std::uint64_t now_ns) {
  const std::uint64_t number = next_bulk_++;
  bulks_[number] = {&line, payload, hash_of(payload), completion, sequence_};
  list(line);
  Bytes header_copy(header.begin(), header.end());
  const bool held = random_.chance(options_.pending_probability);
  if (!held && line.backlog.empty() && has_room(line, header.size())) {
    depart(line,
           {.kind = PacketKind::announcement,
            .header = std::move(header_copy),
            .bulk = number,
            .bulk_bytes = payload.size()},
           now_ns);
    return Sent::pending;
  }
  line.backlog.push_back(PendingSend{.kind = PacketKind::announcement,
                                     .header = std::move(header_copy),
                                     .payload_hash = hash_of({}),
                                     .holds = held ? static_cast<std::uint32_t>(random_.between(1, 3)) : 1,
                                     .sequence = sequence_,
                                     .bulk = number,
                                     .bulk_bytes = payload.size()});
  line.starved.store(true, std::memory_order_seq_cst);  // as in move_backlog: the caller may go to sleep right away
  return Sent::pending;
}

void SimWorker::send_payload(const Packet& taken) {
  const auto found = bulks_.find(taken.bulk);
  if (found == bulks_.end()) return;  // failed by now
  const Bulk bulk = found->second;
  bulks_.erase(found);
  bulk.line->backlog.push_back(PendingSend{.kind = PacketKind::payload,
                                           .payload = bulk.payload,
                                           .payload_hash = bulk.payload_hash,
                                           .completion = bulk.completion,
                                           .holds = 1,
                                           .sequence = bulk.sequence,
                                           .arrival = taken.arrival});
  bulk.line->starved.store(true, std::memory_order_seq_cst);
}

void SimWorker::bulk_was_declined(const Packet& declined) {
  const auto found = bulks_.find(declined.bulk);
  if (found == bulks_.end()) return;
  const Completion completion = found->second.completion;
  bulks_.erase(found);
  notify(completion, Status{});
}

bool SimWorker::has_bulk(const Line& line, std::uint64_t last_sequence) const {
  return std::any_of(bulks_.begin(), bulks_.end(), [&](const auto& entry) {
    return entry.second.line == &line && entry.second.sequence <= last_sequence;
  });
}

// ---- the receiver

void SimWorker::offer(Line& back, const Packet& packet) {
  auto arrival = std::make_unique<Arrival>();
  arrival->number = next_bulk_++;
  arrival->back = &back;
  arrival->bulk = packet.bulk;
  arrival->bytes = packet.bulk_bytes;
  Arrival* offered = arrival.get();
  arrivals_[offered->number] = std::move(arrival);
  sink_.on_bulk({packet.header, packet.bulk_bytes, ReplyPath{&back}, BulkHandle{offered}});
}

void SimWorker::answer_bulk(const Arrival& arrival, PacketKind kind) {
  const std::uint64_t now_ns = host_.now_ns();
  if (!failure_of(*arrival.back, now_ns).ok()) return;
  depart(*arrival.back, {.kind = kind, .bulk = arrival.bulk, .arrival = arrival.number}, now_ns);
}

void SimWorker::receive(BulkHandle bulk, ByteSpan place, Completion completion) {
  const Use use(*this);
  auto& arrival = *static_cast<Arrival*>(bulk.handle);
  GRAPNEL_CHECK(!arrival.landing, "a bulk payload was received twice");
  GRAPNEL_CHECK(arrival.bytes == place.size(), "{} bytes of room for a bulk payload of {}", place.size(),
                arrival.bytes);
  const Status failure = failure_of(*arrival.back, host_.now_ns());
  if (!failure.ok()) {
    landed_.push_back({completion, failure});
    arrivals_.erase(arrival.number);
    return;
  }
  arrival.landing = true;
  arrival.place = place;
  arrival.completion = completion;
  std::fill(place.begin(), place.end(), std::byte{0xdb});
  list(*arrival.back);
  answer_bulk(arrival, PacketKind::taken);
}

void SimWorker::decline(BulkHandle bulk) {
  const Use use(*this);
  const auto& arrival = *static_cast<Arrival*>(bulk.handle);
  GRAPNEL_CHECK(!arrival.landing, "a bulk payload was declined that had been received");
  answer_bulk(arrival, PacketKind::declined);
  arrivals_.erase(arrival.number);
}

void SimWorker::land(const Packet& packet) {
  const auto found = arrivals_.find(packet.arrival);
  if (found == arrivals_.end()) return;  // its connection failed by now
  std::copy(packet.payload.begin(), packet.payload.end(), found->second->place.begin());
  landed_.push_back({found->second->completion, Status{}});
  arrivals_.erase(found);
}

bool SimWorker::tell_what_landed() {
  if (landed_.empty()) return false;
  for (const Landed& landed : std::exchange(landed_, {})) notify(landed.completion, landed.outcome);
  return true;
}

// What the sink has not answered yet stays: it gets the failure with its answer.
void SimWorker::fail_bulk(const Line& line, const Status& why) {
  std::vector<Completion> ended;
  for (auto each = bulks_.begin(); each != bulks_.end();) {
    const bool concerned = each->second.line == &line;
    if (concerned) ended.push_back(each->second.completion);
    each = concerned ? bulks_.erase(each) : std::next(each);
  }
  for (auto each = arrivals_.begin(); each != arrivals_.end();) {
    const bool concerned = each->second->landing && each->second->back == &line;
    if (concerned) landed_.push_back({each->second->completion, why});
    each = concerned ? arrivals_.erase(each) : std::next(each);
  }
  for (const Completion& completion : ended) notify(completion, why);
}

}  // namespace grapnel::transport::sim
