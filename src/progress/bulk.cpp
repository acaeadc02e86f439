// How the server takes a bulk request: it waits for its turn, gets the place of its payload, and counts when that has
// landed.
//
// The payload waits at its sender until then, so a parked bulk request takes no more memory than its header. Two land
// per origin at a time, so that the wire has the second when the first has landed; not if they overlap: which of them
// would be last is not ours to guess. Whichever lands first, they are settled in the order they came.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "progress/internal/execution.hpp"

namespace grapnel::progress {
namespace {

bool overlap(ByteSpan one, ByteSpan other) {
  return one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
}

}  // namespace

void Server::on_bulk(const transport::BulkMessage& message) {
  RequestHeader header;
  const char* fault = fault_of(message.header, message.payload_bytes, kRequestCharge, header);
  if (fault == nullptr && header.origin >= launch_.size()) fault = "is long, and comes from a server";
  Origin* origin = fault == nullptr ? &origins_[static_cast<std::size_t>(header.origin)] : nullptr;
  if (origin != nullptr && origin->path.handle != message.reply_path.handle &&
      !bind(header.origin, message.reply_path)) {
    fault = "is long, and names an origin whose connection is another";
    origin = nullptr;
  }
  if (origin != nullptr && origin->held + header.charge > settings_.window_bytes) fault = "exceeds its origin's window";
  if (fault != nullptr) {
    worker_->decline(message.bulk);
    return drop(fault);
  }
  const ByteView body = message.header.subspan(sizeof(RequestHeader));
  origin->held += header.charge;
  bulk_parked_.fetch_add(1, std::memory_order_relaxed);
  origin->parked.push_back({.handler = &handler_for(header, body, true),
                            .header = header,
                            .body = Bytes(body.begin(), body.end()),
                            .payload = {},
                            .resume = 0,
                            .bulk = message.bulk,
                            .from = origin});
  if (origin->parked.size() == origin->started + 1) run_parked(*origin);
}

// False where it must wait for one that lands in the same place. Its own place stays noted until then: memory that is
// given back is waited for a little longer.
bool Server::start_landing(Origin& origin, Parked& request) {
  if (request.place.empty()) {
    Execution execution(*this, origin, request.header);
    execution.origin = Rank{request.header.origin};
    execution.body = request.body;
    execution.bulk_bytes = request.header.payload_bytes;
    execution.token = request.header.token;
    request.place = request.handler->place(execution);
    if (request.place.size() != execution.bulk_bytes) {
      worker_->decline(request.bulk);
      tell_refusal(request.handler->name, request.header);
      request.place = {};
      request.over = true;
      request.outcome = Outcome::refused;
      return true;
    }
  }
  const auto before = origin.parked.begin();
  const bool in_use = std::any_of(before, before + static_cast<std::ptrdiff_t>(origin.started),
                                  [&](const Parked& one) { return overlap(one.place, request.place); });
  if (in_use) return false;
  worker_->receive(request.bulk, request.place,
                   {[](void* context, const Status& outcome) {
                      auto& landed = *static_cast<Parked*>(context);  // a deque's elements stay where they are
                      landed.from->server->payload_landed(landed, outcome);
                    },
                    &request});
  return true;
}

void Server::payload_landed(Parked& request, const Status& outcome) {
  Origin& origin = *request.from;
  request.handler->landed(std::exchange(request.place, {}));
  request.over = true;
  if (!outcome.ok() && !origin.lost) {
    // Its sender's connection is gone. What it sent after must not be executed as if this had been.
    base::log_debug("a payload of rank {} was lost: {}", request.header.origin, outcome.to_string());
    origin.lost = true;
  }
  if (origin.lost) return forget_parked(origin);
  settle_first(origin);
  run_parked(origin);
}

// Of an origin that is lost. What is still landing is forgotten when it has landed.
void Server::forget_parked(Origin& origin) {
  while (origin.parked.size() > origin.started) {
    const Parked& last = origin.parked.back();
    if (!last.place.empty()) last.handler->landed(last.place);
    origin.parked.pop_back();
    unparked_.fetch_add(1, std::memory_order_relaxed);
  }
  while (origin.started > 0 && origin.parked.front().over) {
    origin.parked.pop_front();
    unparked_.fetch_add(1, std::memory_order_relaxed);
    --origin.started;
  }
  if (origin.parked.empty()) origin.held = 0;
}

}  // namespace grapnel::progress
