// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "launch/group.hpp"
#include "rma/settings.hpp"
#include "sync/settings.hpp"

namespace grapnel::sync {

Result<std::uint32_t> Combines::add(Combine combine) {
  const std::uint32_t number = used_.fetch_add(1);
  if (number >= kMost) {
    used_.fetch_sub(1);
    return Status(Code::unavailable, fmt::format("there are {} functions to join payloads already", kMost));
  }
  functions_[number].store(combine);
  return number + 1;
}

Combine Combines::find(std::uint32_t number) const {
  return number == 0 || number > kMost ? nullptr : functions_[number - 1].load();
}

BarrierMembers make_members(const launch::Launch& launch, std::vector<Rank> ranks, std::uint32_t entry,
                            std::uint32_t fanout) {
  BarrierMembers members;
  for (const Rank rank : ranks) {
    const NodeId node = launch.nodes().node_of[index(rank)];
    members.nodes.push_back(node);
    if (node == launch.node()) members.local.push_back(rank);
  }
  std::sort(members.nodes.begin(), members.nodes.end());
  members.nodes.erase(std::unique(members.nodes.begin(), members.nodes.end()), members.nodes.end());
  const auto& machine_of = launch.nodes().machine_of;
  members.crowd =
      static_cast<std::uint32_t>(std::count_if(members.nodes.begin(), members.nodes.end(), [&](NodeId node) {
        return machine_of[index(node)] == machine_of[index(launch.node())];
      }));
  const auto mine = std::find(members.nodes.begin(), members.nodes.end(), launch.node());
  members.me = static_cast<std::uint32_t>(mine - members.nodes.begin());
  members.ranks = std::move(ranks);
  members.entry = entry;
  members.rounds = dissemination(members.size(), fanout);
  members.distances = reduce_scatter(members.size());
  members.gather = gather_place(members.size(), members.me);
  return members;
}

BarrierServer::BarrierServer(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting,
                             progress::Server& server, const progress::WriteCounts& counts, BarrierWords& words,
                             const Combines& combines)
    : launch_(launch),
      waiting_(waiting),
      server_(server),
      counts_(counts),
      words_(words),
      combines_(combines),
      processors_(static_cast<std::uint32_t>(waiting.host().processors())),
      terms_{static_cast<std::uint32_t>(launch.nodes().node_count()), config.get<Settings>().barrier_fanout,
             config.get<rma::Settings>().fence_window},
      shares_(launch.nodes().node_count()) {}

void BarrierServer::add_to_server() {
  server_.handlers().add(kBarrierHandler, {"barrier", sizeof(BarrierBody), sizeof(BarrierBody), false,
                                           [this](progress::Request& request) { return on_message(request); }, true});
  server_.handlers().add(kBarrierGroupHandler,
                         {"barrier group", sizeof(BarrierGroupBody), sizeof(BarrierGroupBody), true,
                          [this](progress::Request& request) { return on_group(request); }});
  server_.add_watcher([this] { return look(); });
}

void BarrierServer::add_group(std::uint64_t group, std::vector<Rank> members, std::uint32_t entry) {
  if (members.size() == static_cast<std::size_t>(launch_.size())) world_ = group;
  const auto placed = groups_.insert_or_assign(group, make_members(launch_, std::move(members), entry, terms_.fanout));
  check_shares_of(placed.first->second);
}

// ---- messages that arrive ----

progress::Outcome BarrierServer::on_message(progress::Request& request) {
  const auto body = request.body_as<BarrierBody>();
  const int sender = static_cast<int>(request.origin) - launch_.size();
  if (sender < 0 || body.unused != 0) return progress::Outcome::refused;
  const NodeId from{sender};
  const Name name(body.group, body.count);
  const auto group = groups_.find(body.group);
  if (group == groups_.end()) return keep_early(from, name, body, request.payload);
  if (!is_due(group->second, from, body, request.payload.size())) return progress::Outcome::refused;
  // A rank that is here may be one barrier ahead, and is behind by none: its part of one that is over was awaited.
  const BarrierEntry& entry = words_.entry(group->second.entry);
  const std::uint32_t done = entry.gate.count();  // only we count it up
  if (body.count == done && done != 0) {
    abort_job(body.group,
              fmt::format("the server of node {} sent a message for the one before, which is over", sender));
  }
  const std::uint32_t ahead = (body.count - done) & progress::Gate::kCountMask;
  if (body.count > progress::Gate::kCountMask || ahead < 1 || ahead > 2) return progress::Outcome::refused;
  if (!instance(name).take(from, body, request.payload)) return progress::Outcome::refused;
  note_move(name);
  return progress::Outcome::done;
}

// The group may be one that a rank is about to name. Of each at most two barriers are under way, so this many are a
// share that no server needs more of.
progress::Outcome BarrierServer::keep_early(NodeId from, const Name& name, const BarrierBody& body, ByteView payload) {
  if (body.from >= launch_.nodes().node_count()) return progress::Outcome::refused;
  Share& share = shares_[index(from)];
  const bool opens = instances_.find(name) == instances_.end();
  if ((opens && share.instances >= kShareInstances) || share.bytes + payload.size() > kShareBytes) {
    share.overrun = true;
    return progress::Outcome::refused;
  }
  BarrierInstance& early = instance(name);
  const bool kept = early.take(from, body, payload);
  if (kept) {
    share.bytes += payload.size();
    early.early_bytes[from] += payload.size();
  }
  if (opens && kept) {
    early.opened_by = from;
    ++share.instances;
  } else if (opens) {
    instances_.erase(name);
  }
  return kept ? progress::Outcome::done : progress::Outcome::refused;
}

void BarrierServer::give_share_back(BarrierInstance& instance) {
  if (!instance.opened_by) return;
  --shares_[index(*instance.opened_by)].instances;
  for (const auto& [from, bytes] : instance.early_bytes) shares_[index(from)].bytes -= bytes;
  instance.opened_by.reset();
}

// Part of what it waits for may have been refused.
void BarrierServer::check_shares_of(const BarrierMembers& members) const {
  for (const NodeId node : members.nodes) {
    if (!shares_[index(node)].overrun) continue;
    launch_.abort(1, fmt::format("the server of node {} sent messages for barriers of more than {} groups that no rank "
                                 "of node {} had named, or more than {} MiB of them; no program of this version does",
                                 index(node), kShareInstances / 2, index(launch_.node()), kShareBytes / base::kMiB));
  }
}

void BarrierServer::abort_job(std::uint64_t group, const std::string& why) const {
  const auto found = groups_.find(group);
  const std::size_t members = found == groups_.end() ? 0 : found->second.ranks.size();
  launch_.abort(1, fmt::format("in a barrier of {} ranks {}, which no program of this version does", members, why));
  std::abort();  // not reached; gcc does not see it
}

progress::Outcome BarrierServer::on_group(progress::Request& request) {
  const auto body = request.body_as<BarrierGroupBody>();
  const bool local = launch_.nodes().node_of[index(request.origin)] == launch_.node();
  auto group = launch::group_of_bits(request.payload, launch_.size());
  if (!local || body.entry >= BarrierWords::kEntries || body.ends > 1 || !group || !group->contains(request.origin)) {
    return progress::Outcome::refused;
  }
  // A rank sends it under the lock of the table of entries: as the first that holds the entry, or as the last.
  const BarrierEntry& entry = words_.entry(body.entry);
  if (entry.key != body.group || entry.references != body.ends) return progress::Outcome::refused;
  const auto found = groups_.find(body.group);
  // The key is a hash: two lists of members with the same one must not meet in one barrier.
  if (found != groups_.end() && found->second.ranks != group->members) return progress::Outcome::refused;
  // Its instances look at the group's members until they are over.
  if (found != groups_.end() && (body.group == world_ || is_under_way(body.group))) return progress::Outcome::refused;
  if (body.ends != 0) {
    groups_.erase(body.group);
  } else if (found == groups_.end()) {
    add_group(body.group, std::move(group->members), body.entry);
  } else {
    found->second.entry = body.entry;
  }
  request.answer({}, {});
  return progress::Outcome::done;
}

bool BarrierServer::is_under_way(std::uint64_t group) const {
  for (auto one = instances_.lower_bound({group, 0}); one != instances_.end() && one->first.first == group; ++one) {
    if (one->second.launched()) return true;
  }
  return false;
}

bool BarrierServer::look() {
  bool any = words_.take_launched([this](std::uint32_t entry) { launch_instance(entry); });
  if (!moved_.empty()) {
    any = true;
    moving_.swap(moved_);
    for (const Name& name : moving_) proceed(name);
    moving_.clear();
  }
  if (!waiting_for_writes_.empty() && writes_seen_ != server_.writes_applied()) {
    any = true;
    writes_seen_ = server_.writes_applied();
    for (const Name& name : std::set(waiting_for_writes_)) proceed(name);
  }
  return any;
}

// ---- instances ----

void BarrierServer::note_move(const Name& name) {
  if (std::find(moved_.begin(), moved_.end(), name) == moved_.end()) moved_.push_back(name);
}

BarrierInstance& BarrierServer::instance(const Name& name) {
  return instances_.try_emplace(name, static_cast<BarrierHost&>(*this), name.first, name.second).first->second;
}

void BarrierServer::launch_instance(std::uint32_t number) {
  BarrierEntry& entry = words_.entry(number);
  const std::uint32_t done = entry.gate.count();  // only we count it up
  const Name name(entry.key, (done + 1) & progress::Gate::kCountMask);
  const auto group = groups_.find(entry.key);
  if (group == groups_.end() || group->second.entry != number) {
    launch_.abort(1, "the ranks of this node have arrived at a barrier of a group that its server was told has ended");
  }
  BarrierTotals totals;
  totals.dirty = entry.dirty.load(std::memory_order_relaxed);  // ordered by the launch
  totals.most_dirty = entry.most_dirty.load(std::memory_order_relaxed);
  totals.refused = refused();
  totals.message_cost_ns = server_.message_cost_ns();
  totals.delay_ns = words_.delay_ns().load(std::memory_order_relaxed);
  totals.crowd_percent = 100 * group->second.crowd / processors_;
  Bytes payload;
  const std::uint32_t combine = entry.combine.load(std::memory_order_relaxed);
  if (combine != 0) {
    GRAPNEL_CHECK(combines_.find(combine) != nullptr, "this rank has not added function {} to join payloads", combine);
    const ByteView joined = words_.find_payload_area(entry)->in[name.second % 2].of(name.second);
    payload.assign(joined.begin(), joined.end());
  }
  const auto plan = static_cast<BarrierPlan>(entry.plan.load(std::memory_order_relaxed));
  BarrierInstance& launched = instance(name);
  give_share_back(launched);
  launched.launch(group->second, plan, totals, std::move(payload), combines_.find(combine));
  note_move(name);
}

void BarrierServer::proceed(const Name& name) {
  const auto found = instances_.find(name);
  if (found == instances_.end()) return;
  BarrierInstance& instance = found->second;
  if (instance.proceed()) {
    waiting_for_writes_.erase(name);
    end(name, instance);
    instances_.erase(found);
  } else if (instance.waits_for_writes()) {
    waiting_for_writes_.insert(name);
  } else {
    waiting_for_writes_.erase(name);
  }
}

void BarrierServer::end(const Name&, BarrierInstance& instance) {
  BarrierEntry& entry = words_.entry(instance.members().entry);
  Terms terms = terms_;
  terms.nodes = instance.members().size();
  entry.next_plan.store(static_cast<std::uint32_t>(next_plan(instance.totals(), terms)), std::memory_order_relaxed);
  entry.refused.store(instance.totals().refused, std::memory_order_relaxed);  // all ordered by the gate
  if (entry.combine.load(std::memory_order_relaxed) != 0) {
    PayloadArea& area = *words_.find_payload_area(entry);
    const Bytes& payload = instance.payload();
    std::copy(payload.begin(), payload.end(), area.out);
    area.out_bytes.store(static_cast<std::uint32_t>(payload.size()), std::memory_order_relaxed);
  }
  words_.open(entry);
}

// ---- what instances ask for ----

void BarrierServer::send(NodeId node, const BarrierBody& body, ByteView payload) {
  server_.tell(node, kBarrierHandler, base::bytes_of(body), payload);
  messages_.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t BarrierServer::counted(const BarrierMembers& members, NodeId node) const {
  std::uint64_t sum = 0;
  for (const Rank rank : members.local) sum += counts_.counted(rank, node);
  return sum;
}

std::uint64_t BarrierServer::applied(const BarrierMembers& members) const {
  if (members.ranks.size() == static_cast<std::size_t>(launch_.size())) return server_.writes_applied();
  std::uint64_t sum = 0;
  for (const Rank rank : members.ranks) sum += server_.writes_applied(rank);
  return sum;
}

std::uint64_t BarrierServer::refused() const { return server_.statistics().refused; }

}  // namespace grapnel::sync
