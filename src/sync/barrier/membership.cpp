// A rank's part in a group's barriers: joined at the first one, kept until the release.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "sync/barrier.hpp"

namespace grapnel::sync {

Result<Barriers::Membership*> Barriers::membership(const launch::Group& group) {
  if (group.key == world_key_ && world_ != nullptr) return world_;
  Membership& mine = memberships_[group.key];
  if (!mine.held) {
    GRAPNEL_TRY(join(group, mine, [&](std::uint32_t entry) {
      return mine.several_nodes ? tell_server(group, entry, false) : Status{};
    }));
  }
  return &mine;
}

// The server does not run yet, so its part is called directly, by the rank that leads the node.
Status Barriers::open_world(const launch::Group& world) {
  Membership& mine = memberships_[world.key];
  GRAPNEL_TRY(join(world, mine, [](std::uint32_t) { return Status{}; }));
  if (server_part_) server_part_->add_group(world.key, world.members, mine.number);
  world_key_ = world.key;
  world_ = &mine;
  return {};
}

Status Barriers::join(const launch::Group& group, Membership& mine,
                      const std::function<Status(std::uint32_t)>& on_new) {
  mine.local = 0;
  mine.several_nodes = false;
  mine.nodes.assign(launch_.nodes().node_count(), 0);
  for (const Rank member : group.members) {
    const NodeId node = launch_.nodes().node_of[index(member)];
    mine.nodes[index(node)] = 1;
    if (node == launch_.node() && mine.local++ == 0) mine.measures = member == launch_.rank();
    mine.several_nodes = mine.several_nodes || node != launch_.node();
  }
  mine.measures = mine.measures && mine.several_nodes;
  const auto number = words_.attach(group.key, gate_count(mine, mine.done), on_new);
  if (!number) return number.status();
  mine.number = *number;
  mine.entry = &words_.entry(*number);
  mine.held = true;
  mine.plan = kFirstPlan;
  return {};
}

Status Barriers::release(const launch::Group& group) {
  const auto found = memberships_.find(group.key);
  if (found == memberships_.end() || !found->second.held) return {};
  Membership& mine = found->second;
  if (world_ == &mine) return {};  // it ends with the job
  if (mine.begun) return Status(Code::invalid_argument, "a group is released while its barrier is under way");
  GRAPNEL_TRY(words_.release(mine.number,
                             [&] { return mine.several_nodes ? tell_server(group, mine.number, true) : Status{}; }));
  // What is left is the number of barriers done: a group of the same members may be made again.
  const std::uint32_t done = mine.done;
  mine = {};
  mine.done = done;
  return {};
}

Status Barriers::tell_server(const launch::Group& group, std::uint32_t entry, bool ends) {
  const BarrierGroupBody body{group.key, entry, ends ? 1U : 0U};
  const Bytes members = launch::member_bits(group, launch_.size());
  progress::OutgoingRequest request;
  request.handler = kBarrierGroupHandler;
  request.body = base::bytes_of(body);
  request.payload = members;
  const progress::Client::Guard guard(*client_);
  GRAPNEL_ASSIGN_OR_RETURN(const auto answered, client_->ask(launch_.node(), request));
  if (answered.code == progress::ReplyCode::answer) return {};
  return Status(Code::refused, fmt::format("a barrier among {} ranks collides with another group's; add or leave out "
                                           "a rank",
                                           group.size()));
}

}  // namespace grapnel::sync
