// SPDX-License-Identifier: Apache-2.0
#include "collective/schedule.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "collective/internal/schedule_writer.hpp"
#include "collective/runs.hpp"

namespace grapnel::collective {
namespace {

// In round k a node has the blocks of 2^k nodes from its own on, sends them to the node 2^k before it, and gets
// as many.
void disseminate(Writer& steps, const GroupNodes& nodes, const Blocks& blocks) {
  const std::size_t size = nodes.members_of.size();
  std::uint32_t phase = kBetween;
  for (std::size_t distance = 1; distance < size; distance *= 2, ++phase) {
    const std::size_t count = std::min(distance, size - distance);
    steps.send(nodes.members_of[(nodes.my_node + size - distance) % size].front(), phase, blocks.begin(0),
               blocks.bytes(0, count));
    steps.receive(nodes.members_of[(nodes.my_node + distance) % size].front(), phase, blocks.begin(distance),
                  blocks.bytes(distance, count));
  }
}

// Binomial: the node that is v after the root's gathers what the next ones bring until v's lowest bit, and sends
// that on.
void gather_at(Writer& steps, const GroupNodes& nodes, const Blocks& blocks, std::size_t root) {
  const std::size_t size = nodes.members_of.size(), root_node = nodes.node_of[root];
  const std::size_t v = (nodes.my_node + size - root_node) % size;
  const auto speaker = [&](std::size_t node) { return nodes.speaker_of(node % size, root); };
  for (std::size_t bit = 1; bit < size; bit *= 2) {
    if ((v & bit) != 0) {
      steps.send(speaker(nodes.my_node + size - bit), kBetween, blocks.begin(0),
                 blocks.bytes(0, std::min(bit, size - v)));
      return;
    }
    if (v + bit >= size) continue;
    steps.receive(speaker(nodes.my_node + bit), kBetween, blocks.begin(bit),
                  blocks.bytes(bit, std::min(bit, size - v - bit)));
  }
}

void collect_blocks(Writer& steps, const GroupNodes& nodes, const Blocks& blocks, std::optional<std::size_t> root) {
  if (root) {
    gather_at(steps, nodes, blocks, *root);
  } else {
    disseminate(steps, nodes, blocks);
  }
}

bool has_result(const GroupNodes& nodes, std::optional<std::size_t> root) {
  return !root || nodes.node_of[*root] == nodes.my_node;
}

// What the nodes bring comes to each node that wants the result, which joins it in the order of nodes.
void join_gathered(Writer& steps, const GroupNodes& nodes, std::optional<std::size_t> root, std::size_t sum,
                   std::size_t bytes) {
  const std::size_t size = nodes.members_of.size();
  const Blocks blocks(nodes, steps.take(size * bytes), std::vector<std::size_t>(size, bytes));
  steps.copy(blocks.begin(0), sum, bytes);
  collect_blocks(steps, nodes, blocks, root);
  if (!has_result(nodes, root)) return;
  const auto block_of = [&](std::size_t node) { return blocks.begin((node + size - nodes.my_node) % size); };
  steps.copy(sum, block_of(0), bytes);
  for (std::size_t node = 1; node < size; ++node) steps.join(sum, block_of(node), bytes);
}

// Each node gets its part of what all nodes bring, joins it, and the parts come to each node that wants the result.
void join_in_parts(Writer& steps, const GroupNodes& nodes, std::optional<std::size_t> root, std::size_t sum,
                   const Elements& elements) {
  const std::size_t size = nodes.members_of.size(), me = nodes.my_node;
  std::vector<std::size_t> begins, lengths;
  for (std::size_t node = 0; node < size; ++node) {
    begins.push_back(run_begin(elements.count, size, node) * elements.bytes);
    lengths.push_back(run_begin(elements.count, size, node + 1) * elements.bytes - begins.back());
  }
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t to = (me + distance) % size;
    steps.send(nodes.speaker_of(to, root), kParts, sum + begins[to], lengths[to]);
  }
  const Blocks parts(nodes, steps.take(elements.count * elements.bytes), lengths);
  const std::size_t joined = parts.begin(0), theirs = steps.take(lengths[me]), bytes = lengths[me];
  for (std::size_t node = 0; node < size; ++node) {
    const std::size_t to = node == 0 ? joined : theirs;
    if (node != me) steps.receive(nodes.speaker_of(node, root), kParts, to, bytes);
    if (node == me && node == 0) steps.copy(joined, sum + begins[me], bytes);
    if (node > 0) steps.join(joined, node == me ? sum + begins[me] : theirs, bytes);
  }
  collect_blocks(steps, nodes, parts, root);
  if (!has_result(nodes, root)) return;
  for (std::size_t i = 0; i < size; ++i) steps.copy(sum + begins[(me + i) % size], parts.begin(i), parts.bytes(i));
}

/// The speaker's: what its node's members bring, joined in their order. Where the sum lies.
std::size_t join_in_node(Writer& steps, Schedule& schedule, const GroupNodes& nodes, std::size_t me,
                         std::size_t bytes) {
  const std::vector<std::size_t>& here = nodes.neighbours();
  const std::size_t sum = steps.take(bytes);
  schedule.source_at = here.front() == me ? sum : steps.take(bytes);
  if (here.size() == 1) return sum;
  const std::size_t theirs = steps.take(bytes);
  for (const std::size_t member : here) {
    const bool first = member == here.front();
    if (member != me) steps.receive(member, kInNode, first ? sum : theirs, bytes);
    if (!first) steps.join(sum, member == me ? schedule.source_at : theirs, bytes);
  }
  return sum;
}

}  // namespace

