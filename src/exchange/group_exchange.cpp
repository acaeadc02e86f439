// SPDX-License-Identifier: Apache-2.0
#include "exchange/group_exchange.hpp"

#include <algorithm>

#include "base/codec.hpp"

namespace grapnel::exchange {
namespace {

constexpr std::uint32_t kGatherStep = 0;
constexpr std::uint32_t kBroadcastStep = 1;
constexpr std::uint32_t kFirstSpreadStep = 2;

}  // namespace

/// One exchange under way.
struct GroupExchange::Call {
  const launch::Group& group;
  std::uint64_t sequence;
  std::vector<Bytes> values;                              ///< by group index, as far as they are known
  std::vector<std::vector<std::size_t>> members_of = {};  ///< by node of the group: group indices
  std::size_t my_node = 0;                                ///< which of them

  Subject subject(std::uint32_t step) const { return {group.key, sequence, step}; }
  Rank first_of(std::size_t node) const { return group.members[members_of[node].front()]; }
  const std::vector<std::size_t>& neighbours() const { return members_of[my_node]; }
  bool first_here() const { return neighbours().front() == group.my_index; }

  // The values of `count` nodes from `node` on, around the group: for each its index, length and bytes.
  Bytes encode(std::size_t node, std::size_t count) const {
    base::Encoder out;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t member : members_of[(node + i) % members_of.size()]) {
        out.put(static_cast<std::uint64_t>(member)).put_string(values[member]);
      }
    }
    return out.take();
  }

  Status decode(ByteView bytes) {
    base::Decoder in(bytes);
    while (!in.rest().empty()) {
      const auto member = in.get<std::uint64_t>();
      const auto value = in.get_string();
      if (!value || *member >= values.size()) {
        return Status(Code::system, "a member of the group sent values that make no sense");
      }
      values[*member].assign(value->begin(), value->end());
    }
    return {};
  }
};

Result<std::vector<Bytes>> GroupExchange::allgather(const launch::Group& group, ByteView mine) {
  Call call{group, next_sequence_[group.key]++, std::vector<Bytes>(group.size())};
  call.values[group.my_index].assign(mine.begin(), mine.end());
  std::map<NodeId, std::size_t> known;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto [place, is_new] =
        known.emplace(launch_.nodes().node_of[index(group.members[i])], call.members_of.size());
    if (is_new) call.members_of.emplace_back();
    call.members_of[place->second].push_back(i);
    if (i == group.my_index) call.my_node = place->second;
  }
  GRAPNEL_TRY(gather(call));
  if (call.first_here()) GRAPNEL_TRY(spread(call));
  GRAPNEL_TRY(broadcast(call));
  return std::move(call.values);
}

Status GroupExchange::gather(Call& call) {
  const Subject subject = call.subject(kGatherStep);
  if (!call.first_here()) {
    return letters_.send(call.first_of(call.my_node), subject, call.values[call.group.my_index]);
  }
  for (const std::size_t member : call.neighbours()) {
    if (member == call.group.my_index) continue;
    GRAPNEL_ASSIGN_OR_RETURN(auto value, letters_.receive(call.group.members[member], subject));
    call.values[member] = std::move(value);
  }
  return {};
}

Status GroupExchange::spread(Call& call) {
  const std::size_t nodes = call.members_of.size();
  std::uint32_t step = kFirstSpreadStep;
  for (std::size_t distance = 1; distance < nodes; distance *= 2, ++step) {
    const std::size_t count = std::min(distance, nodes - distance);
    const Rank to = call.first_of((call.my_node + nodes - distance) % nodes);
    const Rank from = call.first_of((call.my_node + distance) % nodes);
    GRAPNEL_TRY(letters_.send(to, call.subject(step), call.encode(call.my_node, count)));
    GRAPNEL_ASSIGN_OR_RETURN(const auto theirs, letters_.receive(from, call.subject(step)));
    GRAPNEL_TRY(call.decode(theirs));
  }
  return {};
}

Status GroupExchange::broadcast(Call& call) {
  const Subject subject = call.subject(kBroadcastStep);
  if (!call.first_here()) {
    const auto all = letters_.receive(call.first_of(call.my_node), subject);
    return all ? call.decode(*all) : all.status();
  }
  if (call.neighbours().size() == 1) return {};
  const Bytes all = call.encode(0, call.members_of.size());
  for (const std::size_t member : call.neighbours()) {
    if (member != call.group.my_index) GRAPNEL_TRY(letters_.send(call.group.members[member], subject, all));
  }
  return {};
}

}  // namespace grapnel::exchange
