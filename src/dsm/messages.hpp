// The messages of the shared heap: from a rank to another node's server. Their numbers are given out when the service
// is opened (core/service.hpp), in this order.
//
//   fetch     asked of the page's home     FetchBody                → the pages, in that order; or nothing: the home
//                                                                     of one of them has moved
//   diffs     sent to the page's home      DiffsBody; records       → an acknowledgement, where asked for
//   notices   asked of a node              NoticesBody              → NoticesReply, runs of pages
//   homes     asked of the directory       HomesBody                → HomesReply
//   memory    asked of node 0              MemoryBody               → the first page, or less than 0
//   records   asked of a writer (lrc)      RecordsBody              → RecordsReply, records of pages
//   keep      sent to the keeper (lrc)      runs of pages            → an acknowledgement
//   whole     asked of the keeper (lrc)    WholeBody                → WholeReply, its `got`, the page
//   condition asked of the node that keeps it  ConditionBody        → ConditionReply, ranks
//   wake      sent to a waiting rank's node    WakeBody
//   place     sent to the directory        PlaceBody                → how many pages have another home, and the first
//
// An era is the time between two barriers of the heap, by their number; homes move at its begin (moves.cpp). A request
// of a newer era than the server's node, which is behind the same barrier, is retried where it may be about a move.
//
//   record := DiffHeader diff, of lrc RecordHeader diff             diff.hpp
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "grapnel/types.hpp"
#include "os/page_trap.hpp"
#include "progress/message.hpp"

namespace grapnel::dsm {

enum class Call : std::uint16_t { fetch, diffs, notices, homes, memory, records, keep, whole, condition, wake, place };
inline constexpr std::uint16_t kCalls = 11;

constexpr progress::HandlerId handler_of(progress::HandlerId first, Call call) {
  return static_cast<progress::HandlerId>(first + static_cast<std::uint16_t>(call));
}

inline constexpr std::size_t kMostFetched = 16;

struct FetchBody {
  std::uint32_t era = 0;
  std::uint32_t moved = 0;  ///< 1: asked by the new home, of the old one, when the era begins
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMostFetched> pages{};
};

struct DiffsBody {
  std::uint32_t era = 0;
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
/// A payload of runs.
inline Bytes encode_runs(std::span<const os::Pages> runs) {
  Bytes bytes(runs.size() * sizeof(PageRun));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PageRun run{static_cast<std::uint32_t>(runs[i].first), static_cast<std::uint32_t>(runs[i].count)};
    std::memcpy(bytes.data() + i * sizeof run, &run, sizeof run);
  }
  return bytes;
}
inline constexpr std::size_t kMostRunsPerMessage = 4096;

/// Where the page has no home yet, it becomes the asker's. No page beside it does: the next one may be another node's
/// to write. The directory answers for the kHomesPerReply pages around, a block of that length.
inline constexpr std::size_t kHomesPerReply = 64;
struct HomesBody {
  std::uint32_t page = 0, era = 0;
};
struct HomesReply {
  std::uint32_t era = 0;                             ///< of what follows
  std::array<std::uint8_t, kHomesPerReply> homes{};  ///< 1 + the node; 0: none yet
};

/// Names the home of pages before their first touch.
struct PlaceBody {
  std::uint32_t page = 0, count = 0;
  std::uint32_t node = 0;
};

/// What is wanted of the heap's table of blocks: a block, one that small blocks are cut from, or to give one back.
enum class MemoryWish : std::uint64_t { block, chunk, free };
struct MemoryBody {
  MemoryWish wish{};
  std::uint64_t pages = 0;  ///< of what is wanted
  std::uint64_t page = 0;   ///< the first one of what is given back
};

/// A node's record of what it wrote to a page (records.hpp): of its intervals first … last; `time` orders the page's.
struct RecordHeader {
  std::uint32_t page = 0, bytes = 0;
  std::uint64_t first = 0, last = 0, time = 0;
};
/// The records of the page's intervals after `since`, as far as they begin by `until`.
struct RecordsWish {
  std::uint64_t page = 0, since = 0, until = 0;
};
struct RecordsBody {
  std::uint64_t count = 0;
  std::array<RecordsWish, kMostFetched> wishes{};
};
/// The first `answered` wishes are answered, those in `dropped` (bits) with nothing: the records are gone, and the
/// keeper has the page. Of the next one the records up to `until` are left.
struct RecordsReply {
  std::uint64_t answered = 0, dropped = 0, until = 0;
};
/// Of records in one message.
inline constexpr std::size_t kMostRecordsBytes = 64 * 1024;

/// With lrc: the node that has a page whole when records of it are dropped.
constexpr std::size_t keeper_of(std::size_t page, std::size_t nodes) { return page / kMostFetched % nodes; }

struct WholeBody {
  std::uint64_t page = 0;
};
struct WholeReply {
  std::uint64_t time = 0;  ///< of the newest record in it
};

/// What is wanted of a condition's queue: to enter it, or to take out the first rank, or all of them.
enum class ConditionWish : std::uint32_t { enter, take_first, take_all };
struct ConditionBody {
  ConditionWish wish{};
  std::uint32_t condition = 0, lock = 0;
};
/// Behind it the ranks that were taken out, in the order in which they entered: 32 bits each.
struct ConditionReply {
  std::uint32_t other_lock = 0;  ///< 1 + the lock with which ranks wait, where it is another one: nothing was done
};
struct WakeBody {
  std::uint32_t rank = 0, condition = 0;
};

}  // namespace grapnel::dsm
