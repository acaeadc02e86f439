// One rank's engine of the shared heap: lazy release consistency with multiple writers.
//
//   fault.cpp, fetch.cpp   a fault maps what is valid here; else it is brought first: with hlrc from its home
//   release.cpp            with hlrc what was written goes to its homes as diffs; then an interval names the pages
//   steady.cpp             cached pages that are written again and again are compared, not watched
//   served.cpp             of home pages, those that other nodes got are watched from the next release on
//   acquire.cpp            intervals that come along, or are asked for, make pages stale, which are unmapped
//   moves.cpp              homes move in barriers; place.cpp, prefetch.cpp: what a program may ask for beforehand
//   synchronize.cpp        locks and barriers are those of `locks` and `sync`: what they carry is intervals
//   protocol.hpp           what hlrc (hlrc.hpp) and lrc (lrc.hpp) do each in its own way
//   conditions.cpp         a wait for a condition is a release, a sleep, an acquire
//
// The invariants, with the tests that hold them, are in docs/dsm.md.
//
// A job of one node has no trap: the heap is plain shared memory there, and all of this is left out.
//
// Threads: faults, `touch`, `allocate` and `free` from any; the rest from one thread at a time.
// Source: treadmarks-on-gm, section 2; home-based: Y. Zhou, L. Iftode, K. Li, "Performance evaluation of two home-based
// lazy release consistency protocols", OSDI 1996; one copy per node: R. Stets et al., "Cashmere-2L", SOSP 1997.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "core/core.hpp"
#include "dsm/condition_queues.hpp"
#include "dsm/counts.hpp"
#include "dsm/diff_rooms.hpp"
#include "dsm/directory.hpp"
#include "dsm/heap_memory.hpp"
#include "dsm/messages.hpp"
#include "dsm/node_log.hpp"
#include "dsm/page_allocator.hpp"
#include "dsm/page_predictor.hpp"
#include "dsm/page_set.hpp"
#include "dsm/records.hpp"
#include "dsm/report.hpp"
#include "dsm/settings.hpp"
#include "dsm/small_blocks.hpp"
#include "dsm/used_together.hpp"
#include "grapnel/heap_options.hpp"
#include "locks/lock_set.hpp"
#include "os/fault_handler.hpp"
#include "os/page_trap.hpp"
#include "os/software_trap.hpp"
#include "sync/barrier.hpp"

namespace grapnel::dsm {

/// What a heap is made of, beside the core.
struct HeapParts {
  HeapMemory memory;
  std::optional<RecordMemory> records;         ///< with lrc
  std::uintptr_t base = 0;                     ///< in all ranks
  std::shared_ptr<os::AddressPool> addresses;  ///< from there on; null in simulated worlds
  std::shared_ptr<locks::Set> locks;
  std::uint32_t lock_count = 0;
  std::uint32_t combine = 0;  ///< of barriers
  progress::HandlerId first_handler = 0;
  std::shared_ptr<Report> report;  ///< null: none is wanted
  bool moves = false;              ///< of homes, in barriers
};

class Protocol;

class Heap {
  friend class Protocol;
  friend class Hlrc;
  friend class Lrc;

 public:
  Heap(core::Core& core, sync::Barriers& barriers, HeapParts parts);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Maps the program's view, under the trap where there are several nodes. Errors: those of the trap.
  Status open_view();

  std::uintptr_t base() const { return parts_.base; }
  std::size_t bytes() const { return memory_.bytes(); }
  std::uint32_t lock_count() const { return parts_.lock_count; }

  // allocate.cpp
  /// `name`, `return_address`: of the block and of the call, for the report.
  Result<void*> allocate(std::size_t bytes, std::string_view name = {}, const void* return_address = nullptr);
  Status free(void* address);

  // synchronize.cpp
  Status lock(int number);
  Result<bool> try_lock(int number);
  Status unlock(int number);
  Status barrier(int number);

  // conditions.cpp
  Status wait(int condition, int lock);
  /// Wakes the rank that waits longest; `all`: every one.
  Status wake_waiters(int condition, int lock, bool all);

  // fault.cpp
  Status touch(const void* address, std::size_t bytes, bool writes);

  // place.cpp
  Status place(const void* address, std::size_t bytes, Rank rank);
  // prefetch.cpp
  Status prefetch(const void* address, std::size_t bytes);
  /// An access of the program, which works in simulated worlds, too.
  void load(const void* address, void* value, std::size_t bytes);
  void store(void* address, const void* value, std::size_t bytes);

