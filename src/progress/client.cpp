// SPDX-License-Identifier: Apache-2.0
#include "progress/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "progress/internal/heartbeat.hpp"

namespace grapnel::progress {
namespace {

auto about(WaitKind kind, NodeId node) {
  return [kind, node] { return WaitSubject{kind, nullptr, {index(node)}}; };
}

constexpr std::uint64_t kConnectSlice_ns = base::kSecond_ns / 4;
// The servers connect to each other at the same time: one of them ends the job first, and there is one sentence.
constexpr std::uint64_t kServersFirst_ns = 2 * base::kSecond_ns;

}  // namespace

Client::Client(launch::Launch& launch, Waiting& waiting, std::vector<ServerDescription> servers)
    : launch_(launch), waiting_(waiting), write_counts_(launch), bell_(launch), peers_(servers.size()) {
  for (std::size_t node = 0; node < servers.size(); ++node) peers_[node].server = std::move(servers[node]);
}

Result<std::unique_ptr<Client>> Client::create(launch::Launch& launch, Waiting& waiting,
                                               transport::Transport& transport,
                                               std::vector<ServerDescription> servers) {
  auto client = std::unique_ptr<Client>(new Client(launch, waiting, std::move(servers)));
  GRAPNEL_ASSIGN_OR_RETURN(auto worker, transport.create_worker(*client));
  client->worker_ = std::move(worker);
  return client;
}

Client::Guard::Guard(Client& client) : client_(client) { client.lock(); }

// Counts itself among the others, so that a thread that waits with the client lets this one in.
void Client::lock() {
  if (mutex_.try_lock()) return;
  others_.fetch_add(1);
  worker_->wake();
  mutex_.lock();
  others_.fetch_sub(1);
}

void Client::let_others_in() {
  if (waiting_.has_background()) [[unlikely]]
    return let_background_in();
  if (others_.load(std::memory_order_relaxed) == 0) return;
  mutex_.unlock();
  waiting_.host().yield();
  mutex_.lock();
}

// As a thread that lets others in, this one does the background's work without the client.
void Client::let_background_in() {
  mutex_.unlock();
  static_cast<void>(waiting_.advance_background());
  lock();
}

Result<transport::EndpointId> Client::endpoint(NodeId node) {
  Peer& peer = peers_[index(node)];
  if (!peer.connected) [[unlikely]]
    GRAPNEL_TRY(connect(node));
  return peer.endpoint;
}

// The rank's other threads may enter while this one waits; those that need the same node wait here, too.
Status Client::connect(NodeId node) {
  Peer& peer = peers_[index(node)];
  if (!peer.has_endpoint) {
    auto endpoint = worker_->connect(peer.server.worker_address);
    if (!endpoint) return endpoint.status();
    peer.endpoint = *endpoint;
    peer.has_endpoint = true;
    GRAPNEL_CHECK(worker_->endpoint_count() <= peers_.size(), "{} endpoints for {} nodes", worker_->endpoint_count(),
                  peers_.size());
  }
  const auto about = [&] { return WaitSubject{WaitKind::connection, nullptr, {index(node)}}; };
  const WaitScope one_wait(about, true);
  // In slices, each of which counts for its length at most: the time in which this process was stopped does not count.
  for (std::uint64_t waited_ns = 0; !worker_->is_connected(peer.endpoint); waited_ns += kConnectSlice_ns) {
    if (connect_limit_ns_ > 0 && waited_ns >= connect_limit_ns_ + kServersFirst_ns) {
      launch_.abort(
          1, describe_unanswered(launch_, fmt::format("rank {}", index(launch_.rank())), node, connect_limit_ns_));
    }
    Status slice =
        wait_until([&] { return worker_->is_connected(peer.endpoint); }, waiting_.host().now_ns() + kConnectSlice_ns);
    if (!slice.ok() && slice.code() != Code::timed_out) return slice;
  }
  peer.connected = true;
  return failure_;
}

Result<transport::Sent> Client::send(NodeId node, const OutgoingRequest& request) {
  Peer& peer = peers_[index(node)];
  const std::size_t bytes = request.payload.size();
  const std::uint32_t charge =
      std::max(request.whole ? charge_of_whole(bytes) : charge_of(bytes), charge_of(request.reply_bytes));
  const auto endpoint_or = endpoint(node);
  if (!endpoint_or) return failure_ = endpoint_or.status();
  if (peer.charged + charge - peer.released > peer.server.window_bytes) [[unlikely]] {
    GRAPNEL_TRY(wait_until([&] { return peer.charged + charge - peer.released <= peer.server.window_bytes; },
                           Waiting::kForever, about(WaitKind::window, node)));
  }
  RequestHeader header;
  header.secret = launch_.job_secret();
  header.handler = request.handler;
  header.body_bytes = static_cast<std::uint16_t>(request.body.size());
  header.origin = static_cast<std::int32_t>(index(launch_.rank()));
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  header.charge = charge;
  header.token = request.on_reply.notify != nullptr ? take_token(request.on_reply) : 0;
  // Counted before it leaves: a reply may come back from within `send`.
  ++peer.issued;
  if (request.write) count_write(node, header);
  peer.charged += charge;
  messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::byte front[transport::kMaxHeaderBytes];
  std::memcpy(front, &header, sizeof header);
  if (!request.body.empty()) std::memcpy(front + sizeof header, request.body.data(), request.body.size());
  const ByteView head(front, sizeof header + request.body.size());
  auto sent = request.whole ? worker_->send_whole(peer.endpoint, head, request.payload, request.sent)
                            : worker_->send(peer.endpoint, head, request.payload, request.sent);
  if (!sent) [[unlikely]]
    return fail_over_send(peer, sent.status());
  return sent;
}

// What was counted will never be answered: its waiter ends with this instead of waiting for ever.
Status Client::fail_over_send(const Peer& peer, const Status& why) {
  GRAPNEL_ASSERT(!why.ok(), "a send to endpoint {} failed without a reason", static_cast<int>(peer.endpoint));
  if (!failure_.ok()) return failure_;
  if (why.code() == Code::peer_dead) on_endpoint_failure(peer.endpoint, why);  // which names node and rank
  if (failure_.ok()) failure_ = why;
  return failure_;
}

void Client::count_write(NodeId node, RequestHeader& header) {
  Peer& peer = peers_[index(node)];
  GRAPNEL_ASSERT(peer.written < peer.issued, "request {} was counted before request {}", peer.written, peer.issued);
  peer.written = peer.issued;
  if (not_counting_ > 0) {
    peer.uncounted = peer.issued;
    return;
  }
  header.flags |= kCountedWrite;
  write_counts_.add(node);
}

Result<Client::Answer> Client::ask(NodeId node, OutgoingRequest request) {
  // Not on the stack: where the wait fails, a late answer must find it still there.
  auto answer = std::make_unique<std::optional<Answer>>();
  request.on_reply = {[](void* context, const Reply& reply) {
                        *static_cast<std::optional<Answer>*>(context) = {reply.code, reply.body_as<std::int64_t>()};
                      },
                      answer.get()};
  Status waited = send(node, request).status();
  if (waited.ok()) {
    waited = wait_until([&] { return answer->has_value(); }, Waiting::kForever,
                        [&] {
                          return WaitSubject{WaitKind::answer, nullptr, {index(node), request.handler}};
                        });
  }
  if (waited.ok()) return **answer;
  static_cast<void>(answer.release());
  return waited;
}

// A word of its own size is read in one piece. The thread that changes it does so without an atomic instruction, as its
// way is short.
__attribute__((no_sanitize("thread"))) std::uint64_t Client::look_at(const std::uint64_t& word) {
  return *static_cast<const volatile std::uint64_t*>(&word);
}

std::vector<std::uint64_t> Client::outstanding() const {
  std::vector<std::uint64_t> requests;
  for (const Peer& peer : peers_) {
    const std::uint64_t handled = look_at(peer.handled), issued = look_at(peer.issued);
    requests.push_back(issued > handled ? issued - handled : 0);
  }
  return requests;
}

Status Client::ring() {
  if (!bell_.must_wake()) return {};
  OutgoingRequest request;
  request.handler = kBellHandler;
  const Guard guard(*this);
  const auto sent = send(launch_.node(), request);
  return sent ? drain(launch_.node()) : sent.status();
}

Status Client::drain(std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    Peer& peer = peers_[index(node)];
    if (!peer.connected) continue;
    // One flush per endpoint at a time; a second thread's waits for the first and then flushes for itself.
    GRAPNEL_TRY(wait_until([&] { return !peer.flushing; }, Waiting::kForever, about(WaitKind::departure, node)));
    GRAPNEL_TRY(start_flush(peer));
  }
  for (const NodeId node : nodes) {
    Peer& peer = peers_[index(node)];
    GRAPNEL_TRY(wait_until([&] { return !peer.flushing; }, Waiting::kForever, about(WaitKind::departure, node)));
  }
  return failure_;  // a broken connection ends a flush, too
}