Schedule broadcast_schedule(const GroupNodes& nodes, std::size_t me, std::size_t root, std::size_t bytes) {
  Schedule schedule;
  Writer steps(schedule);
  const std::size_t at = steps.take(bytes);
  if (me == root) {
    schedule.source_bytes = bytes;
  } else {
    schedule.results.push_back({at, 0, bytes});
  }
  const std::size_t size = nodes.members_of.size(), root_node = nodes.node_of[root];
  const std::size_t v = (nodes.my_node + size - root_node) % size, speaker = nodes.speaker_of(nodes.my_node, root);
  const auto speaker_at = [&](std::size_t distance) { return nodes.speaker_of((root_node + distance) % size, root); };
  Writer::pieces(bytes, [&](std::uint32_t piece, std::size_t offset, std::size_t length) {
    if (me != speaker) return steps.receive_piece(speaker, kToNode, piece, at + offset, length, bytes);
    // Speaker v gets a piece from v less its highest bit, and sends it to v + 2^k for larger k.
    if (v > 0) steps.receive_piece(speaker_at(v - std::bit_floor(v)), kBetween, piece, at + offset, length, bytes);
    for (std::size_t bit = std::bit_ceil(size); bit > std::bit_floor(v); bit /= 2) {
      if (v + bit < size) steps.send_piece(speaker_at(v + bit), kBetween, piece, at + offset, length, bytes);
    }
    for (const std::size_t member : nodes.neighbours()) {
      if (member != me) steps.send_piece(member, kToNode, piece, at + offset, length, bytes);
    }
  });
  return schedule;
}