  SharedHeapCounts counts() const { return counts_.values(parts_.locks->counts()); }
  /// Before the client ends: no access may fault any more.
  void close();

 private:
  bool one_node() const { return core_.client == nullptr; }
  std::uint32_t my_home() const { return static_cast<std::uint32_t>(me_ + 1); }
  progress::HandlerId handler(Call call) const { return handler_of(parts_.first_handler, call); }
  std::unique_ptr<Protocol> make_protocol();
  Status choose_trap();
  /// Ends the job over a message or an answer that makes no sense: "…, which no program of this version does".
  [[noreturn]] void disbelieve(const std::string& what);
  /// Where a trap fails in the middle of a release or an acquire, what was written is not known any more: the job ends.
  void must(const Status& done);
  /// Nothing can be answered to a load or a store: the job ends.
  [[noreturn]] void give_up(std::size_t page, const Status& why);

  /// The pages that [address, +bytes) lies on. Errors: invalid_argument (not in the heap), which names the call.
  Result<os::Pages> pages_in(const char* call, const void* address, std::size_t bytes) const;

  // fault.cpp
  /// The memory behind an address of the simulated program, after a fault where there is one.
  std::byte* access(std::uintptr_t address, bool writes);
  static void on_fault(void* heap, std::uintptr_t address, os::Access access);
  void resolve(std::size_t page, bool writes);
  Status make_accessible(std::size_t page, bool writes);
  /// False: it is not at home here any more.
  Result<bool> map_home_page(std::size_t page, bool writes);
  /// False: it is not valid any more.
  Result<bool> map_valid_page(std::size_t page, bool writes);
  Status map_ahead(std::size_t page) GRAPNEL_REQUIRES(mapping_);

  // place.cpp
  Result<Directory::Placed> place_run(os::Pages pages, std::size_t node);

  // prefetch.cpp
  Status prefetch_some(os::Pages pages);
  Status map_valid(os::Pages pages);

  // fetch.cpp
  struct Fetch;
  Status find_home(std::size_t page);
  Status fetch(std::size_t page);
  Status wait_for_step(std::uint32_t era, std::size_t node);
  /// The page, which is taken, and others that are taken then.
  std::vector<std::size_t> pages_to_fetch(std::size_t page);
  /// Stale ones that this rank used together with the first one, up to as many pages as a miss may bring.
  void add_used_together(std::vector<std::size_t>& pages) GRAPNEL_REQUIRES(mapping_);
  /// Pages that this rank has taken, and the node that has them.
  struct Wanted {
    std::size_t node;
    std::vector<std::size_t> pages;
  };
  /// Taken pages, each at home with another node.
  std::vector<Wanted> by_home(const std::vector<std::size_t>& pages) const;
  std::size_t window_of(std::size_t page) const;
  enum class FetchReason { miss, move };
  /// False: a node does not keep some of them any more. The job ends where that is a page that moves to this node.
  Result<bool> fetch_all(const std::vector<Wanted>& wanted, std::uint32_t era, FetchReason reason);
  Status add_fetches(const Wanted& wanted, std::uint32_t era, FetchReason reason,
                     std::vector<std::unique_ptr<Fetch>>& fetches);
  void prepare_places(const std::vector<std::size_t>& pages);

  // release.cpp
  struct Flush;
  class Taken;
  /// What this rank wrote is published, and an interval names it. Errors: peer_dead.
  Status release_writes();
  void collect_written(std::vector<std::size_t>& cached, std::vector<std::size_t>& at_home);
  Status flush(const std::vector<std::size_t>& cached, Taken& taken);
  Status add_diff(Flush& flush, std::size_t page);
  Status send_diffs(Flush& flush, std::size_t home, bool is_last);

  // steady.cpp
  void add_steady(std::vector<std::size_t>& written) GRAPNEL_REQUIRES(mapping_);
  void find_steady(const std::vector<std::size_t>& cached);
  bool may_be_written(std::size_t page) const;

  // served.cpp
  /// Home pages that other nodes got since the last release: those that are watched from now on. The others are
  /// predicted to be written, and added.
  std::vector<std::size_t> watch_what_was_served(std::vector<std::size_t>& written);
  void learn_served(const std::vector<std::size_t>& watched, const std::vector<std::size_t>& written);