bool Client::try_drain(NodeId node) {
  Peer& peer = peers_[index(node)];
  if (!peer.connected) return true;
  if (peer.flushing) return false;
  return start_flush(peer).ok() && !peer.flushing;
}

Status Client::start_flush(Peer& peer) {
  peer.flushing = true;
  const transport::Completion flushed{[](void* context, const Status&) { *static_cast<bool*>(context) = false; },
                                      &peer.flushing};
  const auto sent = worker_->flush(peer.endpoint, flushed);
  if (!sent || *sent == transport::Sent::done) peer.flushing = false;
  return sent.status();
}

std::uint32_t Client::take_refused(NodeId node) {
  Peer& peer = peers_[index(node)];
  return peer.refused - std::exchange(peer.refused_told, peer.refused);
}

// Counts beyond what was sent cannot be waited for rightly: a fence would end early, and a window never have room.
void Client::take_counts(Peer& peer, const ReplyHeader& header) {
  if (header.handled > peer.issued || header.released > peer.charged) [[unlikely]] {
    launch_.abort(
        1, fmt::format("the server of node {} says that it has handled {} requests of rank {} ({} bytes), "
                       "which has sent {} ({} bytes): one of them sends what no program of this version does",
                       header.node, header.handled, index(launch_.rank()), header.released, peer.issued, peer.charged));
  }
  peer.handled = std::max(peer.handled, header.handled);
  peer.released = std::max(peer.released, header.released);
  peer.refused = std::max(peer.refused, header.refused);
}

