// SPDX-License-Identifier: Apache-2.0
#include "collective/between_nodes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "collective/runs.hpp"

namespace grapnel::collective {
namespace {

/// A broadcast's piece: while a node passes one on, the next one comes.
constexpr std::size_t kPieceBytes = 64 * base::kKiB;

/// The memory of the blocks of `count` nodes from `first` on, around the group.
std::vector<ByteSpan> around(const std::vector<ByteSpan>& blocks, std::size_t first, std::size_t count) {
  std::vector<ByteSpan> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const ByteSpan block = blocks[(first + i) % blocks.size()];
    if (!runs.empty() && runs.back().data() + runs.back().size() == block.data()) {
      runs.back() = {runs.back().data(), runs.back().size() + block.size()};
    } else {
      runs.push_back(block);
    }
  }
  return runs;
}

/// Copies `from` to where the message's bytes from `at` on lie.
void copy_to_runs(std::span<const ByteSpan> runs, std::size_t at, ByteView from) {
  for (const ByteSpan run : runs) {
    if (from.empty()) return;
    const std::size_t skip = std::min(at, run.size()), bytes = std::min(run.size() - skip, from.size());
    std::copy_n(from.begin(), bytes, run.begin() + static_cast<std::ptrdiff_t>(skip));
    from = from.subspan(bytes);
    at -= skip;
  }
}

std::size_t length_of(std::span<const ByteSpan> runs) {
  std::size_t bytes = 0;
  for (const ByteSpan run : runs) bytes += run.size();
  return bytes;
}

}  // namespace

// ---- one message ----

std::size_t BetweenNodes::Message::bytes() const { return length_of(runs); }

Status BetweenNodes::send(const Speakers& all, Rank to, std::uint32_t step, std::span<const ByteView> runs) {
  base::Encoder letter;
  letter.put(all.call);
  for (const ByteView run : runs) letter.put_bytes(run);
  return letters_.send(to, {all.group, all.sequence | kCollectiveSequences, step}, letter.view());
}

Status BetweenNodes::receive(const Speakers& all, Rank from, std::uint32_t step, std::span<const ByteSpan> runs) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto letter,
                           letters_.receive(from, {all.group, all.sequence | kCollectiveSequences, step}));
  base::Decoder in(letter);
  auto theirs = in.get<Call>();
  const bool announces = theirs && std::exchange(theirs->announces, std::uint16_t{0}) == 1;
  if (!theirs || *theirs != all.call) abort_of_calls(launch_, all.call, from, theirs);
  const std::size_t wanted = length_of(runs);
  const std::size_t sent = announces ? in.get<std::uint64_t>().value_or(0) : in.rest().size();
  if (announces || sent != wanted) abort_of_lengths(launch_, all.call, from, sent, launch_.rank(), wanted);
  copy_to_runs(runs, 0, in.rest());
  return {};
}

Status BetweenNodes::exchange(const Speakers& all, std::uint32_t step, const Message* out, const Message* in) {
  std::vector<LongOutgoing> long_out;
  std::vector<LongIncoming> long_in;
  if (out != nullptr) {
    std::vector<ByteView> content(out->runs.begin(), out->runs.end());
    if (long_data_.is_long(out->bytes())) {
      long_out.push_back({.to = out->other, .step = step, .content = std::move(content)});
    } else {
      GRAPNEL_TRY(send(all, out->other, step, content));
    }
  }
  const bool waits_for_letters = in != nullptr && !long_data_.is_long(in->bytes());
  if (in != nullptr && !waits_for_letters) {
    long_in.push_back({.from = in->other, .step = step, .bytes = in->bytes(), .take = [in](auto at, ByteSpan piece) {
                         copy_to_runs(in->runs, at, piece);
                       }});
  }
  if (!long_out.empty() || !long_in.empty()) GRAPNEL_TRY(long_data_.exchange(all, long_out, long_in));
  return waits_for_letters ? receive(all, in->other, step, in->runs) : Status();
}

// ---- the calls ----

