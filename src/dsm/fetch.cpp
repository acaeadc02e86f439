// A miss: the rank asks the directory for the home of the page, and fetches the page from its home.
//
// A page is fetched while its `busy` is held, over the whole round trip: a fetch that was sent while a flush of the
// same page is under way could bring the home's older bytes, where the twin already has the new ones.
//
// Ahead of a miss, where their `busy` is free at once, from the same home: for a stale page the stale ones behind it
// that this rank used, too; for an absent one, the absent ones behind it, 1, 2, 4 … while misses follow each other.
//
// From other places and homes: the pages that this rank used together with this one the last time. A loop will use
// them again, so one wait brings what all its misses would wait for. They are mapped when they are accessed: one that
// is not accessed is not fetched with the others the next time.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "dsm/ask.hpp"
#include "dsm/diff.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::dsm {

// One fetch under way.
struct Heap::Fetch {
  Heap* heap = nullptr;
  std::size_t node = 0;
  FetchBody asked;
  std::array<std::uint64_t, kMostFetched> wanted{};  ///< as of the request
  bool done = false, refused = false, moved = false;

  ByteView body() const { return base::bytes_of(asked); }
  std::size_t reply_bytes() const { return asked.count * os::kPageBytes; }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<Fetch*>(context);
    self.done = true;
    self.moved = reply.code == progress::ReplyCode::answer && reply.payload.empty();
    self.refused =
        !self.moved && (reply.code != progress::ReplyCode::answer || reply.payload.size() != self.reply_bytes());
    if (self.refused || self.moved) return;
    const Stopwatch watch(self.heap->core_.host, self.heap->counts_.merge);
    for (std::size_t i = 0; i < self.asked.count; ++i) self.take(i, reply.payload.data() + i * os::kPageBytes);
  }
  void take(std::size_t i, const std::byte* content) const {
    const std::size_t page = asked.pages[i];
    PageWords& words = heap->memory_.words(page);
    if (words.is_absent()) {
      fill(heap->memory_.page(page), heap->memory_.twin(page), content);
    } else {
      merge(heap->memory_.page(page), heap->memory_.twin(page), content);
    }
    const std::uint64_t applied =
        planted(Bug::have_of_the_answer) ? words.wanted.load(std::memory_order_relaxed) : wanted[i];
    words.have.store(applied + 1, std::memory_order_release);  // pairs with PageWords::is_valid
  }
};

namespace {

struct HomesQuestion {
  std::size_t node = 0, nodes = 0;
  HomesBody asked;
  bool done = false, refused = false;
  HomesReply reply;

  ByteView body() const { return base::bytes_of(asked); }
  std::size_t reply_bytes() const { return 0; }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<HomesQuestion*>(context);
    self.done = true;
    self.refused = reply.code != progress::ReplyCode::answer || reply.body.size() != sizeof(HomesReply);
    self.reply = reply.body_as<HomesReply>();
    for (const std::uint8_t home : self.reply.homes) self.refused |= home > self.nodes;
  }
};

}  // namespace

Status Heap::find_home(std::size_t page) {
  const std::uint32_t computed = directory_.computed_home(page);
  if (computed != 0) {
    std::uint32_t unknown = 0;
    memory_.words(page).home.compare_exchange_strong(unknown, computed, std::memory_order_release,
                                                     std::memory_order_relaxed);
    return {};
  }
  const std::size_t keeper = directory_.keeper(page);
  const std::uint32_t now = era();
  auto homes = std::make_unique<HomesQuestion>();
  homes->nodes = memory_.node_count();
  if (keeper == me_) {
    homes->reply = directory_.look(page, me_);
  } else {
    homes->node = keeper;
    homes->asked = {static_cast<std::uint32_t>(page), now};
    counts_.home_questions.add(1);
    const Stopwatch watch(core_.host, counts_.lookup);
    GRAPNEL_TRY(ask(*core_.client, handler(Call::homes), homes));
  }
  const bool is_sensible = !parts_.moves || (static_cast<std::int32_t>(homes->reply.era - now) >= 0 &&
                                             static_cast<std::int32_t>(homes->reply.era - era()) <= 1);
  if (homes->refused || homes->reply.homes[page % kHomesPerReply] == 0 || !is_sensible) {
    disbelieve(fmt::format("node {} does not answer where page {} is kept", keeper, page));
  }
  // A thread whose rank is in a barrier: where homes have moved at the directory, this node's step comes, too.
  if (parts_.moves && homes->reply.era != now) return wait_for_step(now, keeper);
  const std::size_t block = page / kHomesPerReply * kHomesPerReply;
  for (std::size_t i = 0; i < kHomesPerReply && block + i < memory_.page_count(); ++i) {
    // A home that is known stays, whatever a later answer names.
    std::uint32_t unknown = 0;
    memory_.words(block + i).home.compare_exchange_strong(unknown, homes->reply.homes[i], std::memory_order_release,
                                                          std::memory_order_relaxed);
  }
  return {};
}

