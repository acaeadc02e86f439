#include "transport/sim/sim_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "transport/sim/sim_use.hpp"

namespace grapnel::transport::sim {
namespace {

class SimRegisteredMemory final : public RegisteredMemory {
 public:
  SimRegisteredMemory(SimNetwork& network, ByteSpan memory) : network_(network), id_(network.add_region(memory)) {}
  ~SimRegisteredMemory() override { network_.remove_region(id_); }
  SimRegisteredMemory(const SimRegisteredMemory&) = delete;
  SimRegisteredMemory& operator=(const SimRegisteredMemory&) = delete;
  Bytes key() const override { return base::Encoder().put(id_).take(); }

 private:
  SimNetwork& network_;
  const std::uint64_t id_;
};

class SimRemoteKey final : public RemoteKey {
 public:
  SimRemoteKey(EndpointId endpoint, std::uint64_t region) : endpoint_(endpoint), region_(region) {}
  EndpointId endpoint() const { return endpoint_; }
  std::uint64_t region() const { return region_; }

 private:
  const EndpointId endpoint_;
  const std::uint64_t region_;
};

}  // namespace

// ---- transport

SimTransport::SimTransport(SimNetwork& network, Rank rank, os::Host& host)
    : network_(network),
      rank_(rank),
      host_(host),
      capabilities_{.name = "sim",
                    .native_put = network.options().native_put,
                    .native_get = network.options().native_get,
                    .detects_dead_peers = network.options().detects_dead_peers} {}

Result<std::unique_ptr<Worker>> SimTransport::create_worker(MessageSink& sink) {
  const std::uint64_t seed =
      network_.options().seed + (index(rank_) << 32) + workers_made_.fetch_add(1, std::memory_order_relaxed);
  return std::unique_ptr<Worker>(std::make_unique<SimWorker>(network_, host_, sink, rank_, seed));
}

Result<std::unique_ptr<RegisteredMemory>> SimTransport::register_memory(ByteSpan memory) {
  return std::unique_ptr<RegisteredMemory>(std::make_unique<SimRegisteredMemory>(network_, memory));
}

// ---- worker: use

SimWorker::SimWorker(SimNetwork& network, os::Host& host, MessageSink& sink, Rank rank, std::uint64_t seed)
    : network_(network),
      host_(host),
      sink_(sink),
      rank_(rank),
      options_(network.options()),
      random_(base::Random(~seed).next()),  // mixed, so that it does not repeat the scheduler's sequence
      inbox_(*network.add_mailbox(rank)),
      natives_(network, host, random_) {}

SimWorker::~SimWorker() {
  network_.close_mailbox(inbox_, host_);
  const Status why(Code::peer_dead, "the worker was closed before a bulk payload had landed");
  for (auto& [number, arrival] : arrivals_) {
    if (arrival->landing) landed_.push_back({arrival->completion, why});
  }
  tell_what_landed();
}

Bytes SimWorker::address() const { return base::Encoder().put(inbox_.id).take(); }

Line& SimWorker::line_of(EndpointId endpoint) {
  const auto position = static_cast<std::size_t>(endpoint);
  GRAPNEL_CHECK(position < endpoints_.size(), "endpoint {} of {}", position, endpoints_.size());
  return *endpoints_[position];
}

void SimWorker::list(Line& line) {
  if (std::exchange(line.listed, true)) return;
  lines_.push_back(&line);
  next_cut_ns_ = 0;  // it may have been cut before: look
}

Result<EndpointId> SimWorker::connect(ByteView address) {
  const Use use(*this, false);
  const std::uint64_t now_ns = host_.now_ns();
  const auto id = base::Decoder(address).get<std::uint64_t>();
  Mailbox* peer = id && address.size() == sizeof(*id) ? network_.find_mailbox(*id) : nullptr;
  if (peer == nullptr) return Status(Code::system, fmt::format("{} bytes that are no sim address", address.size()));
  const auto endpoint = static_cast<EndpointId>(endpoints_.size());
  Connection* connection = network_.add_connection(inbox_, *peer, endpoint);
  endpoints_.push_back(&connection->forward);
  list(connection->forward);
  if (peer->closed.load(std::memory_order_acquire) && options_.detects_dead_peers) {
    network_.fail(*connection, now_ns + options_.delay_ns, host_);
  }
  return endpoint;
}

// ---- worker: messages out

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

Result<Sent> SimWorker::post(Line& line, ByteView header, ByteView payload, Completion completion) {
  GRAPNEL_CHECK(header.size() <= kMaxHeaderBytes && payload.size() <= kMaxBulkBytes,
                "a message of {} + {} bytes; {} + {} is the limit", header.size(), payload.size(), kMaxHeaderBytes,
                kMaxBulkBytes);
  const std::uint64_t now_ns = host_.now_ns();
  GRAPNEL_TRY(failure_of(line, now_ns));
  ++sequence_;
  if (payload.size() > kMaxPayloadBytes) return announce(line, header, payload, completion, now_ns);
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

// ---- worker: native operations and flush

Result<std::unique_ptr<RemoteKey>> SimWorker::import_key(EndpointId endpoint, ByteView key) {
  const Use use(*this);
  const auto region = base::Decoder(key).get<std::uint64_t>();
  if (!region || key.size() != sizeof(*region)) {
    return Status(Code::invalid_argument, fmt::format("{} bytes that are no sim key", key.size()));
  }
  line_of(endpoint);
  return std::unique_ptr<RemoteKey>(std::make_unique<SimRemoteKey>(endpoint, *region));
}

Result<Sent> SimWorker::put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  const Use use(*this);
  const auto& sim_key = static_cast<const SimRemoteKey&>(key);
  GRAPNEL_CHECK(options_.native_put, "a native put over a transport that has none");
  GRAPNEL_CHECK(sim_key.endpoint() == to, "a key used with another endpoint than the one it was imported for");
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(to);
  GRAPNEL_TRY(failure_of(line, now_ns));
  NativeOperation operation;
  operation.line = &line;
  operation.is_put = true;
  operation.source = local;
  operation.remote_address = remote_address;
  operation.region = sim_key.region();
  operation.sequence = ++sequence_;
  operation.completion = completion;
  return natives_.start(std::move(operation), now_ns);
}

Result<Sent> SimWorker::get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  const Use use(*this);
  const auto& sim_key = static_cast<const SimRemoteKey&>(key);
  GRAPNEL_CHECK(options_.native_get, "a native get over a transport that has none");
  GRAPNEL_CHECK(sim_key.endpoint() == from, "a key used with another endpoint than the one it was imported for");
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(from);
  GRAPNEL_TRY(failure_of(line, now_ns));
  NativeOperation operation;
  operation.line = &line;
  operation.destination = local;
  operation.remote_address = remote_address;
  operation.region = sim_key.region();
  operation.completion = completion;
  return natives_.start(std::move(operation), now_ns);
}

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

