// Cached pages that this rank writes before most of its releases: the trap does not watch them. Each release compares
// them with their twins instead, a twentieth of a fault and of what protecting costs.
//
//   watched ── written before two releases in a row that named pages ──▶ steady: the next write still faults, no later
//   one does ── unchanged at kMostUnchanged releases in a row ──▶ watched
//
// A page that equals its twin was not written by this rank since, unless another rank of the node flushes it at this
// moment: its home may not have the bytes yet, and this rank must not release before. So it counts as written where its
// `busy` is taken. Where that rank has given `busy` back, its interval names the page, and every grant of this node
// brings that interval along.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/check.hpp"
#include "dsm/diff.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"
#include "dsm/protocol.hpp"

namespace grapnel::dsm {

bool Heap::may_be_written(std::size_t page) const {
  if (differs(memory_.page(page), memory_.twin(page))) return true;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with `flush`, which takes `busy` before
  return protocol_->is_publishing(page) && !planted(Bug::steady_not_asked);
}

void Heap::add_steady(std::vector<std::size_t>& written) {
  for (auto next = steady_.begin(); next != steady_.end();) {
    const auto at = next++;
    auto& [page, unchanged] = *at;
    GRAPNEL_ASSERT(mapped_.has(page), "page {} stays writable and is not mapped", page);
    const bool here = memory_.words(page).home.load(std::memory_order_relaxed) == my_home();
    if (!here && may_be_written(page)) {
      watched_.remove(page);
      unchanged = 0;
      if (!planted(Bug::steady_not_counted)) written.push_back(page);
    } else if (here || ++unchanged == kMostUnchanged) {
      watched_.add(page);
      steady_.erase(at);
    }
  }
}

void Heap::find_steady(const std::vector<std::size_t>& cached) {
  GRAPNEL_ASSERT(std::is_sorted(cached.begin(), cached.end()), "{} cached pages, which do not ascend", cached.size());
  std::vector<std::size_t> twice;
  std::set_intersection(cached.begin(), cached.end(), last_written_.begin(), last_written_.end(),
                        std::back_inserter(twice));
  last_written_ = cached;
  const base::MutexLock lock(mapping_);
  for (const std::size_t page : twice) {
    if (!mapped_.has(page)) continue;
    watched_.remove(page);
    steady_.try_emplace(page);
  }
}

}  // namespace grapnel::dsm
