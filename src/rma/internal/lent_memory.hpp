// Accesses to memory that a rank of this node has lent: its owner works in place, the node's other ranks and its server
// by process copies.
//
// The caller has looked the range up (`Lookup`), and holds the stripes of what it updates (`space`).
//
// Threads: any.
// Source: segment/lent.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "grapnel/reduction.hpp"
#include "rma/internal/updating.hpp"
#include "rma/messages.hpp"
#include "rma/parts.hpp"
#include "rma/stripes.hpp"
#include "segment/lent.hpp"
#include "segment/segment.hpp"

namespace grapnel::rma {

class LentMemory {
 public:
  /// `in_place`: the rank whose lent memory is accessed directly; none for the server, which must not fault where a
  /// rank of its process has unmapped what it lent.
  LentMemory(segment::Lent& lent, const segment::SegmentTable& segments, std::optional<Rank> in_place)
      : lent_(lent), segments_(segments), in_place_(in_place) {}

  segment::Lent& list() const { return lent_; }

  /// Whether an owner of this node has lent some bytes; keeps the range that it found for the next ones.
  class Lookup {
   public:
    Lookup(const LentMemory& memory, Rank owner) : memory_(memory), owner_(owner) {}
    bool holds(std::uint64_t address, std::uint64_t bytes) {
      if (found_.holds(address, bytes)) return true;
      found_ = memory_.lent_.find(owner_, address);
      return found_.holds(address, bytes);
    }

   private:
    const LentMemory& memory_;
    const Rank owner_;
    segment::Lent::Range found_;
  };

  /// The space of the stripes at an address. What lies in a segment, too, has the segment's, so that both ways to it
  /// exclude each other.
  std::uint64_t space(Rank owner, const void* address) const {
    return segments_.contains(address, 1) ? Stripes::kInNode : index(owner) + 1;
  }

  /// Parts of a put, of a get. Errors: refused (the memory is gone; some parts may be done), peer_dead.
  Status put(Rank owner, std::span<const Part> parts) const;
  Status get(Rank owner, std::span<const Part> parts) const;

  /// One run of elements, no longer than a stripe or one element, as `update_run`. Errors: as `put`.
  Status update(Rank owner, const Update& update, const Reduction& kernel, std::byte* target, const std::byte* source,
                std::byte* old_elements, std::size_t bytes) const;
  /// As `compare_held`.
  Result<std::uint64_t> compare(Rank owner, std::byte* target, std::size_t bytes, std::uint64_t expected,
                                std::uint64_t desired) const;

 private:
  segment::Lent& lent_;
  const segment::SegmentTable& segments_;
  const std::optional<Rank> in_place_;
};

}  // namespace grapnel::rma
