// How the server takes a bulk request: it waits for its turn, is told where its payload goes, and counts when that has
// landed.
//
// The payload waits at its sender until then, so a parked bulk request takes no more memory than its header. One lands
// per origin at a time: which of two that overlap would be last is not ours to guess.
#include "base/log.hpp"
#include "progress/internal/execution.hpp"

namespace grapnel::progress {

void Server::on_bulk(const transport::BulkMessage& message) {
  RequestHeader header;
  const char* fault = fault_of(message.header, message.payload_bytes, header);
  if (fault == nullptr && header.origin >= launch_.size()) fault = "is long, and comes from a server";
  Origin* origin = fault == nullptr ? &origins_[static_cast<std::size_t>(header.origin)] : nullptr;
  if (origin != nullptr && origin->held + header.charge > config_.window_bytes) fault = "exceeds its origin's window";
  if (fault != nullptr) {
    worker_->decline(message.bulk);
    return drop(fault);
  }
  origin->path = message.reply_path;
  const ByteView body = message.header.subspan(sizeof(RequestHeader));
  origin->held += header.charge;
  origin->parked.push_back({.handler = &handler_for(header, body, true),
                            .header = header,
                            .body = Bytes(body.begin(), body.end()),
                            .payload = {},
                            .resume = 0,
                            .bulk = message.bulk,
                            .place = {}});
  if (origin->parked.size() == 1) run_parked(*origin);
}

// `retry`: it is on its way.
Outcome Server::start_landing(Origin& origin, Parked& request) {
  Execution execution(*this, origin, request.header);
  execution.origin = Rank{request.header.origin};
  execution.body = request.body;
  execution.bulk_bytes = request.header.payload_bytes;
  execution.token = request.header.token;
  const ByteSpan place = request.handler->place(execution);
  if (place.size() != execution.bulk_bytes) {
    worker_->decline(request.bulk);
    tell_refusal(*request.handler, request.header);
    return Outcome::refused;
  }
  request.place = place;
  origin.landing = true;
  worker_->receive(request.bulk, place,
                   {[](void* context, const Status& outcome) {
                      auto& self = *static_cast<Origin*>(context);
                      self.server->payload_landed(self, outcome);
                    },
                    &origin});
  return Outcome::retry;
}

void Server::payload_landed(Origin& origin, const Status& outcome) {
  origin.landing = false;
  const Parked landed = std::move(origin.parked.front());
  origin.parked.pop_front();
  origin.held -= landed.header.charge;
  landed.handler->landed(landed.place);
  if (outcome.ok()) {
    settle(origin, *landed.handler, landed.header, Outcome::done);
    run_parked(origin);
    return;
  }
  // Its sender's connection is gone. What it sent after must not be executed as if this had been.
  base::log_debug("a payload of rank {} was lost: {}", landed.header.origin, outcome.to_string());
  origin.lost = true;
  origin.parked.clear();
  origin.held = 0;
}

}  // namespace grapnel::progress
