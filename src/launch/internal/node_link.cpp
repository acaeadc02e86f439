// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/node_link.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "launch/internal/greetings.hpp"
#include "os/identity.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kStartUp_ns = 60 * base::kSecond_ns;     // ranks may be started seconds apart on a busy machine
constexpr std::uint64_t kDescriptor_ns = 30 * base::kSecond_ns;  // the contract of Launch::receive_descriptor
constexpr std::uint64_t kLook_ns = 200 * base::kMillisecond_ns;
constexpr std::uint64_t kFullBox_ns = base::kMillisecond_ns;
constexpr std::uint64_t kNodeMemoryTag = ~std::uint64_t{0};

enum class Kind : std::uint64_t { propose = 1, answer, settle };

struct Packet {
  Kind kind;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

struct LetterHead {
  std::uint64_t secret;
  std::uint64_t tag;
};

Status send_packet(const os::Connection& connection, const Packet& packet) {
  return connection.send(base::bytes_of(packet), kStartUp_ns);
}

Result<Packet> receive_packet(const os::Connection& connection, Kind kind) {
  GRAPNEL_ASSIGN_OR_RETURN(auto bytes, connection.receive(kStartUp_ns));
  const auto packet = base::Decoder(bytes).get<Packet>();
  if (!packet || packet->kind != kind) {
    return Status(Code::refused, "a packet of the node's start-up is not the expected one: are all ranks one version?");
  }
  return *packet;
}

// The rank first, then the error of its socket.
Status about(Rank rank, const Status& status) {
  return Status(status.code(), fmt::format("start-up with rank {}: {}", static_cast<int>(rank), status.message()));
}

}  // namespace

Result<NodeEndpoints> NodeEndpoints::open() {
  const auto name = [](const char* what) {
    return fmt::format("grapnel-{}-{:016x}{:016x}", what, os::random_u64(), os::random_u64());
  };
  const std::string mailbox_name = name("box");
  const std::string listener_name = name("door");
  GRAPNEL_ASSIGN_OR_RETURN(auto mailbox, os::Mailbox::open(mailbox_name));
  GRAPNEL_ASSIGN_OR_RETURN(auto listener, os::Listener::listen(listener_name));
  return NodeEndpoints{mailbox_name, listener_name, std::move(mailbox), std::move(listener)};
}

Result<std::unique_ptr<NodeLink>> NodeLink::join(os::Host& host, Plan plan, NodeEndpoints doors) {
  std::unique_ptr<NodeLink> link(new NodeLink(host, std::move(plan), std::move(doors)));
  GRAPNEL_TRY(link->meet());
  GRAPNEL_TRY(link->share_memory());
  GRAPNEL_TRY(link->agree_on_pool());
  link->endpoints_.listener = os::Listener();  // all are connected
  return link;
}

Status NodeLink::meet() { return leads() ? gather_members() : greet_leader(); }

Status NodeLink::gather_members() {
  std::vector<Rank> others;
  for (const Neighbour& neighbour : plan_.ranks) {
    if (neighbour.rank != plan_.me) others.push_back(neighbour.rank);
  }
  GRAPNEL_ASSIGN_OR_RETURN(
      auto members, Greetings(host_, endpoints_.listener, plan_.job_secret, std::move(others)).gather(kStartUp_ns));
  for (Greetings::Member& member : members) peers_.push_back({member.rank, std::move(member.connection), false});
  return {};
}

Status NodeLink::greet_leader() {
  const Neighbour& leader = plan_.ranks.front();
  auto connection = os::Connection::connect(leader.listener_name, kStartUp_ns);
  if (!connection) return about(leader.rank, connection.status());
  const Status sent = greet(*connection, plan_.job_secret, plan_.me, kStartUp_ns);
  if (!sent.ok()) return about(leader.rank, sent);
  peers_.push_back({leader.rank, std::move(*connection), false});
  return {};
}

Status NodeLink::share_memory() {
  if (!leads()) {
    // The liveness words are not written yet; a leader that dies now closes its mailbox's sender, which only a time
    // limit shows.
    auto file = receive_descriptor(kNodeMemoryTag, [] { return Status(); });
    if (!file) return about(plan_.ranks.front().rank, file.status());
    return map_memory(*file);
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto file, os::create_shared_file("grapnel-node", plan_.node_memory_bytes));
  GRAPNEL_TRY(os::check_memory_available(plan_.node_memory_bytes));
  GRAPNEL_TRY(os::reserve_shared_file(file, 0, plan_.node_memory_bytes));
  for (const Liveness::Peer& peer : peers_) GRAPNEL_TRY(send_descriptor(peer.rank, kNodeMemoryTag, file));
  return map_memory(file);
}

Status NodeLink::map_memory(const os::Descriptor& file) {
  GRAPNEL_ASSIGN_OR_RETURN(auto mapping, os::Mapping::create(file, plan_.node_memory_bytes));
  mapping_ = std::move(mapping);
  memory_ = std::make_unique<NodeMemory>(ByteSpan(static_cast<std::byte*>(mapping_.address()), mapping_.bytes()));
  liveness_words_ = memory_->carve<LivenessWords>(1).data();
  return {};
}

