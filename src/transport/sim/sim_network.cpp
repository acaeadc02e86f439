// SPDX-License-Identifier: Apache-2.0
#include "transport/sim/sim_network.hpp"

#include <algorithm>
#include <utility>

#include "transport/sim/sim_transport.hpp"

namespace grapnel::transport::sim {

// ---- mailbox

void Mailbox::push(Packet packet, os::Host& host) {
  {
    const base::MutexLock lock(mutex_);
    if (closed.load(std::memory_order_relaxed)) return;  // set under this mutex; no thread will ever read it
    const std::uint64_t arrival_ns = packet.arrival_ns;
    const bool earliest = packets_.empty() || arrival_ns < packets_.begin()->first;
    packets_.emplace(arrival_ns, std::move(packet));
    if (!earliest) return;  // a sleeper will be up in time
  }
  nudge(host);
}

std::optional<Packet> Mailbox::pop(std::uint64_t now_ns) {
  const base::MutexLock lock(mutex_);
  if (packets_.empty() || packets_.begin()->first > now_ns) return std::nullopt;
  return std::move(packets_.extract(packets_.begin()).mapped());
}

void Mailbox::nudge(os::Host& host) {
  bool asleep = false;
  {
    const base::MutexLock lock(mutex_);
    bell.fetch_add(1, std::memory_order_release);
    asleep = sleepers_ > 0;
  }
  if (asleep) host.wake(bell);
}

void Mailbox::close() {
  const base::MutexLock lock(mutex_);
  closed.store(true, std::memory_order_release);
  packets_.clear();
}

Mailbox::Sleep Mailbox::begin_sleep() {
  const base::MutexLock lock(mutex_);
  ++sleepers_;
  return {bell.load(std::memory_order_acquire), packets_.empty() ? kNever : packets_.begin()->first};
}

void Mailbox::end_sleep() {
  const base::MutexLock lock(mutex_);
  --sleepers_;
}

// ---- network

SimNetwork::SimNetwork(const NetworkOptions& options) : options_(options) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<Transport> SimNetwork::make_transport(Rank rank, os::Host& host) {
  return std::make_unique<SimTransport>(*this, rank, host);
}

Mailbox* SimNetwork::add_mailbox(Rank rank) {
  const base::MutexLock lock(mutex_);
  mailboxes_.push_back(std::make_unique<Mailbox>(mailboxes_.size(), rank));
  return mailboxes_.back().get();
}

Mailbox* SimNetwork::find_mailbox(std::uint64_t id) const {
  const base::MutexLock lock(mutex_);
  return id < mailboxes_.size() ? mailboxes_[id].get() : nullptr;
}

Connection* SimNetwork::add_connection(Mailbox& from, Mailbox& to, EndpointId endpoint) {
  auto connection = std::make_unique<Connection>();
  Connection* added = connection.get();
  added->forward.connection = added->backward.connection = added;
  added->forward.source = added->backward.target = &from;
  added->forward.target = added->backward.source = &to;
  added->forward.endpoint = endpoint;
  const base::MutexLock lock(mutex_);
  connections_.push_back(std::move(connection));
  return added;
}

void SimNetwork::fail(Connection& connection, std::uint64_t at_ns, os::Host& host) {
  std::uint64_t standing = connection.cut_at_ns.load(std::memory_order_relaxed);
  while (at_ns < standing && !connection.cut_at_ns.compare_exchange_weak(standing, at_ns, std::memory_order_acq_rel)) {
  }
  cuts_.fetch_add(1, std::memory_order_acq_rel);  // pairs with the load in `cuts`
  connection.forward.source->nudge(host);
  connection.forward.target->nudge(host);
}

// `when(connection)` answers at what time to fail it, or kNever.
template <typename When>
void SimNetwork::fail_where(os::Host& host, When when) {
  std::vector<std::pair<Connection*, std::uint64_t>> chosen;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& connection : connections_) {
      if (const std::uint64_t at_ns = when(*connection); at_ns != kNever) chosen.emplace_back(connection.get(), at_ns);
    }
  }
  for (const auto& [connection, at_ns] : chosen) fail(*connection, at_ns, host);
}

void SimNetwork::cut(Rank one, Rank other, os::Host& host) {
  const std::uint64_t at_ns = host.now_ns() + options_.delay_ns / 2;
  fail_where(host, [&](const Connection& connection) {
    const Rank from = connection.forward.source->rank;
    const Rank to = connection.forward.target->rank;
    return (from == one && to == other) || (from == other && to == one) ? at_ns : kNever;
  });
}

void SimNetwork::kill(Rank rank, os::Host& host) {
  std::vector<Mailbox*> gone;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& mailbox : mailboxes_) {
      if (mailbox->rank == rank) gone.push_back(mailbox.get());
    }
  }
  const std::uint64_t at_ns = host.now_ns() + options_.delay_ns;
  for (Mailbox* mailbox : gone) {
    mailbox->close();
    if (!options_.detects_dead_peers) continue;
    fail_where(host, [&](const Connection& connection) {
      return connection.forward.source == mailbox || connection.forward.target == mailbox ? at_ns : kNever;
    });
  }
}

void SimNetwork::close_mailbox(Mailbox& mailbox, os::Host& host) {
  mailbox.close();
  if (!options_.detects_dead_peers) return;
  const std::uint64_t now_ns = host.now_ns();
  // Own lines belong to the calling thread, so their last arrival may be read.
  fail_where(host, [&](const Connection& connection) {
    for (const Line* line : {&connection.forward, &connection.backward}) {
      if (line->source == &mailbox) return std::max(now_ns, line->last_arrival_ns) + options_.delay_ns;
    }
    return kNever;
  });
}

std::vector<Traffic> SimNetwork::traffic() const {
  const base::MutexLock lock(mutex_);
  std::vector<Traffic> all;
  for (const auto& connection : connections_) {
    const Line& forward = connection->forward;
    const Line& backward = connection->backward;
    all.push_back(Traffic{.from = forward.source->rank,
                          .to = forward.target->rank,
                          .endpoint = forward.endpoint.value_or(EndpointId{}),
                          .messages = forward.messages.load(std::memory_order_relaxed),
                          .message_bytes = forward.bytes.load(std::memory_order_relaxed),
                          .replies = backward.messages.load(std::memory_order_relaxed),
                          .reply_bytes = backward.bytes.load(std::memory_order_relaxed),
                          .puts = connection->puts.load(std::memory_order_relaxed),
                          .put_bytes = connection->put_bytes.load(std::memory_order_relaxed),
                          .gets = connection->gets.load(std::memory_order_relaxed),
                          .get_bytes = connection->get_bytes.load(std::memory_order_relaxed),
                          .atomics = connection->atomics.load(std::memory_order_relaxed)});
  }
  return all;
}

std::uint64_t SimNetwork::messages() const {
  std::uint64_t sum = 0;
  for (const Traffic& connection : traffic()) sum += connection.messages + connection.replies;
  return sum;
}

// ---- registered memory

std::uint64_t SimNetwork::add_region(ByteSpan memory) {
  const base::MutexLock lock(regions_mutex_);
  regions_[next_region_] = memory;
  return next_region_++;
}

void SimNetwork::remove_region(std::uint64_t id) {
  const base::MutexLock lock(regions_mutex_);
  regions_.erase(id);
}

bool SimNetwork::covers(std::uint64_t id, std::uintptr_t address, std::size_t bytes) const {
  const auto found = regions_.find(id);
  if (found == regions_.end()) return false;
  const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(found->second.data());
  return offset <= found->second.size() && bytes <= found->second.size() - offset;
}

}  // namespace grapnel::transport::sim
