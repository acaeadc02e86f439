// A barrier's moves of homes, in the node's step: all ranks of the job have released, and no rank of the node writes to
// the heap until the step is over. docs/dsm.md, "Moves", has the argument.
//
//   new home     where its copy is not valid, fetches the page from the old home; marks it as served, since any node
//                may have a copy; only then it is the home
//   old home     the page becomes absent; each of its ranks unmaps it before it leaves the barrier. Its memory keeps
//                the content until a rank fetches the page again, which the new home's step must have ended for
//   all nodes    the home's number changes, and the directory's entry
// SPDX-License-Identifier: Apache-2.0
#include "dsm/moves.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"
#include "dsm/taken.hpp"

namespace grapnel::dsm {

bool Writers::add(std::uint32_t era_of_write, std::size_t node) {
  GRAPNEL_ASSERT(node + 1 < kSeveral, "node {} has no name among writers", node);
  const auto name = static_cast<std::uint8_t>(node + 1);
  if (newest != kNone && static_cast<std::int32_t>(era_of_write - era) <= 0) {
    if (newest != name) newest = kSeveral;
    return false;
  }
  older = before;
  before = newest;
  newest = name;
  era = era_of_write;
  return true;
}

std::optional<std::size_t> Writers::better_home(std::uint32_t now, std::size_t me) const {
  const bool over = !is_written_since(now);
  const std::uint8_t last = over ? newest : before, last_but_one = over ? before : older;
  if (last == kNone || last == kSeveral || last == me + 1) return std::nullopt;
  if ((moved & kCame) != 0 && last_but_one != last) return std::nullopt;
  return last - 1U;
}

bool note_writer(PageWords& words, std::uint32_t era, std::size_t node) {
  std::uint64_t seen = words.writers.load(std::memory_order_relaxed);
  for (;;) {
    auto writers = std::bit_cast<Writers>(seen);
    const bool is_first = writers.add(era, node);
    if (words.writers.compare_exchange_weak(seen, writers.packed(), std::memory_order_relaxed)) return is_first;
  }
}

void note_diff(HeapMemory& memory, std::size_t page, std::uint32_t era, std::size_t node) {
  if (!note_writer(memory.words(page), era, node)) return;
  LogEnds& ends = memory.node().diffed;
  const std::uint64_t at = ends.begin_writing(1);
  memory.diffed_entry(at).store(static_cast<std::uint32_t>(page), std::memory_order_relaxed);
  ends.end_writing(at + 1);
}

// What the ring has dropped, or what does not fit, is proposed when it is written once more. So is a page that a node
// beyond this barrier has written already; the next step begins with it.
void Heap::propose_moves(std::uint32_t era) {
  NodeWords& node = memory_.node();
  const std::uint64_t end = node.diffed.end.load(std::memory_order_acquire);
  std::uint64_t at = node.diffed_seen, next = end;
  if (end - at > HeapMemory::kLogEntries) at = end - HeapMemory::kLogEntries;
  std::vector<std::size_t> pages;
  for (; at < end; ++at) {
    const std::size_t page = memory_.diffed_entry(at).load(std::memory_order_relaxed);
    pages.push_back(page);
    if (Writers::of(memory_.words(page)).is_written_since(era)) next = std::min(next, at);
  }
  node.diffed_seen = next;
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  std::vector<Move> moves;
  for (const std::size_t page : pages) {
    const PageWords& words = memory_.words(page);
    if (words.home.load(std::memory_order_relaxed) != my_home()) continue;
    const auto to = Writers::of(words).better_home(era, me_);
    if (!to) continue;
    const bool joins =
        !moves.empty() && moves.back().to == *to && moves.back().pages.first + moves.back().pages.count == page;
    if (joins) {
      ++moves.back().pages.count;
    } else {
      moves.push_back({{page, 1}, me_, *to});
    }
  }
  const Bytes encoded = encode(moves, kMostMovesBytes / memory_.node_count());
  std::copy(encoded.begin(), encoded.end(), node.proposals);
  node.proposal_bytes = static_cast<std::uint32_t>(encoded.size());
}

Bytes Heap::proposals() const {
  const NodeWords& node = memory_.node();
  if (!parts_.moves || !core_.launch.leads_node()) return {};
  return {node.proposals, node.proposals + node.proposal_bytes};
}

Status Heap::apply_moves(const Meeting& meeting, std::uint32_t era) {
  if (!meeting.moves.empty() && !parts_.moves) disbelieve("a rank brings moves of homes, which are off");
  Taken taken(*this);
  GRAPNEL_TRY(get_pages_that_come(meeting, era, taken));
  for (const Move& move : meeting.moves) {
    for (std::size_t page = move.pages.first; page < move.pages.first + move.pages.count; ++page) {
      move_home(page, move, era);
    }
  }
  taken.give_back();
  if (parts_.moves) propose_moves(era);
  return {};
}

// A page is taken until it is at home here: a thread that faults on it waits, and then looks again.
Status Heap::get_pages_that_come(const Meeting& meeting, std::uint32_t era, Taken& taken) {
  std::vector<Wanted> stale;
  for (std::size_t node = 0; node < memory_.node_count(); ++node) stale.push_back({node, {}});
  for (const Move& move : meeting.moves) {
    if (move.to != me_) continue;
    for (std::size_t page = move.pages.first; page < move.pages.first + move.pages.count; ++page) {
      GRAPNEL_TRY(taken.add(page));
      if (!memory_.words(page).is_valid() && !planted(Bug::moved_while_stale)) stale[move.from].pages.push_back(page);
    }
  }
  return fetch_all(stale, era, FetchReason::move).status();
}

void Heap::move_home(std::size_t page, const Move& move, std::uint32_t era) {
  PageWords& words = memory_.words(page);
  const std::uint32_t before = words.home.load(std::memory_order_relaxed);
  const bool keeps_it = before == move.from + 1 || (before == 0 && move.from != me_);
  if (!keeps_it) disbelieve(fmt::format("node {} moves page {}, which it does not keep", move.from, page));
  if (move.from == me_) {
    words.writers.store(Writers{era, 0, 0, 0, Writers::kLeft}.packed(), std::memory_order_relaxed);
    words.have.store(0, std::memory_order_relaxed);
  } else if (move.to == me_) {
    GRAPNEL_ASSERT(words.is_valid() || planted(Bug::moved_while_stale), "page {} comes here and is not valid", page);
    words.writers.store(Writers{era, 0, 0, 0, Writers::kCame}.packed(), std::memory_order_relaxed);
    const std::uint64_t serves = memory_.node().serves.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!planted(Bug::moved_unserved)) words.served.store(serves, std::memory_order_relaxed);
    counts_.moves.add(1);
  }
  // release: pairs with the server's look (handlers.cpp) and a fault's; what is above is seen with the home.
  if (!planted(Bug::moved_unknown) || move.from == me_ || move.to == me_) {
    words.home.store(static_cast<std::uint32_t>(move.to + 1), std::memory_order_release);
  }
  if (directory_.keeper(page) == me_) directory_.move(page, move.to);
}

// By each rank of the old home, whether or not another rank has fetched the page again since the step: this rank's
// mapping may be bare. It has collected its writes in the barrier's release and written nothing since.
void Heap::unmap_moved(const Meeting& meeting) {
  if (planted(Bug::moved_still_mapped)) return;
  std::vector<std::size_t> gone;
  const base::MutexLock lock(mapping_);
  for (const Move& move : meeting.moves) {
    if (move.from != me_) continue;
    for (std::size_t page = move.pages.first; page < move.pages.first + move.pages.count; ++page) {
      if (mapped_.has(page)) gone.push_back(page);
    }
  }
  for (const os::Pages& run : runs_of(gone)) must(trap_->unmap(run));
  counts_.unmapped_pages.add(gone.size());
  for (const std::size_t page : gone) {
    // The barrier's release found it at home here.
    GRAPNEL_ASSERT(!steady_.contains(page), "page {} leaves this node and stays writable", page);
    mapped_.remove(page);
    watched_.remove(page);
  }
}

}  // namespace grapnel::dsm