// Speaker v (counted from the root) has the piece from v less its highest bit, and sends it to v + 2^k for larger k.
Status BetweenNodes::broadcast(Speakers& all, ByteSpan data, std::size_t root) {
  const std::size_t nodes = all.size();
  GRAPNEL_ASSERT(all.me < nodes && root < nodes, "node {} of {}; the root is {}", all.me, nodes, root);
  if (long_data_.is_long(data.size())) return broadcast_long(all, data, root);
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

// The same tree. A node sends each piece on when it has come.
Status BetweenNodes::broadcast_long(Speakers& all, ByteSpan data, std::size_t root) {
  const std::size_t nodes = all.size(), v = (all.me + nodes - root) % nodes;
  const auto rank_at = [&](std::size_t relative) { return all.ranks[(relative + root) % nodes]; };
  const std::uint32_t step = all.step++;
  std::vector<LongIncoming> in;
  std::vector<LongOutgoing> out;
  if (v > 0) {
    in.push_back({.from = rank_at(v - std::bit_floor(v)),
                  .step = step,
                  .bytes = data.size(),
                  .take = [data](std::size_t at, ByteView piece) {
                    std::copy(piece.begin(), piece.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
                  }});
  }
  for (std::size_t bit = std::bit_ceil(nodes); bit > std::bit_floor(v); bit /= 2) {
    if (v + bit >= nodes) continue;
    out.push_back({.to = rank_at(v + bit), .step = step, .content = {data}});
    if (v > 0) out.back().available = &in.front().taken;
  }
  return long_data_.exchange(all, out, in);
}

Status BetweenNodes::allgather(Speakers& all, std::vector<ByteSpan>& blocks) {
  const std::size_t nodes = all.size();
  GRAPNEL_ASSERT(all.me < nodes && blocks.size() == nodes, "{} blocks of {} nodes; this is {}", blocks.size(), nodes,
                 all.me);
  for (std::size_t distance = 1; distance < nodes; distance *= 2, ++all.step) {
    const std::size_t count = std::min(distance, nodes - distance);
    const std::size_t theirs = (all.me + distance) % nodes;
    const Message out{all.ranks[(all.me + nodes - distance) % nodes], around(blocks, all.me, count)};
    const Message in{all.ranks[theirs], around(blocks, theirs, count)};
    GRAPNEL_TRY(exchange(all, all.step, &out, &in));
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
      const Message out{all.ranks[(all.me + nodes - bit) % nodes], around(blocks, all.me, std::min(bit, nodes - v))};
      return exchange(all, step, &out, nullptr);
    }
    if (v + bit >= nodes) continue;
    const std::size_t theirs = (all.me + bit) % nodes;
    const Message in{all.ranks[theirs], around(blocks, theirs, std::min(bit, nodes - v - bit))};
    GRAPNEL_TRY(exchange(all, step, nullptr, &in));
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
  GRAPNEL_TRY(join_my_part(all, reduction, parts));
  return receiver ? gather_to(all, parts, *receiver) : allgather(all, parts);
}

// Each node sends the others their parts, and joins what they have for its own.
Status BetweenNodes::join_my_part(Speakers& all, const Reduction& reduction, const std::vector<ByteSpan>& parts) {
  const std::size_t nodes = all.size();
  const std::uint32_t step = all.step++;
  std::vector<LongOutgoing> out;
  for (std::size_t distance = 1; distance < nodes; ++distance) {
    const std::size_t to = (all.me + distance) % nodes;
    if (!long_data_.is_long(parts[to].size())) {
      GRAPNEL_TRY(send(all, all.ranks[to], step, parts[to]));
    } else {
      out.push_back({.to = all.ranks[to], .step = step, .content = {parts[to]}});
    }
  }
  ByteView came;
  std::vector<LongIncoming> in;
  const ByteSpan mine = parts[all.me];
  for (std::size_t node = 0; node < nodes && long_data_.is_long(mine.size()); ++node) {
    if (node == all.me) continue;
    in.push_back({.from = all.ranks[node],
                  .step = step,
                  .bytes = mine.size(),
                  .whole = true,
                  .take = [&came](std::size_t, ByteView piece) { came = piece; }});
  }
  GRAPNEL_TRY(long_data_.open(all, out, in));
  for (LongOutgoing& one : out) GRAPNEL_TRY(long_data_.carry(all, {&one, 1}, {}));
  if (!in.empty()) {
    return join_in_order(all, reduction, mine, [&](std::size_t node) -> Result<ByteView> {
      GRAPNEL_TRY(long_data_.carry(all, {}, {&in[node < all.me ? node : node - 1], 1}));
      return came;
    });
  }
  Bytes theirs(mine.size());
  return join_in_order(all, reduction, mine, [&](std::size_t node) -> Result<ByteView> {
    GRAPNEL_TRY(receive(all, all.ranks[node], step, theirs));
    return ByteView(theirs);
  });
}

// In the order of nodes; what came before is kept by the letters, or lies in its room.
template <typename PartOf>
Status BetweenNodes::join_in_order(const Speakers& all, const Reduction& reduction, ByteSpan mine, PartOf part_of) {
  Bytes joined(mine.size());
  for (std::size_t node = 0; node < all.size(); ++node) {
    ByteView next = mine;
    if (node != all.me) {
      GRAPNEL_ASSIGN_OR_RETURN(next, part_of(node));
    }
    if (node == 0) {
      std::copy(next.begin(), next.end(), joined.begin());
    } else {
      reduction.join(joined.data(), next.data(), mine.size() / reduction.element_bytes);
    }
  }
  std::copy(joined.begin(), joined.end(), mine.begin());
  return {};
}

Status BetweenNodes::alltoall(const Speakers& all, std::span<const Rank> members, std::size_t me,
                              std::span<const ByteView> out, std::span<const ByteSpan> in) {
  const std::size_t size = members.size();
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t next = (me + distance) % size;
    if (!long_data_.is_long(out[next].size())) GRAPNEL_TRY(send(all, members[next], 0, out[next]));
  }
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t next = (me + distance) % size, last = (me + size - distance) % size;
    std::vector<LongOutgoing> long_out;
    std::vector<LongIncoming> long_in;
    if (long_data_.is_long(out[next].size())) long_out.push_back({.to = members[next], .content = {out[next]}});
    if (long_data_.is_long(in[last].size())) {
      long_in.push_back(
          {.from = members[last], .bytes = in[last].size(), .take = [to = in[last]](std::size_t at, ByteView piece) {
             std::copy(piece.begin(), piece.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
           }});
    }
    GRAPNEL_TRY(long_data_.exchange(all, long_out, long_in));
  }
  for (std::size_t distance = 1; distance < size; ++distance) {
    const std::size_t last = (me + size - distance) % size;
    if (!long_data_.is_long(in[last].size())) GRAPNEL_TRY(receive(all, members[last], 0, in[last]));
  }
  return {};
}

}  // namespace grapnel::collective
