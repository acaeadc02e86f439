// What all ranks did to the pages of the shared heap, by page, slice and node: what the report is made of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsm/page_uses.hpp"
#include "grapnel/types.hpp"

namespace grapnel::dsm {

/// A block of the heap, as the rank that allocated it knows it.
struct NamedBlock {
  std::uint64_t offset = 0, bytes = 0;
  std::string name;   ///< as the program gave it, or empty
  std::string place;  ///< of the call: "sor+0x1f0"
};

/// What one rank contributes.
struct RankSharing {
  PageUses::Noted noted;
  std::vector<std::uint32_t> homes;  ///< of each use's page: 1 + the node, or 0 where this node does not know
  std::vector<NamedBlock> blocks;
  std::uint64_t lost_blocks = 0;
};

Bytes encode(const RankSharing& mine);
/// Nothing where it is no RankSharing of a heap of `pages` pages and a job of `nodes` nodes.
std::optional<RankSharing> decode_sharing(ByteView in, std::size_t pages, std::size_t nodes);

/// What one node did to a page in one slice.
struct NodeUse {
  std::uint64_t fetches = 0, writes = 0, diffs = 0;
  WordSet words;

  NodeUse& operator+=(const NodeUse& other);
};

struct PageSharing {
  std::optional<std::uint32_t> home;                                 ///< node
  std::map<std::uint32_t, std::map<std::uint32_t, NodeUse>> slices;  ///< by slice, then by node

  std::uint64_t fetches() const { return sum_of(&NodeUse::fetches); }
  std::uint64_t diffs() const { return sum_of(&NodeUse::diffs); }

 private:
  std::uint64_t sum_of(std::uint64_t NodeUse::*count) const;
};

struct Sharing {
  std::uintptr_t base = 0;
  std::size_t ranks = 0, nodes = 0;
  std::size_t ranks_in = 0;  ///< whose part is here
  std::uint32_t eras = 0, shift = 0;
  std::uint64_t lost = 0, lost_blocks = 0;
  std::map<std::uint32_t, PageSharing> pages;
  std::vector<NamedBlock> blocks;  ///< by offset

  /// Adds a rank of `node`.
  void add(const RankSharing& one, std::uint32_t node);
  /// Which blocks lie in the page: indices of `blocks`.
  std::vector<std::size_t> blocks_in(std::uint32_t page) const;

 private:
  void lengthen_slices(std::uint32_t shift);
};

}  // namespace grapnel::dsm