// How many pages a miss at this one is about: misses that follow each other are about twice as many each.
std::size_t Heap::window_of(std::size_t page) const {
  if (page == 0 || page != next_absent_.load(std::memory_order_relaxed)) return 1;
  return std::min<std::size_t>(absent_window_.load(std::memory_order_relaxed), settings_.read_ahead);
}

// A page that is at home here by now, or whose home has moved, is left to another look by the caller.
Status Heap::fetch(std::size_t page) {
  PageWords& words = memory_.words(page);
  const std::uint32_t now = era();
  GRAPNEL_TRY(words.take(core_.waiting, page));
  Status fetched;
  bool here = true;
  const std::uint32_t home = words.home.load(std::memory_order_acquire);
  GRAPNEL_ASSERT(home != 0, "page {} is fetched from no home", page);
  if (!words.is_valid() && home != my_home()) {
    const std::vector<std::size_t> pages = pages_to_fetch(page);
    const auto got = fetch_all(by_home(pages), now, FetchReason::miss);
    fetched = got.status();
    here = !got.ok() || *got || words.is_valid();  // it may be another page whose home has moved
    for (const std::size_t one : pages) {
      if (one != page) memory_.words(one).give_back(core_.host);
    }
  }
  words.give_back(core_.host);
  if (!here && !parts_.moves) disbelieve("a node answers that homes have moved, which is off");
  // A thread whose rank is in a barrier, as below.
  return here ? fetched : wait_for_step(now, home - 1);
}

// That `node` is behind the barrier which ends the era, and this node's step is the next.
Status Heap::wait_for_step(std::uint32_t era, std::size_t node) {
  if (!memory_.node().has_arrived(era, core_.launch.nodes().ranks_of[me_].size())) {
    disbelieve(
        fmt::format("node {} answers from behind barrier {} of the shared heap, where not all ranks of this node are",
                    node, era + 1));
  }
  return core_.waiting.on_word(
      memory_.node().step_done, [&](std::uint32_t done) { return static_cast<std::int32_t>(done - era) > 0; },
      progress::Waiting::kForever, progress::Waiting::kLongestSleep_ns,
      [&] {
        return progress::WaitSubject{
            progress::WaitKind::barrier, "barrier", {core_.world.key, era + 1}, &core_.launch.nodes().ranks_of[me_]};
      });
}

// The first is taken; so are the others then.
std::vector<std::size_t> Heap::pages_to_fetch(std::size_t page) {
  const std::uint32_t home = memory_.words(page).home.load(std::memory_order_relaxed);
  const bool absent = memory_.words(page).is_absent();
  const std::size_t most = absent ? window_of(page) : settings_.read_ahead;
  std::vector<std::size_t> pages{page};
  const base::MutexLock lock(mapping_);
  for (std::size_t next = page + 1; pages.size() < most && next < memory_.page_count(); ++next) {
    PageWords& words = memory_.words(next);
    const bool fits = words.home.load(std::memory_order_acquire) == home && !words.is_valid() &&
                      words.is_absent() == absent && (absent || used_.has(next));
    if (!fits || !words.try_take()) break;
    // Taken, it is fetched by no other rank, and does not become at home here.
    if (words.is_valid() || words.home.load(std::memory_order_acquire) != home) {
      words.give_back(core_.host);
      break;
    }
    pages.push_back(next);
  }
  if (absent) {
    absent_window_.store(2 * most, std::memory_order_relaxed);
    next_absent_.store(pages.back() + 1, std::memory_order_relaxed);
  } else {
    add_used_together(pages);
  }
  return pages;
}