Status NodeLink::agree_on_pool() {
  if (!leads()) return follow_proposals();
  const std::uintptr_t shift = os::AddressPool::random_shift();
  for (const std::uintptr_t base : os::AddressPool::candidate_bases()) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto taken, propose(base + shift));
    if (taken) return {};
  }
  // Alone one need not agree with anybody.
  if (peers_.empty()) {
    auto anywhere = os::AddressPool::reserve(0, plan_.pool_bytes);
    if (anywhere) pool_ = std::move(*anywhere);
    return anywhere.ok() ? Status() : no_common_base();
  }
  for (const Liveness::Peer& peer : peers_) GRAPNEL_TRY(send_packet(peer.connection, {Kind::propose, 0, 0}));
  return no_common_base();
}

Result<bool> NodeLink::propose(std::uintptr_t base) {
  auto mine = os::AddressPool::reserve(base, plan_.pool_bytes);
  if (!mine) return false;
  for (const Liveness::Peer& peer : peers_) {
    GRAPNEL_TRY(send_packet(peer.connection, {Kind::propose, base, plan_.pool_bytes}));
  }
  bool all = true;
  for (const Liveness::Peer& peer : peers_) {
    const auto answer = receive_packet(peer.connection, Kind::answer);
    if (!answer) return about(peer.rank, answer.status());
    all = all && answer->first == 1;
  }
  for (const Liveness::Peer& peer : peers_) GRAPNEL_TRY(send_packet(peer.connection, {Kind::settle, all ? 1u : 0u, 0}));
  if (all) pool_ = std::move(*mine);
  return all;
}

Status NodeLink::follow_proposals() {
  const os::Connection& leader = peers_.front().connection;
  while (true) {
    const auto proposal = receive_packet(leader, Kind::propose);
    if (!proposal) return about(peers_.front().rank, proposal.status());
    if (proposal->second == 0) return no_common_base();
    auto mine = os::AddressPool::reserve(proposal->first, proposal->second);
    GRAPNEL_TRY(send_packet(leader, {Kind::answer, mine.ok() ? 1u : 0u, 0}));
    const auto settled = receive_packet(leader, Kind::settle);
    if (!settled) return about(peers_.front().rank, settled.status());
    if (settled->first == 1) {
      pool_ = std::move(*mine);
      return {};
    }
  }
}

Status NodeLink::no_common_base() const {
  std::string tried;
  for (const std::uintptr_t base : os::AddressPool::candidate_bases()) tried += fmt::format(" {:#x}", base);
  return Status(Code::unavailable, fmt::format("no range of {} bytes of addresses is free in all {} ranks of the node "
                                               "(tried:{}, and up to 64 GiB above); raise a limit of "
                                               "the address space (ulimit -v), or set a smaller GRAPNEL_POOL_BYTES",
                                               plan_.pool_bytes, plan_.ranks.size(), tried));
}

Status NodeLink::send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) {
  const auto neighbour = std::lower_bound(plan_.ranks.begin(), plan_.ranks.end(), to,
                                          [](const Neighbour& candidate, Rank rank) { return candidate.rank < rank; });
  if (neighbour == plan_.ranks.end() || neighbour->rank != to) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} is not of this node: it can be sent no descriptor", static_cast<int>(to)));
  }
  const LetterHead head{plan_.job_secret, tag};
  const std::uint64_t end_ns = host_.now_ns() + kDescriptor_ns;
  while (true) {
    Status sent = endpoints_.mailbox.send(neighbour->mailbox_name, base::bytes_of(head), &descriptor, kFullBox_ns);
    if (sent.code() != Code::timed_out || host_.now_ns() >= end_ns) return sent;
    // The box is full (it holds a handful of letters). Its owner may be waiting for room in ours.
    const base::MutexLock lock(mailbox_mutex_);
    GRAPNEL_TRY(empty_mailbox());
  }
}

Result<os::Descriptor> NodeLink::receive_descriptor(std::uint64_t tag, const std::function<Status()>& health) {
  const std::uint64_t end_ns = host_.now_ns() + kDescriptor_ns;
  while (true) {
    // The lock is held for one look only, so that threads that wait for different tags take turns.
    const base::MutexLock lock(mailbox_mutex_);
    if (const auto found = stash_.find(tag); found != stash_.end()) {
      os::Descriptor descriptor = std::move(found->second);
      stash_.erase(found);
      return descriptor;
    }
    if (host_.now_ns() >= end_ns) {
      return Status(Code::timed_out, fmt::format("no descriptor came under tag {:#x} within 30 s", tag));
    }
    GRAPNEL_TRY(health());
    const auto came = take_letter(kLook_ns);
    if (!came) return came.status();
  }
}

Status NodeLink::empty_mailbox() {
  while (true) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto came, take_letter(0));
    if (!came) return {};
  }
}

Result<bool> NodeLink::take_letter(std::uint64_t timeout_ns) {
  auto letter = endpoints_.mailbox.receive(timeout_ns);
  if (!letter) {
    if (letter.status().code() == Code::timed_out) return false;
    return letter.status();
  }
  const auto head = base::Decoder(letter->bytes).get<LetterHead>();
  if (head && head->secret == plan_.job_secret && letter->descriptor.valid()) {
    stash_.emplace(head->tag, std::move(letter->descriptor));
  } else {
    base::log_warn("a foreign letter from process {} was dropped", letter->sender_pid);
  }
  return true;
}

}  // namespace grapnel::launch
