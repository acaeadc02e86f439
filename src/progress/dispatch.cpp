// How the server takes one message: check it, execute it or park it, settle the counts.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "progress/internal/execution.hpp"

namespace grapnel::progress {
namespace {

constexpr const char* kOthersConnection = "names an origin whose connection is another, or whose connection it is not";

}  // namespace

const char* Server::fault_of(ByteView front, std::size_t payload_bytes, std::uint32_t least_charge,
                             RequestHeader& header) const {
  base::Decoder decoder(front);
  const auto read = decoder.get<RequestHeader>();
  if (!read) return "is shorter than a header";
  header = *read;
  if (header.secret != launch_.job_secret()) return "does not know the job's secret";
  // What a server's message is for its link counts below, whatever it asks for: else the link would run out of credits.
  if (header.origin < 0 || static_cast<std::size_t>(header.origin) >= origins_.size() + server_ways_.size()) {
    return "names an origin outside the job";
  }
  if (header.body_bytes != decoder.rest().size()) return "has a body of another length than it says";
  if (header.payload_bytes != payload_bytes) return "has a payload of another length than it says";
  if (header.charge < least_charge || header.charge > settings_.window_bytes) return "has a wrong charge";
  if (((header.flags & ~kCountedWrite) | header.unused) != 0) return "has flags that nobody knows";
  const bool from_rank = header.origin < launch_.size();
  if (from_rank && origins_[static_cast<std::size_t>(header.origin)].lost) return "comes after a payload that was lost";
  return nullptr;
}

void Server::drop(const char* fault) {
  const auto dropped = foreign_.fetch_add(1, std::memory_order_relaxed);
  // The first few and then every 10,000th: a flood must not fill the log.
  if (dropped < 3 || dropped % 10'000 == 0) base::log_warn("dropped a message that {} ({} so far)", fault, dropped + 1);
}

void Server::on_message(const transport::Message& message) {
  RequestHeader header;
  const std::size_t bytes = message.payload.size();
  if (const char* fault = fault_of(message.header, bytes, charge_of_whole(bytes), header)) return drop(fault);
  if (header.origin >= launch_.size()) {
    if (!is_way_of_server(header.origin, message.reply_path)) return drop(kOthersConnection);
    return execute_for_server(header, message.header.subspan(sizeof(RequestHeader)), message.payload);
  }
  Origin& origin = origins_[static_cast<std::size_t>(header.origin)];
  if (origin.path.handle != message.reply_path.handle && !bind(header.origin, message.reply_path)) [[unlikely]]
    return drop(kOthersConnection);
  const ByteView body = message.header.subspan(sizeof(RequestHeader));
  execute_or_park(origin, handler_for(header, body, false), header, body, message.payload);
}

const Handler& Server::handler_for(const RequestHeader& header, ByteView body, bool bulk) const {
  const Handler* handler = handlers_.find(header.handler);
  const bool fits = handler != nullptr && body.size() >= handler->least_body_bytes &&
                    body.size() <= handler->most_body_bytes && (!handler->answers || header.token != 0) &&
                    (!bulk || handler->place != nullptr);
  if (fits) return *handler;
  // It came from one of ours, so its sender waits for the count: it must be settled like any other.
  static const Handler refuse{.name = "an unknown or misshapen request",
                              .most_body_bytes = kMaxBodyBytes,
                              .run = [](Request&) { return Outcome::refused; },
                              .place = [](Request&) { return ByteSpan{}; }};
  return refuse;
}

void Server::execute_or_park(Origin& origin, const Handler& handler, const RequestHeader& header, ByteView body,
                             ByteView payload) {
  std::uint64_t resume = 0;
  if (origin.parked.empty() && has_room_to_answer(origin, header)) {
    const Outcome outcome = execute(origin, handler, header, body, payload, resume);
    if (outcome != Outcome::retry) return settle(origin, handler, header, outcome);
    origin.retries = true;
    ++retrying_origins_;
  } else if (origin.held + header.charge > settings_.window_bytes) {
    return drop("exceeds its origin's window");
  }
  origin.held += header.charge;
  parked_.fetch_add(1, std::memory_order_relaxed);
  origin.parked.push_back(
      {&handler, header, Bytes(body.begin(), body.end()), Bytes(payload.begin(), payload.end()), resume});
}

Outcome Server::execute(Origin& origin, const Handler& handler, const RequestHeader& header, ByteView body,
                        ByteView payload, std::uint64_t& resume) {
  Execution request(*this, origin, header);
  request.origin = Rank{header.origin};
  request.body = body;
  request.payload = payload;
  request.token = header.token;
  request.resume = resume;
  Outcome outcome = handler.run(request);
  if (request.is_overdrawn()) outcome = Outcome::refused;
  resume = request.resume;
  if (outcome == Outcome::refused) tell_refusal(handler.name, header);
  return outcome;
}

// Rate-limits this warning: a sender of many refused requests must not fill the log.
void Server::tell_refusal(const char* name, const RequestHeader& header) {
  const auto refused = refused_.fetch_add(1, std::memory_order_relaxed);
  if (refused >= 3 && refused % 10'000 != 0) return;
  const bool is_rank = header.origin < launch_.size();
  base::log_warn("refused {} from {} {}: this node has no such memory, lock, group or request ({} refused so far)",
                 name, is_rank ? "rank" : "the server of node",
                 is_rank ? header.origin : header.origin - launch_.size(), refused + 1);
}

// A message of another server: one-way, executed at once, counted by its link.
void Server::execute_for_server(const RequestHeader& header, ByteView body, ByteView payload) {
  class OneWay final : public Request {
   public:
    void answer(ByteView, ByteView, transport::Completion) override {}  // a server asks for none
  };
  const Handler* handler = handlers_.find(header.handler);
  const bool fits = handler != nullptr && handler->from_servers && !handler->answers &&
                    body.size() >= handler->least_body_bytes && body.size() <= handler->most_body_bytes;
  OneWay request;
  request.origin = Rank{header.origin};
  request.body = body;
  request.payload = payload;
  // `retry` is for requests of ranks only.
  if (!fits || handler->run(request) != Outcome::done) {
    tell_refusal(handler != nullptr ? handler->name : "an unknown message", header);
  }
  if (header.handler == kServerCountsHandler || header.handler == kHeartbeatHandler) [[unlikely]] {  // take no credit
    if (header.handler == kServerCountsHandler) handled_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  handled_.fetch_add(1, std::memory_order_relaxed);
  links_.count_handled(NodeId{header.origin - launch_.size()});
}

void Server::settle(Origin& origin, const Handler& handler, const RequestHeader& header, Outcome outcome) {
  ++origin.handled;
  if ((header.flags & kCountedWrite) != 0) {
    ++origin.writes;
    ++writes_;
  }
  origin.released += header.charge;
  handled_.fetch_add(1, std::memory_order_relaxed);
  if (outcome == Outcome::refused) {
    if (header.token == 0) {
      ++origin.refused;
    } else {
      reply(origin, ReplyCode::refused, header.token, kRequestCharge, origin.handled, origin.released, {}, {}, {});
    }
  }
  // A write whose sender wants to know at once when it is applied.
  const bool acknowledges = outcome == Outcome::done && !handler.answers && header.token != 0;
  if (acknowledges) {
    reply(origin, ReplyCode::answer, header.token, kRequestCharge, origin.handled, origin.released, {}, {}, {});
  }
  if (origin.released - origin.reported_released >= report_from()) report_counts(origin);
}

void Server::answer_later(Rank to, std::uint64_t token, ByteView body) {
  Origin& origin = origins_[index(to)];
  reply(origin, ReplyCode::answer, token, kRequestCharge, origin.handled, origin.released, body, {}, {});
}

void Server::report_counts(Origin& origin) {
  if (origin.counts_in_flight) return;  // its completion returns here
  origin.counts_in_flight = true;
  const transport::Completion sent{[](void* context, const Status& outcome) {
                                     auto& self = *static_cast<Origin*>(context);
                                     self.counts_in_flight = false;
                                     if (!outcome.ok()) return;  // no receiver is left
                                     const std::uint64_t due = self.released - self.reported_released;
                                     if (due >= self.server->report_from()) self.server->report_counts(self);
                                   },
                                   &origin};
  reply(origin, ReplyCode::counts, 0, 0, origin.handled, origin.released, {}, {}, sent);
}

void Server::reply(Origin& origin, ReplyCode code, std::uint64_t token, std::uint32_t charge, std::uint64_t handled,
                   std::uint64_t released, ByteView body, ByteView payload, transport::Completion sent) {
  ReplyHeader header;
  header.secret = launch_.job_secret();
  header.code = code;
  header.body_bytes = static_cast<std::uint16_t>(body.size());
  header.node = static_cast<std::int32_t>(index(launch_.node()));
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.refused = origin.refused;
  header.token = token;
  header.handled = handled;
  header.released = released;
  origin.reported_released = released;
  if (code != ReplyCode::counts) replies_.fetch_add(1, std::memory_order_relaxed);
  std::byte front[transport::kMaxHeaderBytes];
  std::memcpy(front, &header, sizeof header);
  if (!body.empty()) std::memcpy(front + sizeof header, body.data(), body.size());
  spare_leaving_->origin = &origin;
  spare_leaving_->charge = charge;
  spare_leaving_->sent = sent;
  const auto result =
      worker_->reply(origin.path, ByteView(front, sizeof header + body.size()), payload, {answer_left, spare_leaving_});
  if (result && *result == transport::Sent::pending) [[unlikely]]
    return keep_leaving();
  // A reply that cannot be sent has a dead client behind it; the handler that waits for `sent` learns it now.
  if (!result) base::log_debug("a reply could not be sent: {}", result.status().to_string());
  if (sent.notify != nullptr) sent.notify(sent.context, result.status());
}

}  // namespace grapnel::progress
