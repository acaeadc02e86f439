// SPDX-License-Identifier: Apache-2.0
#include "collective/between_nodes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "collective/runs.hpp"

namespace grapnel::collective {
namespace {

/// A broadcast's piece: while a node passes one on, the next one comes.
constexpr std::size_t kPieceBytes = 64 * base::kKiB;

/// The blocks of `count` nodes from `first` on, around the group, one after the other.
Bytes packed(const std::vector<ByteSpan>& blocks, std::size_t first, std::size_t count) {
  base::Encoder out;
  for (std::size_t i = 0; i < count; ++i) out.put_bytes(blocks[(first + i) % blocks.size()]);
  return out.take();
}

std::size_t packed_bytes(const std::vector<ByteSpan>& blocks, std::size_t first, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += blocks[(first + i) % blocks.size()].size();
  return bytes;
}

void unpack(ByteView from, std::vector<ByteSpan>& blocks, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const ByteSpan block = blocks[(first + i) % blocks.size()];
    std::copy_n(from.begin(), block.size(), block.begin());
    from = from.subspan(block.size());
  }
}

}  // namespace

Status BetweenNodes::send(const Speakers& all, Rank to, std::uint32_t step, ByteView content) {
  base::Encoder letter;
  letter.put(all.call).put_bytes(content);
  return letters_.send(to, {all.group, all.sequence | kCollectiveSequences, step}, letter.view());
}

Status BetweenNodes::receive(const Speakers& all, Rank from, std::uint32_t step, ByteSpan content) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto letter,
                           letters_.receive(from, {all.group, all.sequence | kCollectiveSequences, step}));
  base::Decoder in(letter);
  const auto theirs = in.get<Call>();
  if (!theirs || *theirs != all.call) abort_of_calls(launch_, all.call, from, theirs);
  if (in.rest().size() != content.size()) {
    abort_of_lengths(launch_, all.call, from, in.rest().size(), content.size());
  }
  std::copy_n(in.rest().begin(), content.size(), content.begin());
  return {};
}

// Speaker v (counted from the root) has the piece from v less its highest bit, and sends it to v + 2^k for larger k.
Status BetweenNodes::broadcast(Speakers& all, ByteSpan data, std::size_t root) {
  const std::size_t nodes = all.size();
  GRAPNEL_ASSERT(all.me < nodes && root < nodes, "node {} of {}; the root is {}", all.me, nodes, root);
  const std::size_t v = (all.me + nodes - root) % nodes;
  const auto rank_at = [&](std::size_t relative) { return all.ranks[(relative + root) % nodes]; };
  for (std::size_t at = 0; at < data.size(); at += kPieceBytes, ++all.step) {
    const ByteSpan piece = data.subspan(at, std::min(kPieceBytes, data.size() - at));
    if (v > 0) GRAPNEL_TRY(receive(all, rank_at(v - std::bit_floor(v)), all.step, piece));
    for (std::size_t bit = std::bit_ceil(nodes); bit > std::bit_floor(v); bit /= 2) {
      if (v + bit < nodes) GRAPNEL_TRY(send(all, rank_at(v + bit), all.step, piece));
    }
  }
  return {};
}

Status BetweenNodes::allgather(Speakers& all, std::vector<ByteSpan>& blocks) {
  const std::size_t nodes = all.size();
  GRAPNEL_ASSERT(all.me < nodes && blocks.size() == nodes, "{} blocks of {} nodes; this is {}", blocks.size(), nodes,
                 all.me);
  for (std::size_t distance = 1; distance < nodes; distance *= 2, ++all.step) {
    const std::size_t count = std::min(distance, nodes - distance);
    const Rank to = all.ranks[(all.me + nodes - distance) % nodes];
    const std::size_t theirs = (all.me + distance) % nodes;
    GRAPNEL_TRY(send(all, to, all.step, packed(blocks, all.me, count)));
    Bytes came(packed_bytes(blocks, theirs, count));
    GRAPNEL_TRY(receive(all, all.ranks[theirs], all.step, came));
    unpack(came, blocks, theirs, count);
  }
  return {};
}

