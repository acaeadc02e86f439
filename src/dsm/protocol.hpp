// What the coherence protocols of the shared heap do each in its own way: where the content of a page comes from, and
// what a release does so that others find it. Faults, traps, intervals and notices are the engine's (heap.hpp).
//
//   hlrc.hpp   each page has a home: releases send it their diffs, misses fetch the page from it
//   lrc.hpp    none has: releases send nothing, misses ask all writers for records of what they wrote
//
// Threads: `make_valid` and `is_publishing` any; the rest as in heap.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsm/heap.hpp"

namespace grapnel::dsm {

class Protocol {
 public:
  Protocol() = default;
  virtual ~Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  /// This node has no valid copy of the page: one step towards one. The caller looks again. Errors: no_memory,
  /// peer_dead.
  virtual Status make_valid(std::size_t page) = 0;

  /// In a release, before an interval names them: what was written to cached pages (ascending) is where a node that
  /// learns of the interval will ask for it. Pages in `taken` stay so until the interval is there. Errors: peer_dead.
  virtual Status publish(const std::vector<std::size_t>& pages, Heap::Taken& taken) = 0;

  /// Whether another rank of the node may be publishing the page. Then what this rank wrote to it may equal the twin
  /// and not yet be where others ask for it.
  virtual bool is_publishing(std::size_t page) const = 0;

  /// Whether a page equals its twin where nothing was written to it since this node's last release of it.
  virtual bool twin_is_of_last_release() const = 0;

  /// Under the node's mutex, before it can be known elsewhere: a new interval of this node names these pages. Errors:
  /// peer_dead.
  virtual Status name(const std::vector<std::size_t>& pages, std::uint64_t interval) = 0;
  /// Under the node's mutex: an interval of another node names the page. Answers whether a copy here lacks what it is
  /// about. Errors: no_memory, peer_dead.
  virtual Result<bool> take_notice(std::size_t page, std::size_t node, std::uint64_t interval) = 0;
  /// Whether an acquire may apply more than the releaser knew.
  virtual bool takes_more_than_told() const = 0;

  /// Whether this node requests a `clean_up` of all ranks in the next barrier.
  virtual bool wants_cleaning() const { return false; }
  /// In a barrier, in all ranks, behind the node's step. Errors: no_memory, peer_dead.
  virtual Status clean_up() { return {}; }
};

}  // namespace grapnel::dsm
