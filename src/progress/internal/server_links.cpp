// SPDX-License-Identifier: Apache-2.0
#include "progress/internal/server_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"

namespace grapnel::progress {
namespace {

constexpr std::uint64_t kLongest_ns = base::kSecond_ns / 10;  // a send that was interrupted proves nothing

}  // namespace

Bytes ServerDescription::encode() const {
  const ByteView text = std::as_bytes(std::span(settings));
  return base::Encoder().put(window_bytes).put_string(worker_address).put_string(text).take();
}

Result<ServerDescription> ServerDescription::decode(ByteView bytes) {
  base::Decoder decoder(bytes);
  const auto window = decoder.get<std::uint64_t>();
  const auto address = decoder.get_string();
  const auto settings = decoder.get_string();
  if (!window || !address || !settings) return Status(Code::system, "a server's description is truncated");
  const std::string text(reinterpret_cast<const char*>(settings->data()), settings->size());
  return ServerDescription{Bytes(address->begin(), address->end()), *window, text};
}

ServerLinks::ServerLinks(launch::Launch& launch) : launch_(launch), links_(launch.nodes().node_count()) {}

void ServerLinks::know(std::vector<ServerDescription> servers) {
  for (std::size_t node = 0; node < servers.size(); ++node) links_[node].server = std::move(servers[node]);
}

void ServerLinks::add_to(HandlerTable& handlers) {
  const auto take_counts = [this](Request& request) {
    const auto node = static_cast<std::size_t>(index(request.origin)) - static_cast<std::size_t>(launch_.size());
    if (node >= links_.size()) return Outcome::refused;  // ranks have no link: the difference wraps
    Link& link = links_[node];
    const auto told = static_cast<std::uint32_t>(request.body_as<std::uint64_t>());
    // No server of ours acknowledges more than was sent. It counts as all that was: a wrong number must not stop the
    // link.
    const bool sound = told - link.acknowledged <= link.sent - link.acknowledged;
    link.acknowledged = sound ? told : link.sent;
    return sound ? Outcome::done : Outcome::refused;
  };
  handlers.add(kServerCountsHandler,
               {"server counts", sizeof(std::uint64_t), sizeof(std::uint64_t), false, take_counts, true});
  const auto heartbeat = [this](Request& request) { return take_heartbeat(request); };
  handlers.add(kHeartbeatHandler, {"heartbeat", sizeof(HeartbeatBody), sizeof(HeartbeatBody), false, heartbeat, true});
}

ServerLinks::Letter ServerLinks::compose(HandlerId handler, ByteView body, ByteView payload) const {
  RequestHeader header;
  header.secret = launch_.job_secret();
  header.handler = handler;
  header.body_bytes = static_cast<std::uint16_t>(body.size());
  header.origin = launch_.size() + static_cast<std::int32_t>(index(launch_.node()));
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.charge = charge_of(payload.size());
  Bytes front(sizeof header + body.size());
  std::memcpy(front.data(), &header, sizeof header);
  if (!body.empty()) std::memcpy(front.data() + sizeof header, body.data(), body.size());
  return {std::move(front), Bytes(payload.begin(), payload.end())};
}

void ServerLinks::post(NodeId node, HandlerId handler, ByteView body, ByteView payload) {
  GRAPNEL_CHECK(body.size() <= kMaxBodyBytes && payload.size() <= transport::kMaxPayloadBytes && node != launch_.node(),
                "{} and {} bytes to node {}", body.size(), payload.size(), index(node));
  links_[index(node)].waiting.push_back(compose(handler, body, payload));
  ++waiting_;
}

void ServerLinks::count_handled(NodeId from) {
  Link& link = links_[index(from)];
  ++link.handled;
  if (link.handled - link.handled_told >= kCredits / 2) link.counts_due = counts_due_ = true;
}

void ServerLinks::lost(transport::EndpointId endpoint, const Status& why) {
  for (std::size_t node = 0; node < links_.size(); ++node) {
    if (links_[node].has_endpoint && links_[node].endpoint == endpoint) lost(node, why);
  }
}

void ServerLinks::lost(std::size_t node, const Status& why) {
  base::log_debug("the connection to the server of node {} was lost: {}", node, why.to_string());
  // Both servers see it. One ends the job, the other only where that one cannot: one message, and not two aborts at
  // once, in which launchers hang.
  const bool mine_to_tell = index(launch_.node()) < node;
  end_job_after(mine_to_tell ? kGrace_ns : kGrace_ns + kGrace_ns / 2,
                fmt::format("the connection between the servers of nodes {} and {} was lost, {} is there: {}",
                            index(launch_.node()), node, describe_host(launch_.nodes(), NodeId{static_cast<int>(node)}),
                            why.message()));
}

bool ServerLinks::move() {
  if (attention_.load(std::memory_order_relaxed)) [[unlikely]]
    attend();
  if (waiting_ == 0 && !counts_due_) return false;
  bool any = false;
  counts_due_ = false;
  for (Link& link : links_) any |= move(link);
  return any;
}

// Connects, where that has not been done; true when messages may be sent, which fail where the connection has failed.
bool ServerLinks::open(Link& link) {
  if (!link.has_endpoint && !link.failed) {
    const auto endpoint = worker_->connect(link.server.worker_address);
    link.failed = !endpoint.ok();
    link.has_endpoint = endpoint.ok();
    if (endpoint) link.endpoint = *endpoint;
    if (!endpoint) lost(static_cast<std::size_t>(&link - links_.data()), endpoint.status());
  }
  link.open = link.failed || worker_->is_connected(link.endpoint);
  return link.open;
}

bool ServerLinks::move(Link& link) {
  if (!link.open) [[unlikely]] {
    const bool has_work = link.counts_due || !link.waiting.empty();
    if (!has_work || !open(link)) {
      counts_due_ |= link.counts_due;  // to be looked at again
      return false;
    }
  }
  bool any = false;
  if (link.counts_due) {
    link.counts_due = false;
    link.handled_told = link.handled;
    send(link, compose(kServerCountsHandler, base::bytes_of(std::uint64_t{link.handled}), {}));
    any = true;
  }
  while (!link.waiting.empty() && link.sent - link.acknowledged < kCredits) {
    ++link.sent;
    messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    send(link, std::move(link.waiting.front()));
    link.waiting.pop_front();
    --waiting_;
    any = true;
  }
  return any;
}

void ServerLinks::send(Link& link, Letter letter) {
  const std::uint64_t begin_ns = host_->now_ns();
  // The transport copies the header; a payload lives until it has left.
  const Bytes header = std::move(letter.header);
  auto payload = letter.payload.empty() ? nullptr : std::make_unique<Bytes>(std::move(letter.payload));
  const transport::Completion left{
      [](void* context, const Status&) { const std::unique_ptr<Bytes> ended(static_cast<Bytes*>(context)); },
      payload.get()};
  const Result<transport::Sent> sent =
      link.failed ? Result<transport::Sent>(Status(Code::system, "no connection"))
                  : worker_->send(link.endpoint, header, payload ? ByteView(*payload) : ByteView{}, left);
  if (sent && *sent == transport::Sent::pending) static_cast<void>(payload.release());
  const auto cost_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(host_->now_ns() - begin_ns, kLongest_ns));
  message_cost_ns_ = message_cost_ns_ == 0 ? cost_ns : (7 * message_cost_ns_ + cost_ns) / 8;
  // The connection is gone, which ends the job: the dead rank is found by the launch layer, else `move` does it.
  if (!sent) base::log_debug("a message to another server could not be sent: {}", sent.status().to_string());
}

}  // namespace grapnel::progress
