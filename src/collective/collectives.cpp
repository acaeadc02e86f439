// SPDX-License-Identifier: Apache-2.0
#include "collective/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collective/arguments.hpp"
#include "collective/settings.hpp"
#include "rma/service.hpp"

namespace grapnel::collective {

Collectives::Collectives(core::Core& core)
    : launch_(core.launch),
      letters_(core.letters),
      words_(core.launch, core.waiting),
      node_(words_, core.config.get<Settings>().flat_bytes),
      gather_bytes_(core.config.get<Settings>().gather_bytes),
      long_data_(core, core.service<rma::RmaService>().rma(), core.config.get<Settings>().long_bytes),
      between_(core.launch, core.letters, long_data_, gather_bytes_),
      world_key_(core.world.key),
      started_(core, core.config.get<Settings>().long_bytes) {}

// ---- groups ----

void Collectives::fill(const launch::Group& group, Membership& mine) const {
  if (!mine.ranks.empty()) return;
  const std::vector<NodeId>& node_of = launch_.nodes().node_of;
  mine.ranks = group.members;
  std::map<NodeId, std::size_t> known;
  for (std::size_t place = 0; place < group.size(); ++place) {
    const NodeId node = node_of[index(group.members[place])];
    const auto [found, is_new] = known.emplace(node, mine.members_of.size());
    if (is_new) mine.members_of.emplace_back();
    mine.members_of[found->second].push_back(place);
    mine.node_of.push_back(found->second);
    if (place == group.my_index) mine.on_node.place = static_cast<std::uint32_t>(mine.on_node.local.size());
    if (node == launch_.node()) mine.on_node.local.push_back(group.members[place]);
  }
  mine.my_node = mine.node_of[group.my_index];
  for (const auto& members : mine.members_of) mine.by_node.insert(mine.by_node.end(), members.begin(), members.end());
}

Result<Collectives::Membership*> Collectives::membership(const launch::Group& group) {
  if (world_ != nullptr && group.key == world_key_) return world_;
  Membership& mine = memberships_[group.key];
  if (!mine.on_node.held()) {
    fill(group, mine);
    GRAPNEL_TRY(words_.attach(group, mine.on_node));
    if (group.key == world_key_) world_ = &mine;
  }
  return &mine;
}

Status Collectives::release(const launch::Group& group) {
  const auto found = memberships_.find(group.key);
  if (found == memberships_.end() || !found->second.on_node.held()) return {};
  if (&found->second == world_) return {};  // it ends with the job
  return words_.release(found->second.on_node);
}

// ---- a call ----

Result<Collectives::Turn> Collectives::begin(const launch::Group& group, const Call& call, std::size_t bytes,
                                             std::optional<std::size_t> root) {
  GRAPNEL_ASSIGN_OR_RETURN(Membership* const mine, membership(group));
  Turn turn{mine, {call, group.key, mine->calls++, {}, mine->my_node}, 0, messages(), bytes};
  if (root && mine->node_of[*root] == mine->my_node) {
    const auto& here = mine->neighbours();
    turn.speaker = static_cast<std::uint32_t>(std::find(here.begin(), here.end(), *root) - here.begin());
  }
  if (mine->several_nodes() && turn.speaks()) {
    for (const auto& members : mine->members_of) turn.all.ranks.push_back(group.members[members.front()]);
    if (root) turn.all.ranks[mine->node_of[*root]] = group.members[*root];
  }
  return turn;
}

// A root that only sends must not send without end: its letters are kept where they are not yet wanted.
Status Collectives::end(Turn& turn) {
  if (turn.mine->meets_after(turn.call())) {
    std::vector<ByteSpan> nothing(turn.all.size());
    if (turn.mine->several_nodes() && turn.speaks()) GRAPNEL_TRY(between_.allgather(turn.all, nothing));
  }
  count(*turn.mine, turn.call().kind, turn.bytes);
  if (turn.mine->several_nodes()) counts_of(turn.call().kind).messages.add(messages() - turn.messages);
  return {};
}

Status Collectives::broadcast(const launch::Group& group, void* data, std::size_t bytes, Rank root) {
  GRAPNEL_TRY(check_buffer(data, bytes, "data"));
  GRAPNEL_ASSIGN_OR_RETURN(const auto from, check_root(group, root));
  const Call call{CallKind::broadcast, 0, bytes, static_cast<std::int32_t>(root)};
  GRAPNEL_ASSIGN_OR_RETURN(Turn turn, begin(group, call, bytes, from));
  const ByteSpan all(static_cast<std::byte*>(data), bytes);
  if (turn.mine->several_nodes() && turn.speaks()) {
    GRAPNEL_TRY(between_.broadcast(turn.all, all, turn.mine->node_of[from]));
  }
  GRAPNEL_TRY(node_.broadcast(turn.on_node(), call, all, turn.speaker));
  return end(turn);
}

// The speakers' results lie in `destination`, or, of those that want none, in memory of their own.
Status Collectives::join(Turn& turn, const Reduction& reduction, const void* source, void* destination,
                         std::size_t count, std::optional<std::size_t> root) {
  if (!turn.mine->several_nodes()) {
    return node_.reduce(turn.on_node(), turn.call(), reduction, source, destination, count,
                        root ? std::optional(turn.speaker) : std::nullopt);
  }
  GRAPNEL_TRY(node_.reduce(turn.on_node(), turn.call(), reduction, source, destination, count, turn.speaker));
  if (!turn.speaks()) return {};
  std::optional<std::size_t> receiver;
  if (root) receiver = turn.mine->node_of[*root];
  return between_.join(turn.all, reduction, static_cast<std::byte*>(destination), count, receiver);
}

Status Collectives::reduce(const launch::Group& group, const Reduction& reduction, const void* source,
                           void* destination, std::size_t count, Rank root) {
  GRAPNEL_TRY(check_reduction(reduction, count));
  GRAPNEL_ASSIGN_OR_RETURN(const auto to, check_root(group, root));
  const std::size_t bytes = count * reduction.element_bytes;
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  if (to == group.my_index) GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  const Call call = reducing(CallKind::reduce, reduction, count, static_cast<int>(root));
  GRAPNEL_ASSIGN_OR_RETURN(Turn turn, begin(group, call, bytes, to));
  Bytes own;
  if (to != group.my_index && turn.speaks()) {
    own.resize(bytes);
    destination = own.data();
  }
  GRAPNEL_TRY(join(turn, reduction, source, destination, count, to));
  return end(turn);
}

Status Collectives::allreduce(const launch::Group& group, const Reduction& reduction, const void* source,
                              void* destination, std::size_t count) {
  GRAPNEL_TRY(check_reduction(reduction, count));
  const std::size_t bytes = count * reduction.element_bytes;
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  const Call call = reducing(CallKind::allreduce, reduction, count, -1);
  GRAPNEL_ASSIGN_OR_RETURN(Turn turn, begin(group, call, bytes));
  GRAPNEL_TRY(join(turn, reduction, source, destination, count, {}));
  if (turn.mine->several_nodes()) {
    GRAPNEL_TRY(node_.broadcast(turn.on_node(), call, {static_cast<std::byte*>(destination), bytes}, turn.speaker));
  }
  return end(turn);
}

Status Collectives::allgather(const launch::Group& group, const void* source, void* destination, std::size_t bytes) {
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  GRAPNEL_ASSIGN_OR_RETURN(Turn turn, begin(group, {CallKind::allgather, 0, bytes}, bytes));
  auto* const to = static_cast<std::byte*>(destination);
  if (turn.mine->several_nodes()) {
    GRAPNEL_TRY(gather_nodes(turn, source, to, bytes));
  } else {
    std::vector<std::byte*> places;
    for (std::size_t place = 0; place < group.size(); ++place) places.push_back(to + place * bytes);
    GRAPNEL_TRY(node_.gather(turn.on_node(), turn.call(), source, bytes, places, {}));
  }
  return end(turn);
}

// In the order of nodes, which is that of members where each node's members follow each other.
Status Collectives::gather_nodes(Turn& turn, const void* source, std::byte* destination, std::size_t bytes) {
  const Membership& mine = *turn.mine;
  const bool in_order = std::is_sorted(mine.by_node.begin(), mine.by_node.end());
  Bytes own(in_order ? 0 : mine.by_node.size() * bytes);
  std::byte* const gathered = in_order ? destination : own.data();
  std::vector<ByteSpan> blocks;
  std::size_t at = 0;
  for (const auto& members : mine.members_of) {
    blocks.emplace_back(gathered + at, members.size() * bytes);
    at += members.size() * bytes;
  }
  std::vector<std::byte*> places;
  for (std::size_t i = 0; i < mine.neighbours().size(); ++i) {
    places.push_back(blocks[mine.my_node].data() + i * bytes);
  }
  GRAPNEL_TRY(node_.gather(turn.on_node(), turn.call(), source, bytes, places, turn.speaker));
  if (turn.speaks()) GRAPNEL_TRY(between_.allgather(turn.all, blocks));
  GRAPNEL_TRY(node_.broadcast(turn.on_node(), turn.call(), {gathered, at}, turn.speaker));
  for (std::size_t i = 0; !in_order && i < mine.by_node.size(); ++i) {
    std::memcpy(destination + mine.by_node[i] * bytes, gathered + i * bytes, bytes);
  }
  return {};
}

Status Collectives::alltoall(const launch::Group& group, const void* source, std::span<const std::size_t> send_bytes,
                             void* destination, std::span<const std::size_t> receive_bytes) {
  GRAPNEL_TRY(check_pieces(group, source, send_bytes, destination, receive_bytes));
  const std::size_t size = group.size(), me = group.my_index;
  std::vector<std::size_t> from(size), to(size);
  std::exclusive_scan(send_bytes.begin(), send_bytes.end(), from.begin(), std::size_t{0});
  std::exclusive_scan(receive_bytes.begin(), receive_bytes.end(), to.begin(), std::size_t{0});
  GRAPNEL_ASSIGN_OR_RETURN(Turn turn, begin(group, {CallKind::alltoall}, from.back() + send_bytes.back()));
  const auto* const outgoing = static_cast<const std::byte*>(source);
  auto* const incoming = static_cast<std::byte*>(destination);
  std::copy_n(outgoing + from[me], send_bytes[me], incoming + to[me]);
  std::vector<ByteView> out;
  std::vector<ByteSpan> in;
  for (std::size_t i = 0; i < size; ++i) {
    out.emplace_back(outgoing + from[i], send_bytes[i]);
    in.emplace_back(incoming + to[i], receive_bytes[i]);
  }
  GRAPNEL_TRY(between_.alltoall(turn.all, group.members, me, out, in));
  return end(turn);
}

}  // namespace grapnel::collective
