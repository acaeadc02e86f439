// How a server watches its connections and its neighbours: what a tick of the metronome sets off (server_links.hpp).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "os/identity.hpp"
#include "progress/internal/server_links.hpp"

namespace grapnel::progress {
namespace {

// For the words to leave before the process does.
constexpr std::uint64_t kLastWords_ns = base::kSecond_ns / 10;
// For the server that ends the job, and its launcher, before the other servers end it themselves.
constexpr std::uint64_t kFollow_ns = 2 * base::kSecond_ns;

}  // namespace

void ServerLinks::watch(std::uint64_t beat_ns, std::uint64_t connect_ns) {
  beat_ns_ = links_.size() > 1 ? beat_ns : 0;
  connect_ns_ = connect_ns;
  tick_ns_ = beat_ns_ > 0 ? beat_ns_ : std::min(connect_ns_, base::kSecond_ns);
}

void ServerLinks::tick() {
  ticked_.store(true);
  attention_.store(true);  // partner: `attend`, which clears this first and then looks at the other
}

void ServerLinks::attend() {
  attention_.store(loss_.has_value());
  if (ticked_.exchange(false) && !leaving_.load(std::memory_order_relaxed)) {
    look_at_connections();
    if (beat_ns_ > 0) look_at_neighbours();
  }
  if (loss_ && host_->now_ns() >= loss_->end_job_ns) launch_.abort(1, loss_->why);
}

void ServerLinks::look_at_connections() {
  for (Link& link : links_) {
    if (!link.has_endpoint || link.open || open(link)) continue;
    link.connecting_ns += tick_ns_;
    if (connect_ns_ == 0 || link.connecting_ns < connect_ns_) continue;
    const NodeId node{static_cast<int>(&link - links_.data())};
    const std::string origin = fmt::format("the server of node {}", index(launch_.node()));
    end_job_after(index(launch_.node()) < index(node) ? 0 : kFollow_ns,
                  describe_unanswered(launch_, origin, node, connect_ns_));
  }
}

NodeId ServerLinks::next() const { return NodeId{static_cast<int>((index(launch_.node()) + 1) % links_.size())}; }
NodeId ServerLinks::previous() const {
  return NodeId{static_cast<int>((index(launch_.node()) + links_.size() - 1) % links_.size())};
}

// Where nothing was ever heard from it, that server may not have started yet.
std::uint32_t ServerLinks::silent_limit(const Link& link) const {
  if (link.heard > 0) return kMissed;
  return connect_ns_ == 0 ? UINT32_MAX : std::max(kMissed, static_cast<std::uint32_t>(connect_ns_ / beat_ns_));
}

void ServerLinks::look_at_neighbours() {
  const auto kind = os::is_traced() ? HeartbeatBody::traced : HeartbeatBody::alive;
  for (const NodeId node : {next(), previous()}) {
    Link& link = links_[index(node)];
    if (link.failed || loss_) continue;  // the end is on its way
    if (link.open || open(link)) {
      beat(link, make_heartbeat(kind, launch_.node(), launch_.job_secret()));
      const std::uint32_t heard = link.handled + link.beats;
      link.silent = heard != std::exchange(link.heard, heard) || link.patient ? 0 : link.silent + 1;
      if (link.silent >= silent_limit(link)) lose_host(node);
    }
    if (next() == previous()) break;
  }
}

void ServerLinks::beat(Link& link, const HeartbeatBody& body) {
  heartbeats_.store(heartbeats_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  send(link, compose(kHeartbeatHandler, base::bytes_of(body), {}));
}

Outcome ServerLinks::take_heartbeat(Request& request) {
  const auto from = static_cast<std::size_t>(index(request.origin)) - static_cast<std::size_t>(launch_.size());
  const auto body = request.body_as<HeartbeatBody>();
  // Ranks have no link: the difference wraps.
  if (from >= links_.size() || !is_sound(body, links_.size(), launch_.job_secret())) return Outcome::refused;
  Link& link = links_[from];
  ++link.beats;
  link.patient = body.kind == HeartbeatBody::traced;
  if (body.kind != HeartbeatBody::lost || leaving_.load(std::memory_order_relaxed)) return Outcome::done;
  const NodeId lost{static_cast<int>(body.node)};
  end_job_after(kFollow_ns, describe_lost(launch_.nodes(), lost, kMissed * beat_ns_, beat_ns_));
  pass_on(lost);  // on connections that are open: a handler must not connect
  return Outcome::done;
}

// Of the two neighbours that notice, the lower node ends the job, so that a launcher is not asked twice at once. A host
// that is cut off waits for the others, too: its launcher may reach them all the same.
void ServerLinks::lose_host(NodeId lost) {
  const auto& nodes = launch_.nodes();
  const NodeId other = lost == next() ? previous() : next();
  const Link& link = links_[index(other)];
  const bool alone = other != lost && link.silent + 2 >= kMissed && !link.patient;
  if (alone) {
    return end_job_after(
        kFollow_ns,
        fmt::format("{} has lost the others: no heartbeat from {} and {} for {:.3g} s. Check this host's network; "
                    "GRAPNEL_HEARTBEAT_MS={} sets the limit, 0 switches it off",
                    describe_host(nodes, launch_.node()), describe_host(nodes, next()),
                    describe_host(nodes, previous()),
                    static_cast<double>(kMissed * beat_ns_) / static_cast<double>(base::kSecond_ns),
                    beat_ns_ / base::kMillisecond_ns));
  }
  const NodeId twin{static_cast<int>((index(lost) + (lost == next() ? 1 : links_.size() - 1)) % links_.size())};
  const bool ends_job = index(launch_.node()) < index(twin == launch_.node() ? lost : twin);
  end_job_after(ends_job ? kLastWords_ns : kFollow_ns, describe_lost(nodes, lost, kMissed * beat_ns_, beat_ns_));
  pass_on(lost);
}

// Around the ring, by both ways: each server does it once.
void ServerLinks::pass_on(NodeId lost) {
  if (std::exchange(passed_on_, true)) return;
  for (const NodeId node : {next(), previous()}) {
    Link& link = links_[index(node)];
    if (node != lost && link.open) beat(link, make_heartbeat(HeartbeatBody::lost, lost, launch_.job_secret()));
  }
}

void ServerLinks::end_job_after(std::uint64_t delay_ns, std::string why) {
  const std::uint64_t end_job_ns = host_->now_ns() + delay_ns;
  if (!loss_ || end_job_ns < loss_->end_job_ns) loss_ = {end_job_ns, std::move(why)};
  attention_.store(true);
}

}  // namespace grapnel::progress
