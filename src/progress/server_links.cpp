#include "progress/server_links.hpp"

#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"

namespace grapnel::progress {

Bytes ServerDescription::encode() const { return base::Encoder().put(window_bytes).put_string(worker_address).take(); }

Result<ServerDescription> ServerDescription::decode(ByteView bytes) {
  base::Decoder decoder(bytes);
  const auto window = decoder.get<std::uint64_t>();
  const auto address = decoder.get_string();
  if (!window || !address) return Status(Code::system, "a server's description is truncated");
  return ServerDescription{Bytes(address->begin(), address->end()), *window};
}

ServerLinks::ServerLinks(launch::Launch& launch) : launch_(launch), links_(launch.nodes().node_count()) {}

void ServerLinks::know(std::vector<ServerDescription> servers) {
  for (std::size_t node = 0; node < servers.size(); ++node) links_[node].server = std::move(servers[node]);
}

void ServerLinks::add_to(HandlerTable& handlers) {
  const auto take_counts = [this](Request& request) {
    const auto node = static_cast<std::size_t>(index(request.origin)) - static_cast<std::size_t>(launch_.size());
    if (node >= links_.size()) return Outcome::refused;  // ranks have no link: the difference wraps
    links_[node].acknowledged = static_cast<std::uint32_t>(request.body_as<std::uint64_t>());
    return Outcome::done;
  };
  handlers.add(kServerCountsHandler,
               {"server counts", sizeof(std::uint64_t), sizeof(std::uint64_t), false, take_counts, true});
}

Bytes ServerLinks::compose(HandlerId handler, ByteView body) const {
  RequestHeader header;
  header.secret = launch_.job_secret();
  header.handler = handler;
  header.body_bytes = static_cast<std::uint16_t>(body.size());
  header.origin = launch_.size() + static_cast<std::int32_t>(index(launch_.node()));
  Bytes message(sizeof header + body.size());
  std::memcpy(message.data(), &header, sizeof header);
  if (!body.empty()) std::memcpy(message.data() + sizeof header, body.data(), body.size());
  return message;
}

void ServerLinks::post(NodeId node, HandlerId handler, ByteView body) {
  GRAPNEL_CHECK(body.size() <= kMaxBodyBytes && node != launch_.node(), "{} bytes to node {}", body.size(),
                index(node));
  links_[index(node)].waiting.push_back(compose(handler, body));
  ++waiting_;
}

void ServerLinks::count_handled(NodeId from) {
  Link& link = links_[index(from)];
  ++link.handled;
  if (link.handled - link.handled_told >= kCredits / 2) link.counts_due = counts_due_ = true;
}

bool ServerLinks::move() {
  if (waiting_ == 0 && !counts_due_) return false;
  bool any = false;
  counts_due_ = false;
  for (Link& link : links_) any |= move(link);
  return any;
}

bool ServerLinks::move(Link& link) {
  bool any = false;
  if (link.counts_due) {
    link.counts_due = false;
    link.handled_told = link.handled;
    send(link, compose(kServerCountsHandler, base::bytes_of(std::uint64_t{link.handled})));
    any = true;
  }
  while (!link.waiting.empty() && link.sent - link.acknowledged < kCredits) {
    ++link.sent;
    send(link, link.waiting.front());
    link.waiting.pop_front();
    --waiting_;
    any = true;
  }
  return any;
}

void ServerLinks::send(Link& link, const Bytes& message) {
  if (!link.connected && !link.failed) {
    const auto endpoint = worker_->connect(link.server.worker_address);
    link.failed = !endpoint.ok();
    link.connected = endpoint.ok();
    if (endpoint) link.endpoint = *endpoint;
  }
  // The header is copied by the transport and there is no payload, so nothing has to outlive this call.
  const Status sent =
      link.failed ? Status(Code::system, "no connection") : worker_->send(link.endpoint, message, {}, {}).status();
  // A server that cannot be reached has died, or will be found dead: the launch layer ends the job.
  if (!sent.ok()) base::log_debug("a message to another server could not be sent: {}", sent.to_string());
}

}  // namespace grapnel::progress