Schedule reduce_schedule(const GroupNodes& nodes, std::size_t me, std::optional<std::size_t> root,
                         const Elements& elements) {
  Schedule schedule;
  Writer steps(schedule);
  const std::size_t bytes = elements.count * elements.bytes, size = nodes.members_of.size();
  const std::size_t speaker = nodes.speaker_of(nodes.my_node, root);
  schedule.source_bytes = bytes;
  if (me != speaker) {
    const std::size_t at = steps.take(bytes);
    steps.send(speaker, kInNode, at, bytes);
    if (root) return schedule;
    steps.receive(speaker, kToNode, at, bytes);
    schedule.results.push_back({at, 0, bytes});
    return schedule;
  }
  const std::size_t sum = join_in_node(steps, schedule, nodes, me, bytes);
  if (size > 1) {
    const bool little = bytes * size <= elements.gather_bytes || elements.count < size;
    if (little) {
      join_gathered(steps, nodes, root, sum, bytes);
    } else {
      join_in_parts(steps, nodes, root, sum, elements);
    }
  }
  if (!root || me == *root) schedule.results.push_back({sum, 0, bytes});
  for (const std::size_t member : nodes.neighbours()) {
    if (!root && member != me) steps.send(member, kToNode, sum, bytes);
  }
  return schedule;
}

Schedule allgather_schedule(const GroupNodes& nodes, std::size_t me, std::size_t bytes) {
  Schedule schedule;
  Writer steps(schedule);
  const std::vector<std::size_t>& here = nodes.neighbours();
  const std::size_t size = nodes.members_of.size(), speaker = here.front();
  std::vector<std::size_t> lengths;
  for (const auto& members : nodes.members_of) lengths.push_back(members.size() * bytes);
  const std::size_t all = nodes.node_of.size() * bytes;
  const Blocks blocks(nodes, steps.take(all), lengths);
  schedule.source_bytes = bytes;
  const auto my_place = static_cast<std::size_t>(std::find(here.begin(), here.end(), me) - here.begin());
  schedule.source_at = blocks.begin(0) + my_place * bytes;
  if (me != speaker) {
    steps.send(speaker, kInNode, schedule.source_at, bytes);
    steps.receive(speaker, kToNode, blocks.begin(0), all);
  } else {
    for (std::size_t i = 1; i < here.size(); ++i) steps.receive(here[i], kInNode, blocks.begin(0) + i * bytes, bytes);
    disseminate(steps, nodes, blocks);
    for (std::size_t i = 1; i < here.size(); ++i) steps.send(here[i], kToNode, blocks.begin(0), all);
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t at = blocks.begin(i);
    for (const std::size_t member : nodes.members_of[(nodes.my_node + i) % size]) {
      schedule.results.push_back({std::exchange(at, at + bytes), member * bytes, bytes});
    }
  }
  return schedule;
}

Schedule alltoall_schedule(std::size_t me, std::span<const std::size_t> send_bytes,
                           std::span<const std::size_t> receive_bytes) {
  GRAPNEL_ASSERT(send_bytes[me] == receive_bytes[me], "{} and {} bytes", send_bytes[me], receive_bytes[me]);
  Schedule schedule;
  Writer steps(schedule);
  const std::size_t size = send_bytes.size();
  std::vector<std::size_t> from(size), to(size);
  std::exclusive_scan(send_bytes.begin(), send_bytes.end(), from.begin(), std::size_t{0});
  std::exclusive_scan(receive_bytes.begin(), receive_bytes.end(), to.begin(), std::size_t{0});
  schedule.source_bytes = from.back() + send_bytes.back();
  const std::size_t out = steps.take(schedule.source_bytes), in_bytes = to.back() + receive_bytes.back();
  const std::size_t in = steps.take(in_bytes);
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t next = (me + distance) % size;
    steps.send(next, kInNode, out + from[next], send_bytes[next]);
  }
  steps.copy(in + to[me], out + from[me], send_bytes[me]);
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t last = (me + size - distance) % size;
    steps.receive(last, kInNode, in + to[last], receive_bytes[last]);
  }
  schedule.results.push_back({in, 0, in_bytes});
  return schedule;
}

void add_meeting(Schedule& schedule, std::size_t me, std::size_t members) {
  Writer steps(schedule);
  std::uint32_t phase = kMeeting;
  for (std::size_t distance = 1; distance < members; distance *= 2, ++phase) {
    steps.send((me + members - distance) % members, phase, 0, 0);
    steps.receive((me + distance) % members, phase, 0, 0);
  }
}

}  // namespace grapnel::collective
