// SPDX-License-Identifier: Apache-2.0
#include "collective/node_words.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace grapnel::collective {
namespace {

auto about(const GroupEntry& entry, std::uint64_t phase, const std::vector<Rank>& members) {
  return [&entry, phase, &members] {
    return progress::WaitSubject{progress::WaitKind::collective, "collective", {entry.key, phase}, &members};
  };
}

}  // namespace

std::size_t NodeWords::node_memory_bytes(const launch::NodeMap& nodes, NodeId node) {
  return base::kCacheLineBytes + kEntries * sizeof(GroupEntry) + 2 * nodes.ranks_of[index(node)].size() * sizeof(Post);
}

NodeWords::NodeWords(launch::Launch& launch, progress::Waiting& waiting)
    : launch_(launch),
      waiting_(waiting),
      entries_(launch, waiting.host(), launch.node_memory().carve<launch::GroupEntriesWords>(1).front(),
               launch.node_memory().carve<GroupEntry>(kEntries), "collectives"),
      posts_(launch.node_memory().carve<Post>(2 * launch.nodes().ranks_of[index(launch.node())].size())),
      place_(launch::places_in_nodes(launch.nodes())) {}

Status NodeWords::attach(const launch::Group& group, NodeMembership& mine) {
  const auto number = entries_.attach(group.key, [&](std::uint32_t taken) {
    GroupEntry& entry = entries_[taken];
    entry.arrived.start_at(count_of(mine, mine.phase));
    entry.shown.start_at(mine.showings & progress::Gate::kCountMask);
    entry.left[0].start_at(left_count(mine, mine.phase - mine.phase % 2));
    entry.left[1].start_at(count_of(mine, (mine.phase + 1) / 2));
    return Status();
  });
  if (!number) return number.status();
  mine.number = *number;
  mine.entry = &entries_[*number];
  return {};
}

Status NodeWords::release(NodeMembership& mine) {
  for (const std::size_t parity : {0, 1}) {
    if (last_use_[parity].entry == mine.entry) GRAPNEL_TRY(wait_until_free(parity));
  }
  GRAPNEL_TRY(entries_.release(mine.number, [] { return Status(); }));
  mine.entry = nullptr;
  return {};
}

Status NodeWords::wait_until_free(std::size_t parity) {
  LastUse& use = last_use_[parity];
  progress::Gate& left = use.entry->left[parity];
  if (!left.has_passed(use.left)) GRAPNEL_TRY(left.wait(waiting_, use.left, about(*use.entry, 0, *use.members)));
  use = {};
  return {};
}

Status NodeWords::enter(NodeMembership& mine, const Call& call) {
  GroupEntry& entry = *mine.entry;
  const std::uint32_t before = count_of(mine, mine.phase);
  if (!entry.arrived.has_passed(before)) {
    GRAPNEL_TRY(entry.arrived.wait(waiting_, before, about(entry, mine.phase, mine.local)));
  }
  const std::uint64_t phase = mine.phase + 1;
  LastUse& use = last_use_[phase % 2];
  if (use.entry != nullptr && use.entry != &entry) GRAPNEL_TRY(wait_until_free(phase % 2));
  mine.phase = phase;
  use = {&entry, left_count(mine, phase), &mine.local};
  Post& post = post_of(mine, mine.place, phase);
  post.call = call;
  post.phase = phase;
  return {};
}

Status NodeWords::wait_for_all(const NodeMembership& mine) {
  const std::uint32_t count = count_of(mine, mine.phase);
  return mine.entry->arrived.wait(waiting_, count, about(*mine.entry, mine.phase, mine.local));
}

Status NodeWords::wait_for_shown(NodeMembership& mine) {
  const std::uint32_t count = ++mine.showings & progress::Gate::kCountMask;
  return mine.entry->shown.wait(waiting_, count, about(*mine.entry, mine.phase, mine.local));
}

const std::byte* NodeWords::content_of(const NodeMembership& mine, std::uint32_t place, std::uint64_t phase,
                                       const Call& call) {
  GRAPNEL_ASSERT(place < mine.size(), "place {} of {}", place, mine.size());
  const Post& post = post_of(mine, place, phase);
  if (post.phase != phase || post.call != call) blame(mine, place, phase, call);
  return post.content;
}

void NodeWords::blame(const NodeMembership& mine, std::uint32_t place, std::uint64_t phase, const Call& call) {
  const Post& theirs = post_of(mine, place, phase);
  launch_.abort(1, fmt::format("collective calls of one group differ: rank {} called {}, rank {} {}",
                               index(launch_.rank()), to_string(call), index(mine.local[place]),
                               theirs.phase == phase ? to_string(theirs.call) : "something else"));
  std::abort();  // not reached; the compiler does not see that through a virtual call
}

}  // namespace grapnel::collective
