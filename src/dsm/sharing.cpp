// SPDX-License-Identifier: Apache-2.0
#include "dsm/sharing.hpp"

#include <algorithm>
#include <utility>

#include "base/codec.hpp"

namespace grapnel::dsm {
namespace {

struct Header {
  std::uint64_t eras = 0, shift = 0, lost = 0, uses = 0, blocks = 0, lost_blocks = 0;
};

std::string text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<NamedBlock> decode_block(base::Decoder& in, std::size_t heap_bytes) {
  NamedBlock block;
  const auto offset = in.get<std::uint64_t>(), bytes = in.get<std::uint64_t>();
  const auto name = in.get_string(), place = in.get_string();
  if (!offset || !bytes || !name || !place) return std::nullopt;
  if (*offset >= heap_bytes || *bytes > heap_bytes - *offset) return std::nullopt;
  return NamedBlock{*offset, *bytes, text_of(*name), text_of(*place)};
}

}  // namespace

Bytes encode(const RankSharing& mine) {
  base::Encoder out;
  const auto& [noted, homes, blocks, lost_blocks] = mine;
  out.put(Header{noted.eras, noted.shift, noted.lost, noted.uses.size(), blocks.size(), lost_blocks});
  for (std::size_t i = 0; i < noted.uses.size(); ++i) out.put(noted.uses[i]).put(homes[i]);
  for (const NamedBlock& block : blocks) {
    out.put(block.offset).put(block.bytes);
    out.put_string(std::as_bytes(std::span(block.name))).put_string(std::as_bytes(std::span(block.place)));
  }
  return out.take();
}

std::optional<RankSharing> decode_sharing(ByteView in, std::size_t pages, std::size_t nodes) {
  base::Decoder decoder(in);
  const auto header = decoder.get<Header>();
  if (!header || header->shift >= 32 || header->eras > UINT32_MAX) return std::nullopt;
  RankSharing one;
  one.noted.eras = static_cast<std::uint32_t>(header->eras);
  one.noted.shift = static_cast<std::uint32_t>(header->shift);
  one.noted.lost = header->lost;
  one.lost_blocks = header->lost_blocks;
  for (std::uint64_t i = 0; i < header->uses; ++i) {
    const auto use = decoder.get<PageUse>();
    const auto home = decoder.get<std::uint32_t>();
    if (!use || !home || use->page >= pages || *home > nodes) return std::nullopt;
    one.noted.uses.push_back(*use);
    one.homes.push_back(*home);
  }
  for (std::uint64_t i = 0; i < header->blocks; ++i) {
    auto block = decode_block(decoder, pages * os::kPageBytes);
    if (!block) return std::nullopt;
    one.blocks.push_back(*std::move(block));
  }
  return one;
}

NodeUse& NodeUse::operator+=(const NodeUse& other) {
  fetches += other.fetches;
  writes += other.writes;
  diffs += other.diffs;
  words |= other.words;
  return *this;
}

std::uint64_t PageSharing::sum_of(std::uint64_t NodeUse::*count) const {
  std::uint64_t sum = 0;
  for (const auto& [slice, nodes] : slices) {
    for (const auto& [node, use] : nodes) sum += use.*count;
  }
  return sum;
}

void Sharing::lengthen_slices(std::uint32_t to) {
  const std::uint32_t by = to - shift;
  shift = to;
  for (auto& [number, page] : pages) {
    const auto before = std::exchange(page.slices, {});
    for (const auto& [slice, by_node] : before) {
      for (const auto& [node, use] : by_node) page.slices[slice >> by][node] += use;
    }
  }
}

void Sharing::add(const RankSharing& one, std::uint32_t node) {
  ++ranks_in;
  eras = std::max(eras, one.noted.eras);
  lost += one.noted.lost;
  lost_blocks += one.lost_blocks;
  if (one.noted.shift > shift) lengthen_slices(one.noted.shift);
  const std::uint32_t by = shift - one.noted.shift;
  for (std::size_t i = 0; i < one.noted.uses.size(); ++i) {
    const PageUse& use = one.noted.uses[i];
    PageSharing& page = pages[use.page];
    if (one.homes[i] != 0) page.home = one.homes[i] - 1;
    page.slices[use.slice >> by][node] += {use.fetches, use.writes, use.diffs, use.words};
  }
  blocks.insert(blocks.end(), one.blocks.begin(), one.blocks.end());
  std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
}

std::vector<std::size_t> Sharing::blocks_in(std::uint32_t page) const {
  const std::uint64_t begin = std::uint64_t{page} * os::kPageBytes, end = begin + os::kPageBytes;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < blocks.size() && blocks[i].offset < end; ++i) {
    if (blocks[i].offset + blocks[i].bytes > begin) found.push_back(i);
  }
  return found;
}

}  // namespace grapnel::dsm
