// What a node knows of a page, in memory of the node: one PageWords each, zero at first.
//
//   home                 the node that keeps the page; 0: no rank of this node has asked yet
//   wanted, have         of a page at home elsewhere: the notices applied so far; and 1 + `wanted` as it was when the
//                        last fetch was sent (0: there is no copy, the page is absent). Valid: have = wanted + 1
//   served, named        of a page at home here: the node's count of serves when the page was last asked for (0:
//                        never), and when an interval of this node last named it. Tracked: served > named
//   last                 the last interval of this node that names the page
//   writers              of a page at home here: which nodes wrote it lately (writers.hpp)
//   busy                 a rank of the node fetches or flushes it
//
// With lrc no page has a home, and `served` and `named` are not used; records.hpp has what it needs beside.
//
// Threads: any, of any rank of the node, and the node's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "dsm/page_lock.hpp"
#include "grapnel/types.hpp"

namespace grapnel::dsm {

struct PageWords {
  PageLock busy;
  os::Word home;  ///< 1 + the node
  std::atomic<std::uint64_t> wanted, have, served, named, last, writers;

  bool is_absent() const { return have.load(std::memory_order_acquire) == 0; }
  // acquire: pairs with the fetch's release; the copy's content is seen.
  bool is_valid() const { return have.load(std::memory_order_acquire) == wanted.load(std::memory_order_acquire) + 1; }
  // acquire: pairs with NodeLog::make_interval; where the page is not tracked any more, the node's clock has the
  // interval that named it.
  bool is_tracked() const {
    const std::uint64_t until = named.load(std::memory_order_acquire);
    return served.load(std::memory_order_relaxed) > until;
  }

  bool try_take() { return busy.try_take(); }
  /// Waits until no rank fetches or flushes the page, which is then the caller's. Errors: peer_dead.
  Status take(progress::Waiting& waiting, std::size_t page) { return busy.take(waiting, page); }
  void give_back(os::Host& host) { busy.give_back(host); }
};

}  // namespace grapnel::dsm
