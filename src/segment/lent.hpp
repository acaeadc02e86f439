// Lent memory: ranges of a rank's own memory that lie in no segment, and that other ranks of the job may reach.
//
// The owner keeps a list of its ranges, sorted, in segment memory of its own, where every rank of the node and its
// server read it. No other process maps the memory itself: it is reached by the kernel's process copies
// (os/process_copy.hpp), in which the owner takes no part.
//
//   head of a rank, in node memory    version │ 2 × (list's address, ranges in it) │ its process
//   version v                         list v mod 2 is valid
//
// The owner writes the list that is not valid and then raises the version. A reader looks up in the valid list and
// reads the version again; where it has changed, the reader repeats the lookup. So no reader waits for a stopped owner.
//
// Invariants:
//  1. A list holds the union of what its owner has lent: sorted, disjoint, none of them empty.
//  2. A range that is lent twice stays until it was taken back twice.
//  3. A reader that finds the version unchanged has read one list, whole.
//
// Threads: lookups and copies: any; `lend` and `take_back`: one of the owner's at a time, and none that allocates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "os/process_copy.hpp"
#include "segment/segment.hpp"

namespace grapnel::segment {

class Lent {
 public:
  static std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node);

  /// Collective in the order of carving. Lets the node's other ranks copy from and to this one, and tries a copy with
  /// each of them that has started already, and with itself: so every pair is tried once.
  Lent(launch::Launch& launch, os::Host& host, SegmentTable& segments);
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  /// From now on other ranks reach [begin, begin+bytes) of this one. May overlap what is lent already; 0 bytes are not
  /// lent. Errors: invalid_argument (the range wraps around), no_memory (for the list). Cost: a list's copy.
  Status lend(const void* begin, std::size_t bytes);
  /// Undoes one `lend` of the same range, after all accesses to it are complete; later ones are refused. Errors:
  /// invalid_argument (not lent).
  Status take_back(const void* begin, std::size_t bytes);

  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool holds(std::uintptr_t address, std::size_t bytes) const {
      return begin <= address && address < end && bytes <= end - address;
    }
  };
  /// The range of a rank of this node that holds the address; an empty one where none does.
  Range find(Rank owner, std::uintptr_t address) const;

  /// Copies to and from memory of a rank of this node, also the caller's own, after `find`. Errors: refused (there is
  /// no memory; no right), peer_dead.
  Status write(Rank owner, std::span<const os::CopyRun> runs) const;
  Status read(Rank owner, std::span<const os::CopyRun> runs) const;

  /// Why process copies do not work among this node's ranks; 0: they do. Nothing until all have tried: `tried` then is
  /// `ranks`. The same in all ranks of the node.
  std::optional<std::uint32_t> obstacle() const;
  os::Word& tried() { return node_.tried; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(heads_.size()); }
  /// An obstacle in words, with a remedy.
  static Status explain(NodeId node, std::uint32_t obstacle);

 private:
  struct List {
    std::atomic<std::uint64_t> address, count;
  };
  struct alignas(64) Head {
    std::atomic<std::uint64_t> version;
    std::array<List, 2> lists;
    std::atomic<std::int64_t> pid;
    std::atomic<std::uint64_t> pid_namespace;
    std::atomic<std::uint64_t> probe;  ///< address of a word for each rank of the node, in this one's own memory
    os::Word has_started;
  };
  struct alignas(64) Node {
    os::Word tried;     ///< ranks that have tried
    os::Word obstacle;  ///< the first that one of them met; 0: none
  };
  /// In a list. A reader may use one only after it found the version unchanged.
  struct Entry {
    std::atomic<std::uint64_t> begin, end;
  };

  const Head* head_of(Rank owner) const;
  os::ProcessName process_of(const Head& head) const;
  void try_neighbours();
  /// 0 where it worked.
  std::uint32_t try_copies(const Head& neighbour);
  static const Entry* last_not_behind(const Entry* entries, std::uint64_t count, std::uintptr_t address);
  void publish();
  Status grow();

  launch::Launch& launch_;
  os::Host& host_;
  SegmentTable& segments_;
  const std::vector<std::size_t> place_;  ///< by rank: its place among its node's
  const std::size_t my_place_;
  Node& node_;
  std::span<Head> heads_;              ///< by place
  std::vector<std::uint64_t> probes_;  ///< by place of the rank that tries, which writes it
  // The owner's.
  const launch::Group alone_;
  std::map<std::pair<std::uintptr_t, std::uintptr_t>, std::size_t> lent_;  ///< begin and end: how often
  std::vector<Range> united_;                                              ///< what the list shows
  Entry* memory_ = nullptr;  ///< two lists of `capacity_`; older and shorter ones stay: a reader may be in one
  std::size_t capacity_ = 0;
};

}  // namespace grapnel::segment
