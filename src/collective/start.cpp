// Collectives in two steps: what the caller gave is checked and becomes a schedule.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "collective/arguments.hpp"
#include "collective/collectives.hpp"

namespace grapnel::collective {

Collectives::Membership& Collectives::members_of(const launch::Group& group) {
  Membership& mine = memberships_[group.key];
  fill(group, mine);
  return mine;
}

void Collectives::count(const Membership& mine, CallKind kind, std::size_t bytes) {
  Counts& counts = counts_of(kind);
  (mine.several_nodes() ? counts.wire : counts.shared).add(1);
  (mine.several_nodes() ? counts.wire_bytes : counts.shared_bytes).add(bytes);
}

Collectives::Started Collectives::start(const launch::Group& group, Membership& mine, const Call& call,
                                        std::size_t bytes, CallStart start) {
  start.call = call;
  start.call.started = 1;
  start.group = group.key;
  start.sequence = mine.calls++;
  start.ranks = &mine.ranks;
  start.messages = &counts_of(call.kind).messages;
  if (mine.meets_after(call)) add_meeting(start.schedule, group.my_index, group.size());
  count(mine, call.kind, bytes);
  return started_.start(std::move(start));
}

Collectives::Started Collectives::start_broadcast(const launch::Group& group, void* data, std::size_t bytes,
                                                  Rank root) {
  GRAPNEL_TRY(check_buffer(data, bytes, "data"));
  GRAPNEL_ASSIGN_OR_RETURN(const auto from, check_root(group, root));
  Membership& mine = members_of(group);
  CallStart call;
  call.schedule = broadcast_schedule(mine, group.my_index, from, bytes);
  call.source = call.destination = data;
  return start(group, mine, {CallKind::broadcast, 0, bytes, static_cast<std::int32_t>(root)}, bytes, std::move(call));
}

Collectives::Started Collectives::start_reduce(const launch::Group& group, const Reduction& reduction,
                                               const void* source, void* destination, std::size_t count, Rank root) {
  GRAPNEL_TRY(check_reduction(reduction, count));
  GRAPNEL_ASSIGN_OR_RETURN(const auto to, check_root(group, root));
  const std::size_t bytes = count * reduction.element_bytes;
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  if (to == group.my_index) GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  Membership& mine = members_of(group);
  CallStart call;
  call.schedule = reduce_schedule(mine, group.my_index, to, {count, reduction.element_bytes, gather_bytes_});
  call.reduction = reduction;
  call.source = source;
  call.destination = destination;
  return start(group, mine, reducing(CallKind::reduce, reduction, count, static_cast<int>(root)), bytes,
               std::move(call));
}

Collectives::Started Collectives::start_allreduce(const launch::Group& group, const Reduction& reduction,
                                                  const void* source, void* destination, std::size_t count) {
  GRAPNEL_TRY(check_reduction(reduction, count));
  const std::size_t bytes = count * reduction.element_bytes;
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  Membership& mine = members_of(group);
  CallStart call;
  call.schedule = reduce_schedule(mine, group.my_index, {}, {count, reduction.element_bytes, gather_bytes_});
  call.reduction = reduction;
  call.source = source;
  call.destination = destination;
  return start(group, mine, reducing(CallKind::allreduce, reduction, count, -1), bytes, std::move(call));
}

Collectives::Started Collectives::start_allgather(const launch::Group& group, const void* source, void* destination,
                                                  std::size_t bytes) {
  GRAPNEL_TRY(check_buffer(source, bytes, "source"));
  GRAPNEL_TRY(check_buffer(destination, bytes, "destination"));
  Membership& mine = members_of(group);
  CallStart call;
  call.schedule = allgather_schedule(mine, group.my_index, bytes);
  call.source = source;
  call.destination = destination;
  return start(group, mine, {CallKind::allgather, 0, bytes}, bytes, std::move(call));
}

Collectives::Started Collectives::start_alltoall(const launch::Group& group, const void* source,
                                                 std::span<const std::size_t> send_bytes, void* destination,
                                                 std::span<const std::size_t> receive_bytes) {
  GRAPNEL_TRY(check_pieces(group, source, send_bytes, destination, receive_bytes));
  Membership& mine = members_of(group);
  CallStart call;
  call.schedule = alltoall_schedule(group.my_index, send_bytes, receive_bytes);
  call.source = source;
  call.destination = destination;
  const std::size_t bytes = std::accumulate(send_bytes.begin(), send_bytes.end(), std::size_t{0});
  return start(group, mine, {CallKind::alltoall}, bytes, std::move(call));
}

}  // namespace grapnel::collective
