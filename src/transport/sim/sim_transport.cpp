// The simulated transport and the life of its workers: connect, progress, sleep, failure. What leaves is in
// sim_send.cpp, bulk in sim_bulk.cpp, native operations in sim_one_sided.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "transport/sim/sim_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "transport/sim/sim_use.hpp"

namespace grapnel::transport::sim {

SimTransport::SimTransport(SimNetwork& network, Rank rank, os::Host& host)
    : network_(network),
      rank_(rank),
      host_(host),
      capabilities_{.name = "sim",
                    .native_put = network.options().native_put,
                    .native_get = network.options().native_get,
                    .detects_dead_peers = network.options().detects_dead_peers,
                    .native_atomics = {.fetch_add = network.options().native_atomics,
                                       .compare_swap = network.options().native_atomics}} {}

Result<std::unique_ptr<Worker>> SimTransport::create_worker(MessageSink& sink) {
  const std::uint64_t seed =
      network_.options().seed + (index(rank_) << 32) + workers_made_.fetch_add(1, std::memory_order_relaxed);
  return std::unique_ptr<Worker>(std::make_unique<SimWorker>(network_, host_, sink, rank_, seed));
}

SimWorker::SimWorker(SimNetwork& network, os::Host& host, MessageSink& sink, Rank rank, std::uint64_t seed)
    : network_(network),
      host_(host),
      sink_(sink),
      rank_(rank),
      options_(network.options()),
      random_(base::Random(~seed).next()),  // mixed, so that it does not repeat the scheduler's sequence
      inbox_(*network.add_mailbox(rank)),
      natives_(network, host, random_),
      atomics_(network, random_) {}

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

// ---- progress

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
  atomics_.fail(line, why);
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
  network_.run_adapters(now_ns);
  if (is_deaf(now_ns)) return false;
  bool any = tell_failures(now_ns);
  for (std::size_t i = 0; i < lines_.size(); ++i) any |= move_backlog(*lines_[i], now_ns);
  in_callback_ = true;  // completions of native operations
  any |= natives_.progress(now_ns);
  any |= atomics_.progress(now_ns);
  in_callback_ = false;
  for (std::size_t i = 0; i < lines_.size(); ++i) any |= finish_flush(*lines_[i], now_ns);
  any |= deliver(now_ns);
  any |= tell_what_landed();
  return any;
}

// ---- sleep

std::uint64_t SimWorker::next_due_ns(std::uint64_t now_ns, std::uint64_t next_arrival_ns) const {
  std::uint64_t due_ns =
      std::min({next_arrival_ns, natives_.next_due_ns(now_ns), atomics_.next_due_ns(), next_cut_ns_});
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
    // Only now: a thread that changes anything from here on rings the bell.
    const std::uint64_t due_ns = std::min(end_ns, next_due_ns(now_ns, sleep.next_arrival_ns));
    if (due_ns <= now_ns || inbox_.woken.exchange(false, std::memory_order_acq_rel)) break;
    host_.wait(inbox_.bell, sleep.seen, due_ns - now_ns);
    inbox_.end_sleep();
    now_ns = host_.now_ns();
  }
  inbox_.end_sleep();
}

bool SimWorker::arm() {
  const Use use(*this, false);
  const std::uint64_t now_ns = host_.now_ns();
  const Mailbox::Sleep sleep = inbox_.begin_sleep();
  inbox_.end_sleep();  // a nudge between now and the doze is seen by the bell's value
  const std::uint64_t due_ns = next_due_ns(now_ns, sleep.next_arrival_ns);
  if (due_ns <= now_ns || inbox_.woken.exchange(false, std::memory_order_acq_rel)) return false;
  armed_bell_.store(sleep.seen, std::memory_order_relaxed);
  armed_until_ns_.store(due_ns, std::memory_order_relaxed);
  return true;
}

void SimWorker::doze(std::uint64_t timeout_ns) {
  const std::uint64_t now_ns = host_.now_ns();
  const std::uint64_t due_ns = armed_until_ns_.load(std::memory_order_relaxed);
  if (due_ns <= now_ns) return;
  inbox_.begin_sleep();
  host_.wait(inbox_.bell, armed_bell_.load(std::memory_order_relaxed), std::min(timeout_ns, due_ns - now_ns));
  inbox_.end_sleep();
}

void SimWorker::wake() {
  inbox_.woken.store(true, std::memory_order_release);
  inbox_.nudge(host_);
}

}  // namespace grapnel::transport::sim