// ---- worker: progress

void SimWorker::notify(const Completion& completion, const Status& outcome) {
  if (completion.notify == nullptr) return;
  const bool before = std::exchange(in_callback_, true);
  completion.notify(completion.context, outcome);
  in_callback_ = before;
}

bool SimWorker::tell_failures(std::uint64_t now_ns) {
  const std::uint64_t cuts = network_.cuts();
  if (cuts == cuts_seen_ && next_cut_ns_ > now_ns) return false;
  cuts_seen_ = cuts;
  next_cut_ns_ = kNever;
  bool any = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    Line& line = *lines_[i];
    const std::uint64_t cut_at_ns = line.connection->cut_at_ns.load(std::memory_order_acquire);
    if (line.failure_told || cut_at_ns == kNever) continue;
    if (cut_at_ns > now_ns) {
      next_cut_ns_ = std::min(next_cut_ns_, cut_at_ns);
      continue;
    }
    line.failure_told = true;
    fail_line(line, failure_of(line, now_ns));
    any = true;
  }
  return any;
}

void SimWorker::fail_line(Line& line, const Status& why) {
  while (!line.backlog.empty()) {
    const Completion completion = line.backlog.front().completion;
    line.backlog.pop_front();
    notify(completion, why);
  }
  fail_bulk(line, why);
  if (auto flush = std::exchange(line.flush, std::nullopt)) notify(flush->completion, why);
  natives_.fail(line, why);
  if (!line.endpoint) return;
  const bool before = std::exchange(in_callback_, true);
  sink_.on_endpoint_failure(*line.endpoint, why);
  in_callback_ = before;
}