// Binomial: speaker v (counted from the root) gathers what v + 1 … v + 2^k − 1 bring, until its lowest bit; then it
// sends that to v less that bit.
Status BetweenNodes::gather_to(Speakers& all, std::vector<ByteSpan>& blocks, std::size_t root) {
  const std::size_t nodes = all.size();
  const std::size_t v = (all.me + nodes - root) % nodes;
  const std::uint32_t step = all.step++;
  for (std::size_t bit = 1; bit < nodes; bit *= 2) {
    if ((v & bit) != 0) {
      return send(all, all.ranks[(all.me + nodes - bit) % nodes], step,
                  packed(blocks, all.me, std::min(bit, nodes - v)));
    }
    if (v + bit >= nodes) continue;
    const std::size_t theirs = (all.me + bit) % nodes, count = std::min(bit, nodes - v - bit);
    Bytes came(packed_bytes(blocks, theirs, count));
    GRAPNEL_TRY(receive(all, all.ranks[theirs], step, came));
    unpack(came, blocks, theirs, count);
  }
  return {};
}

Status BetweenNodes::join(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                          std::optional<std::size_t> receiver) {
  const std::size_t most = std::max<std::size_t>(1, kMostAtOnce / all.size() / reduction.element_bytes);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t turn = std::min(most, count - at);
    std::byte* const part = data + at * reduction.element_bytes;
    const bool little = turn * reduction.element_bytes * all.size() <= gather_bytes_ || turn < all.size();
    GRAPNEL_TRY(little ? join_gathered(all, reduction, part, turn, receiver)
                       : join_in_parts(all, reduction, part, turn, receiver));
  }
  return {};
}

Status BetweenNodes::join_gathered(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                                   std::optional<std::size_t> receiver) {
  const std::size_t bytes = count * reduction.element_bytes;
  Bytes memory(bytes * all.size());
  std::vector<ByteSpan> blocks;
  for (std::size_t i = 0; i < all.size(); ++i) blocks.push_back(ByteSpan(memory).subspan(i * bytes, bytes));
  std::memcpy(blocks[all.me].data(), data, bytes);
  GRAPNEL_TRY(receiver ? gather_to(all, blocks, *receiver) : allgather(all, blocks));
  if (receiver.value_or(all.me) != all.me) return {};
  std::memcpy(data, blocks[0].data(), bytes);
  for (std::size_t i = 1; i < all.size(); ++i) reduction.join(data, blocks[i].data(), count);
  return {};
}

Status BetweenNodes::join_in_parts(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                                   std::optional<std::size_t> receiver) {
  const std::size_t nodes = all.size(), bytes = reduction.element_bytes;
  std::vector<ByteSpan> parts;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t begin = run_begin(count, nodes, i), end = run_begin(count, nodes, i + 1);
    parts.emplace_back(data + begin * bytes, (end - begin) * bytes);
  }
  const ByteSpan mine = parts[all.me];
  const std::uint32_t step = all.step++;
  for (std::size_t distance = 1; distance < nodes; ++distance) {
    const std::size_t to = (all.me + distance) % nodes;
    GRAPNEL_TRY(send(all, all.ranks[to], step, parts[to]));
  }
  // In the order of nodes; those that have come before are kept by the letters.
  Bytes joined(mine.size()), theirs(mine.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    if (node != all.me) GRAPNEL_TRY(receive(all, all.ranks[node], step, theirs));
    const ByteView next = node == all.me ? ByteView(mine) : ByteView(theirs);
    if (node == 0) {
      std::copy(next.begin(), next.end(), joined.begin());
    } else {
      reduction.join(joined.data(), next.data(), mine.size() / bytes);
    }
  }
  std::copy(joined.begin(), joined.end(), mine.begin());
  return receiver ? gather_to(all, parts, *receiver) : allgather(all, parts);
}

}  // namespace grapnel::collective