  // acquire.cpp
  struct Question;
  Status learn(const Grant& grant, std::size_t from);
  Status learn(const Meeting& meeting);
  /// Applies what is all there and asks nodes for the rest.
  Status take_news(std::vector<News> news);
  Status ask_for_notices(std::vector<News>& news);
  void unmap_stale();

  // moves.cpp
  void propose_moves(std::uint32_t era);
  /// What the leader brings to a barrier.
  Bytes proposals() const;
  Status apply_moves(const Meeting& meeting, std::uint32_t era);
  Status get_pages_that_come(const Meeting& meeting, std::uint32_t era, Taken& taken);
  void move_home(std::size_t page, const Move& move, std::uint32_t era);
  void unmap_moved(const Meeting& meeting);

  // synchronize.cpp
  /// Barriers whose step this node has taken.
  std::uint32_t era() const { return memory_.node().step_done.load(std::memory_order_acquire); }
  Status check_lock(int number) const;
  int lock_index(int number) const { return number / core_.launch.size(); }
  Rank lock_home(int number) const { return Rank{number % core_.launch.size()}; }
  Status acquire_with(int number, ByteView payload);
  Result<Bytes> grant();
  Status check_numbers(const Meeting& meeting);
  Status take_node_step(const Meeting& meeting);

  // conditions.cpp
  Status check_condition(int condition, int lock) const;
  Result<std::vector<std::uint32_t>> ask_keeper(const ConditionBody& body);
  Result<ConditionQueues::Answer> ask_other_keeper(std::size_t keeper, const ConditionBody& body);
  Status enter_queue(int condition, int lock);
  Status sleep_until_woken(int condition, int lock);

  // allocate.cpp
  Result<std::int64_t> ask_for_pages(const MemoryBody& body);
  Result<void*> allocate_block(std::size_t bytes);
  Result<std::byte*> allocate_pages(MemoryWish wish, std::size_t pages);
  Status use_pages(std::size_t first, std::size_t pages);

  core::Core& core_;
  sync::Barriers& barriers_;
  HeapParts parts_;
  HeapMemory& memory_;
  Report* const report_;
  NodeLog log_;
  Directory directory_;
  PageAllocator allocator_;
  ConditionQueues queues_;
  const Settings settings_;
  const std::size_t me_;  ///< node
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<os::PageTrap> trap_;
  os::SoftwareTrap* software_ = nullptr;  ///< `trap_`, in simulated worlds
  bool open_ = false;

  /// Between "is it valid" and "map", and around unmapping: a page that is mapped was valid then.
  base::Mutex mapping_;
  PageSet mapped_ GRAPNEL_GUARDED_BY(mapping_);
  PageSet watched_ GRAPNEL_GUARDED_BY(mapping_);  ///< mapped, and its writes are of interest
  /// Mapped pages that are compared with their twins, not watched: how many releases in a row found one unchanged.
  std::unordered_map<std::size_t, std::uint32_t> steady_ GRAPNEL_GUARDED_BY(mapping_);
  static constexpr std::uint32_t kMostUnchanged = 8;
  PageSet used_ GRAPNEL_GUARDED_BY(mapping_);  ///< mapped at some time
  UsedTogether used_together_ GRAPNEL_GUARDED_BY(mapping_);
  PageSet carry_ GRAPNEL_GUARDED_BY(mapping_);  ///< written, though the trap knows nothing of it any more
  DiffRooms rooms_;
  std::vector<std::size_t> last_written_;  ///< cached pages, ascending, before the last release that named any
  std::uint64_t stale_cursor_ = 0, served_cursor_ = 0;
  PagePredictor served_;                         ///< home pages: written soon after they were served
  std::vector<std::size_t> served_not_written_;  ///< watched, ascending, since the release before
  std::vector<Interval> since_barrier_;          ///< that this rank made; none, once they are more than kMostRunsKept
  static constexpr std::size_t kMostRunsKept = 512;
  std::size_t runs_since_barrier_ = 0;
  std::uint32_t barriers_done_ = 0;

  std::atomic<std::size_t> next_absent_{0}, absent_window_{1};  ///< of a run of misses; hints
  base::Mutex small_mutex_;
  SmallBlocks small_ GRAPNEL_GUARDED_BY(small_mutex_);
  Counts counts_;
};

}  // namespace grapnel::dsm
