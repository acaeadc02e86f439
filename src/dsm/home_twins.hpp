// Twins of home pages, which exist for the report alone: by them a node knows which words its own ranks wrote.
//
//   the server    copies the page into its twin before it serves it the first time; what ranks wrote until then was
//                 shared with no other node. It applies diffs of other nodes to page and twin
//   a release     compares the two: what differs was written by ranks of this node
//
// `busy` of the page is held over each of these, for memory work only: the server never waits for it, but
// retries the request.
//
// Threads: `try_begin` and `try_apply` the server's; `take_changes` any of a rank.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsm/heap_memory.hpp"
#include "dsm/page_uses.hpp"

namespace grapnel::dsm {

class HomeTwins {
 public:
  HomeTwins(const HeapMemory& memory, os::Host& host) : memory_(memory), host_(host) {}

  /// The server's, before it marks the page as served. False: a rank is at it. Errors: no_memory.
  Result<bool> try_begin(std::size_t page);
  /// The server's, in place of `apply_diff`; the page's memory is taken. False: a rank is at it. Errors: no_memory.
  Result<bool> try_apply(std::size_t page, ByteView diff);
  /// A rank's: the words that ranks of this node wrote since the last call. Errors: no_memory, peer_dead.
  Result<WordSet> take_changes(std::size_t page, progress::Waiting& waiting);

 private:
  HeapMemory memory_;
  os::Host& host_;
};

}  // namespace grapnel::dsm