bool SimWorker::is_deaf(std::uint64_t now_ns) {
  if (now_ns >= deaf_until_ns_ && random_.chance(options_.worker_stall_probability)) {
    deaf_until_ns_ = now_ns + random_.between(1, options_.stall_max_ns);
  }
  return now_ns < deaf_until_ns_;
}

bool SimWorker::deliver(std::uint64_t now_ns) {
  bool any = false;
  const std::uint64_t batch = random_.between(1, options_.max_batch);
  for (std::uint64_t i = 0; i < batch; ++i) {
    const std::optional<Packet> packet = inbox_.pop(now_ns);
    if (!packet) break;
    Line& line = *packet->line;
    line.in_flight_bytes.fetch_sub(packet->bytes(), std::memory_order_seq_cst);
    if (line.starved.load(std::memory_order_seq_cst)) line.source->nudge(host_);
    if (packet->arrival_ns > line.connection->cut_at_ns.load(std::memory_order_acquire)) continue;  // lost
    Line& back = line.endpoint ? line.connection->backward : line.connection->forward;
    in_callback_ = true;
    switch (packet->kind) {
      case PacketKind::message: sink_.on_message(Message{packet->header, packet->payload, ReplyPath{&back}}); break;
      case PacketKind::announcement: offer(back, *packet); break;
      case PacketKind::taken: send_payload(*packet); break;
      case PacketKind::declined: bulk_was_declined(*packet); break;
      case PacketKind::payload: land(*packet); break;
    }
    in_callback_ = false;
    any = true;
  }
  return any;
}

bool SimWorker::progress() {
  const Use use(*this, false);
  const std::uint64_t now_ns = host_.now_ns();
  if (is_deaf(now_ns)) return false;
  bool any = tell_failures(now_ns);
  for (std::size_t i = 0; i < lines_.size(); ++i) any |= move_backlog(*lines_[i], now_ns);
  in_callback_ = true;  // completions of native operations
  any |= natives_.progress(now_ns);
  in_callback_ = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) any |= finish_flush(*lines_[i], now_ns);
  any |= deliver(now_ns);
  any |= tell_what_landed();
  return any;
}

// ---- worker: sleep

std::uint64_t SimWorker::next_due_ns(std::uint64_t now_ns, std::uint64_t next_arrival_ns) const {
  std::uint64_t due_ns = std::min({next_arrival_ns, natives_.next_due_ns(now_ns), next_cut_ns_});
  if (network_.cuts() != cuts_seen_ || !landed_.empty()) due_ns = now_ns;
  for (const Line* line : lines_) {
    if (!line->backlog.empty()) {
      const PendingSend& first = line->backlog.front();
      if (first.holds > 1 || has_room(*line, first.header.size() + first.payload.size())) due_ns = now_ns;
    }
    if (line->flush && flush_is_over(*line, std::max(now_ns, line->flush->not_before_ns))) {
      due_ns = std::min(due_ns, line->flush->not_before_ns);
    }
  }
  return std::max(due_ns, deaf_until_ns_);
}

void SimWorker::sleep(std::uint64_t timeout_ns) {
  const Use use(*this, false);
  std::uint64_t now_ns = host_.now_ns();
  const std::uint64_t end_ns = timeout_ns > kNever - now_ns ? kNever : now_ns + timeout_ns;
  for (;;) {
    const Mailbox::Sleep sleep = inbox_.begin_sleep();
    // Only now: whoever changes anything from here on rings the bell.
    const std::uint64_t due_ns = std::min(end_ns, next_due_ns(now_ns, sleep.next_arrival_ns));
    if (due_ns <= now_ns || inbox_.woken.exchange(false, std::memory_order_acq_rel)) break;
    host_.wait(inbox_.bell, sleep.seen, due_ns - now_ns);
    now_ns = host_.now_ns();
  }
  inbox_.end_sleep();
}

void SimWorker::wake() {
  inbox_.woken.store(true, std::memory_order_release);
  inbox_.nudge(host_);
}

}  // namespace grapnel::transport::sim
