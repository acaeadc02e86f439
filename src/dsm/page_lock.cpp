// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_lock.hpp"

namespace grapnel::dsm {

// As launch/node_mutex.cpp, with the wait policy: a holder waits for a server.
Status PageLock::take(progress::Waiting& waiting, std::size_t page) {
  if (try_take()) return {};
  bool slept = false;
  return waiting.on_marked_word(
      word,
      [&](std::uint32_t seen) {
        return seen == 0 &&
               word.compare_exchange_strong(seen, slept ? 2 : 1, std::memory_order_acquire, std::memory_order_relaxed);
      },
      [&](std::uint32_t& seen) {
        slept = true;
        if (seen == 2) return true;
        const bool marked = seen == 1 && word.compare_exchange_strong(seen, 2, std::memory_order_relaxed);
        if (marked) seen = 2;
        return marked;
      },
      progress::Waiting::kForever,
      [page] {
        return progress::WaitSubject{progress::WaitKind::page, "access to the shared heap", {page}};
      });
}

}  // namespace grapnel::dsm
