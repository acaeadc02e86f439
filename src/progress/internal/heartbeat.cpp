// SPDX-License-Identifier: Apache-2.0
#include "progress/internal/heartbeat.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "os/limits.hpp"

namespace grapnel::progress {
namespace {

std::uint64_t proof_of(const HeartbeatBody& body, std::uint64_t secret) {
  std::uint64_t mixed = secret ^ (std::uint64_t{body.kind} << 32) ^ body.node;
  for (int round = 0; round < 2; ++round) {  // splitmix64's finish
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11eb;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

std::string host_name(const launch::NodeMap& nodes, NodeId node) {
  const std::string& machine = nodes.machine_of[index(node)];
  return machine.substr(0, machine.find('/'));
}

double in_s(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(base::kSecond_ns); }

}  // namespace

HeartbeatBody make_heartbeat(HeartbeatBody::Kind kind, NodeId node, std::uint64_t secret) {
  HeartbeatBody body{kind, static_cast<std::uint32_t>(index(node)), 0};
  body.proof = proof_of(body, secret);
  return body;
}

bool is_sound(const HeartbeatBody& body, std::size_t nodes, std::uint64_t secret) {
  return body.kind >= HeartbeatBody::alive && body.kind <= HeartbeatBody::lost && body.node < nodes &&
         body.proof == proof_of(body, secret);
}

std::string describe_host(const launch::NodeMap& nodes, NodeId node) {
  const auto& ranks = nodes.ranks_of[index(node)];
  const std::size_t first = index(ranks.front()), last = index(ranks.back());
  const std::string who = first == last ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last);
  return fmt::format("host {} (node {}, {})", host_name(nodes, node), index(node), who);
}

std::string describe_lost(const launch::NodeMap& nodes, NodeId node, std::uint64_t silent_ns, std::uint64_t beat_ns) {
  return fmt::format(
      "lost {}: no heartbeat from its server for {:.3g} s. Check that the host and its network are up and that its "
      "processes are not stopped; GRAPNEL_HEARTBEAT_MS={} sets the limit, 0 switches it off",
      describe_host(nodes, node), in_s(silent_ns), beat_ns / base::kMillisecond_ns);
}

std::string describe_unanswered(const launch::Launch& launch, const std::string& origin, NodeId node,
                                std::uint64_t limit_ns) {
  const auto& nodes = launch.nodes();
  return os::with_limits_met(fmt::format(
      "the connection of {} on host {} to the server on {} was not accepted within {:.3g} s. Check that no firewall "
      "blocks TCP between these hosts, that UCX_NET_DEVICES names an interface by which they reach each other, and "
      "that the server's process is not stopped; GRAPNEL_CONNECT_MS sets the limit",
      origin, host_name(nodes, launch.node()), describe_host(nodes, node), in_s(limit_ns)));
}

Result<std::unique_ptr<Metronome>> Metronome::start(os::Host& host, const std::vector<int>& cpus,
                                                    std::uint64_t period_ns, std::function<void()> beat) {
  auto metronome = std::unique_ptr<Metronome>(new Metronome(host, period_ns, std::move(beat)));
  GRAPNEL_ASSIGN_OR_RETURN(auto thread, host.start("grapnel-heart", cpus, [self = metronome.get()] { self->run(); }));
  metronome->thread_ = std::move(thread);
  return metronome;
}

Metronome::~Metronome() {
  stopping_.store(1, std::memory_order_release);  // partner: the loads in `run`
  host_.wake(stopping_);
  thread_.reset();
}

void Metronome::run() {
  std::uint64_t next_ns = host_.now_ns() + period_ns_;
  while (stopping_.load(std::memory_order_acquire) == 0) {
    const std::uint64_t now_ns = host_.now_ns();
    if (now_ns < next_ns) {
      host_.wait(stopping_, 0, next_ns - now_ns);
      continue;
    }
    beat_();
    next_ns = now_ns + period_ns_;  // not where it should have been: what was missed is not made up for
  }
}

}  // namespace grapnel::progress