bool Client::read(ByteView front, std::size_t payload_bytes, ReplyHeader& header) const {
  base::Decoder decoder(front);
  const auto got = decoder.get<ReplyHeader>();
  const bool ours = got && got->secret == launch_.job_secret() && got->node >= 0 &&
                    static_cast<std::size_t>(got->node) < peers_.size() && got->body_bytes == decoder.rest().size() &&
                    got->payload_bytes == payload_bytes;
  if (!ours) {
    base::log_warn("dropped a message that is no reply of this job's servers");
    return false;
  }
  header = *got;
  return true;
}

void Client::on_message(const transport::Message& message) {
  if (!failure_.ok()) return;  // the callers have their answer; their memory is theirs again
  ReplyHeader header;
  if (!read(message.header, message.payload.size(), header)) return;
  take_counts(peers_[static_cast<std::size_t>(header.node)], header);
  if (header.code == ReplyCode::counts) return;
  const OnReply on_reply = give_token_back(header.token);
  if (on_reply.notify == nullptr) return base::log_warn("dropped a reply that nobody waits for");
  const ByteView body = message.header.subspan(sizeof header);
  on_reply.notify(on_reply.context, {header.code, NodeId{header.node}, body, message.payload});
}

void Client::on_bulk(const transport::BulkMessage& message) {
  ReplyHeader header;
  if (!failure_.ok() || !read(message.header, message.payload_bytes, header)) return worker_->decline(message.bulk);
  take_counts(peers_[static_cast<std::size_t>(header.node)], header);
  const OnReply on_reply = give_token_back(header.token);
  if (on_reply.notify == nullptr || on_reply.place.size() != message.payload_bytes) {
    base::log_warn("dropped a reply with {} bytes that nobody waits for", message.payload_bytes);
    worker_->decline(message.bulk);
    // A caller that asked for another length waits all the same.
    if (on_reply.notify != nullptr) {
      on_reply.notify(on_reply.context, {ReplyCode::refused, NodeId{header.node}, {}, {}});
    }
    return;
  }
  ++landings_;
  worker_->receive(message.bulk, on_reply.place,
                   {[](void* context, const Status& outcome) {
                      const std::unique_ptr<Landing> landing(static_cast<Landing*>(context));
                      landing->client->reply_landed(*landing, outcome);
                    },
                    new Landing{this, header, on_reply}});
}

void Client::reply_landed(Landing& landing, const Status& outcome) {
  --landings_;
  if (!outcome.ok() && failure_.ok()) failure_ = outcome;
  if (!failure_.ok()) return;  // as in on_message
  landing.on_reply.notify(landing.on_reply.context,
                          {landing.header.code, NodeId{landing.header.node}, {}, landing.on_reply.place});
}

void Client::on_endpoint_failure(transport::EndpointId endpoint, const Status& why) {
  for (std::size_t node = 0; node < peers_.size(); ++node) {
    if (!peers_[node].has_endpoint || peers_[node].endpoint != endpoint) continue;
    failure_ = Status(Code::peer_dead,
                      fmt::format("the connection to node {} (rank {}) broke: {}", node,
                                  index(launch_.nodes().leader(NodeId(static_cast<int>(node)))), why.message()));
  }
}

std::uint64_t Client::take_token(OnReply on_reply) {
  if (free_slot_ == 0) {
    slots_.emplace_back();
    free_slot_ = static_cast<std::uint32_t>(slots_.size());
  }
  const std::uint32_t number = free_slot_;
  Slot& slot = slots_[number - 1];
  free_slot_ = slot.next_free;
  slot.on_reply = on_reply;
  return (std::uint64_t{slot.generation} << 32) | number;
}

OnReply Client::give_token_back(std::uint64_t token) {
  const auto number = static_cast<std::uint32_t>(token);
  if (number == 0 || number > slots_.size()) return {};
  Slot& slot = slots_[number - 1];
  if (slot.generation != token >> 32) return {};
  ++slot.generation;  // a second reply to the same token finds no waiter
  slot.next_free = std::exchange(free_slot_, number);
  return std::exchange(slot.on_reply, OnReply{});
}

}  // namespace grapnel::progress
