// SPDX-License-Identifier: Apache-2.0
#include "collective/node_part.hpp"

#include <algorithm>
#include <cstring>

#include "collective/runs.hpp"

namespace grapnel::collective {

Status NodePart::reduce(NodeMembership& mine, const Call& call, const Reduction& reduction, const void* source,
                        void* destination, std::size_t count, std::optional<std::uint32_t> receiver) {
  const std::size_t bytes = reduction.element_bytes;
  if (mine.size() == 1) {
    if (destination != source) std::memmove(destination, source, count * bytes);
    if (reduction.prepare != nullptr) reduction.prepare(destination, count);
    return {};
  }
  const std::size_t most = kPostBytes / bytes;
  for (std::size_t at = 0; at < count; at += most) {
    const bool wanted = receiver.value_or(mine.place) == mine.place;
    const Piece piece{reduction, static_cast<const std::byte*>(source) + at * bytes,
                      static_cast<std::byte*>(destination) + (wanted ? at * bytes : 0), std::min(most, count - at),
                      wanted};
    const bool flat = mine.size() == 2 || piece.count * bytes * mine.size() <= flat_bytes_;
    GRAPNEL_TRY(flat ? reduce_flat(mine, call, piece) : reduce_in_parts(mine, call, piece));
  }
  return {};
}

Status NodePart::show_elements(NodeMembership& mine, const Call& call, const Piece& piece) {
  GRAPNEL_TRY(words_.enter(mine, call));
  std::byte* const content = words_.my_content(mine).data();
  std::memcpy(content, piece.source, piece.count * piece.reduction.element_bytes);
  if (piece.reduction.prepare != nullptr) piece.reduction.prepare(content, piece.count);
  words_.arrive(mine);
  return {};
}

void NodePart::join_all(const NodeMembership& mine, const Call& call, std::uint64_t phase, const Piece& piece,
                        std::size_t first, std::size_t count, std::byte* into) {
  const std::size_t bytes = piece.reduction.element_bytes;
  for (std::uint32_t place = 0; place < mine.size(); ++place) {
    const std::byte* const theirs = words_.content_of(mine, place, phase, call) + first * bytes;
    if (place == 0) {
      std::memcpy(into, theirs, count * bytes);
    } else {
      piece.reduction.join(into, theirs, count);
    }
  }
}

Status NodePart::reduce_flat(NodeMembership& mine, const Call& call, const Piece& piece) {
  GRAPNEL_TRY(show_elements(mine, call, piece));
  if (piece.wanted) {
    GRAPNEL_TRY(words_.wait_for_all(mine));
    join_all(mine, call, mine.phase, piece, 0, piece.count, piece.destination);
  }
  words_.leave(mine, mine.phase);
  return {};
}

Status NodePart::reduce_in_parts(NodeMembership& mine, const Call& call, const Piece& piece) {
  GRAPNEL_TRY(show_elements(mine, call, piece));
  GRAPNEL_TRY(words_.wait_for_all(mine));
  const std::uint64_t first_phase = mine.phase;
  GRAPNEL_TRY(words_.enter(mine, call));
  const std::size_t begin = run_begin(piece.count, mine.size(), mine.place);
  const std::size_t end = run_begin(piece.count, mine.size(), mine.place + 1);
  join_all(mine, call, first_phase, piece, begin, end - begin, words_.my_content(mine).data());
  words_.leave(mine, first_phase);
  words_.arrive(mine);
  if (piece.wanted) {
    GRAPNEL_TRY(words_.wait_for_all(mine));
    const std::size_t bytes = piece.reduction.element_bytes;
    for (std::uint32_t place = 0; place < mine.size(); ++place) {
      const std::size_t first = run_begin(piece.count, mine.size(), place);
      const std::size_t count = run_begin(piece.count, mine.size(), place + 1) - first;
      std::memcpy(piece.destination + first * bytes, words_.content_of(mine, place, mine.phase, call), count * bytes);
    }
  }
  words_.leave(mine, mine.phase);
  return {};
}

Status NodePart::broadcast(NodeMembership& mine, const Call& call, ByteSpan data, std::uint32_t from) {
  if (mine.size() == 1) return {};
  for (std::size_t at = 0; at < data.size(); at += kPostBytes) {
    const ByteSpan piece = data.subspan(at, std::min(kPostBytes, data.size() - at));
    GRAPNEL_TRY(words_.enter(mine, call));
    if (mine.place == from) {
      std::memcpy(words_.my_content(mine).data(), piece.data(), piece.size());
      words_.show(mine);
      words_.arrive(mine);
    } else {
      words_.arrive(mine);
      GRAPNEL_TRY(words_.wait_for_shown(mine));
      std::memcpy(piece.data(), words_.content_of(mine, from, mine.phase, call), piece.size());
    }
    words_.leave(mine, mine.phase);
  }
  return {};
}

Status NodePart::gather(NodeMembership& mine, const Call& call, const void* source, std::size_t bytes,
                        std::span<std::byte* const> destinations, std::optional<std::uint32_t> receiver) {
  const auto* const from = static_cast<const std::byte*>(source);
  if (mine.size() == 1) {
    if (destinations.front() != from) std::memmove(destinations.front(), from, bytes);
    return {};
  }
  for (std::size_t at = 0; at < bytes; at += kPostBytes) {
    const std::size_t piece = std::min(kPostBytes, bytes - at);
    GRAPNEL_TRY(words_.enter(mine, call));
    std::memcpy(words_.my_content(mine).data(), from + at, piece);
    words_.arrive(mine);
    if (receiver.value_or(mine.place) == mine.place) {
      GRAPNEL_TRY(words_.wait_for_all(mine));
      for (std::uint32_t place = 0; place < mine.size(); ++place) {
        std::memcpy(destinations[place] + at, words_.content_of(mine, place, mine.phase, call), piece);
      }
    }
    words_.leave(mine, mine.phase);
  }
  return {};
}

}  // namespace grapnel::collective
