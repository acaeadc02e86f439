// The messages of the shared heap: from a rank to another node's server. Their numbers are given out when the service
// is opened (core/service.hpp), in this order.
//
//   fetch     asked of the page's home     FetchBody                → the pages, in that order
//   diffs     sent to the page's home      records                  → an acknowledgement, where asked for
//   notices   asked of a node              NoticesBody              → NoticesReply, runs of pages
//   homes     asked of the directory       HomesBody                → HomesReply
//   memory    asked of node 0              MemoryBody               → the first page, or less than 0
//
//   record := DiffHeader diff              diff.hpp
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "grapnel/types.hpp"
#include "progress/message.hpp"

namespace grapnel::dsm {

enum class Call : std::uint16_t { fetch, diffs, notices, homes, memory };
inline constexpr std::uint16_t kCalls = 5;

constexpr progress::HandlerId handler_of(progress::HandlerId first, Call call) {
  return static_cast<progress::HandlerId>(first + static_cast<std::uint16_t>(call));
}

inline constexpr std::size_t kMostFetched = 16;

struct FetchBody {
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMostFetched> pages{};
};

struct DiffHeader {
  std::uint32_t page = 0, bytes = 0;
};
/// Of diffs in one message.
inline constexpr std::size_t kMostDiffsBytes = 64 * 1024;

struct NoticesBody {
  std::uint64_t since = 0;
  std::uint64_t from_page = 0;
};
struct NoticesReply {
  std::uint64_t latest = 0, next_page = 0;
};
struct PageRun {
  std::uint32_t first = 0, count = 0;
};
inline constexpr std::size_t kMostRunsTold = 4096;

/// Where the page has no home yet, it becomes the asker's. No page beside it does: the next one may be another node's
/// to write. The directory answers for the kHomesTold pages around, a block of that length.
inline constexpr std::size_t kHomesTold = 16;
struct HomesBody {
  std::uint64_t page = 0;
};
struct HomesReply {
  std::array<std::uint32_t, kHomesTold> homes{};  ///< 1 + the node; 0: none yet
};

/// What is wanted of the heap's table of blocks: a block, one that small blocks are cut from, or to give one back.
enum class MemoryWish : std::uint64_t { block, chunk, free };
struct MemoryBody {
  MemoryWish wish{};
  std::uint64_t pages = 0;  ///< of what is wanted
  std::uint64_t page = 0;   ///< the first one of what is given back
};

}  // namespace grapnel::dsm