void Heap::add_used_together(std::vector<std::size_t>& pages) {
  used_together_.for_each_with(pages[0], [&](std::size_t page) {
    if (pages.size() >= settings_.read_ahead) return false;
    PageWords& words = memory_.words(page);
    if (words.is_valid() || !words.try_take()) return true;
    if (words.is_valid() || words.is_absent() || words.home.load(std::memory_order_acquire) == my_home()) {
      words.give_back(core_.host);
    } else {
      pages.push_back(page);
    }
    return true;
  });
}

std::vector<Heap::Wanted> Heap::by_home(const std::vector<std::size_t>& pages) const {
  std::vector<Wanted> wanted;
  for (const std::size_t page : pages) {
    const std::size_t node = memory_.words(page).home.load(std::memory_order_acquire) - 1;
    GRAPNEL_ASSERT(node < memory_.node_count() && node != me_, "page {} is fetched from node {}", page, node);
    const auto found =
        std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& some) { return some.node == node; });
    if (found == wanted.end()) {
      wanted.push_back({node, {page}});
    } else {
      found->pages.push_back(page);
    }
  }
  return wanted;
}

// The places that answers fill, while these are on their way: a page's first write through this mapping is a fault,
// which costs more than to fill it.
void Heap::prepare_places(const std::vector<std::size_t>& pages) {
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t next = i + 1;
    while (next < pages.size() && pages[next] == pages[next - 1] + 1) ++next;
    if (memory_.words(pages[i]).is_absent()) {
      os::prepare_writes(memory_.page(pages[i]), (next - i) * os::kPageBytes);
      os::prepare_writes(memory_.twin(pages[i]), (next - i) * os::kPageBytes);
    }
    i = next;
  }
}

// All messages at once, as far as the windows of the nodes have room.
Result<bool> Heap::fetch_all(const std::vector<Wanted>& wanted, std::uint32_t era, FetchReason reason) {
  std::vector<std::unique_ptr<Fetch>> fetches;
  for (const Wanted& some : wanted) GRAPNEL_TRY(add_fetches(some, era, reason, fetches));
  counts_.fetches.add(fetches.size());
  const Stopwatch watch(core_.host, counts_.fetch);
  GRAPNEL_TRY(ask_all(*core_.client, handler(Call::fetch), fetches, [&] {
    for (const Wanted& some : wanted) prepare_places(some.pages);
  }));
  bool here = true;
  for (const auto& fetch : fetches) {
    if (fetch->refused) {
      disbelieve(fmt::format("node {} does not answer with page {}", fetch->node, fetch->asked.pages[0]));
    }
    if (fetch->moved && reason == FetchReason::move) {
      disbelieve(fmt::format("node {} does not give the pages that it moves to this one", fetch->node));
    }
    here = here && !fetch->moved;
  }
  return here;
}

Status Heap::add_fetches(const Wanted& wanted, std::uint32_t era, FetchReason reason,
                         std::vector<std::unique_ptr<Fetch>>& fetches) {
  const std::vector<std::size_t>& pages = wanted.pages;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    GRAPNEL_ASSERT(memory_.words(pages[i]).busy.is_taken(), "page {} is fetched and not taken", pages[i]);
    GRAPNEL_TRY(memory_.use_page(pages[i]));
    GRAPNEL_TRY(memory_.use_twin(pages[i]));
    if (i % kMostFetched == 0) {
      fetches.push_back(std::make_unique<Fetch>());
      fetches.back()->heap = this;
      fetches.back()->node = wanted.node;
      fetches.back()->asked = {era, reason == FetchReason::move ? 1U : 0U, 0, {}};
    }
    Fetch& fetch = *fetches.back();
    fetch.asked.pages[fetch.asked.count] = static_cast<std::uint32_t>(pages[i]);
    // acquire: of a notice that is counted here, the home has all that it is about.
    fetch.wanted[fetch.asked.count++] = memory_.words(pages[i]).wanted.load(std::memory_order_acquire);
  }
  counts_.fetched_pages.add(pages.size());
  if (report_ != nullptr) report_->add_fetch(pages);
  const base::MutexLock lock(mapping_);
  for (const std::size_t page : pages) {
    if (carry_.has(page)) counts_.merges_with_writes.add(1);
  }
  return {};
}

}  // namespace grapnel::dsm
