// The one wait policy: spin shortly, then sleep, and look at the job's health between sleeps.
//
// A wait is on one thing: on a worker (its messages) or on a word (another rank's store). It spins for a bit more than
// its partner's wake-up takes after the last thing that happened; then it sleeps in the transport or on the futex,
// 250 ms at most, and looks whether the job still lives. No clock is read unless there is something to wait for. A wait
// may have an end: an absolute time of the host's clock, after which it answers timed_out.
//
// Where more threads of this node spin than the node's share of the machine's CPUs, those above it yield at each step,
// and sleep once a yield finds no thread, or one that computes.
//
// A word is looked at in glances: some looks one pause apart, without a clock. Where the other is at it on another
// core, the first glance is the whole wait; a clock read between two looks would cost more than the word's way.
//
// A spin yields, because the awaited thread may be ready to run on the same core: the scheduler tends to wake a thread
// that is sent something on the core of the sender. How often, and for how long it spins, is learned (`CoreSharing`,
// `SpinBudget`). Ranks that share a core for long spread over those that have fewer of them (`CpuPlaces`).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/units.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "progress/background.hpp"
#include "progress/between_sleeps.hpp"
#include "progress/internal/cpu_places.hpp"
#include "progress/internal/spin_budget.hpp"
#include "progress/wait_record.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

/// Of node memory: the words of the wait policy, of the server and of the clients of a node.
std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node);

class Waiting {
 public:
  /// Collective in the order of carving: `launch.node_memory()` holds the count of spinners.
  Waiting(os::Host& host, launch::Launch& launch, std::uint64_t spin_ns);

  os::Host& host() { return host_; }

  /// No end to a wait but the job's.
  static constexpr std::uint64_t kForever = UINT64_MAX;

  /// Returns when `ready()` holds, calling `worker.progress()` and sleeping in `worker.sleep(timeout_ns)`.
  /// `describe()` names what is waited for, once the wait sleeps; the same in the others. Errors: peer_dead; timed_out
  /// when `until_ns` has passed.
  template <typename Worker, typename Ready, typename Describe = NoSubject>
  Status on_worker(Worker&& worker, Ready ready, std::uint64_t until_ns = kForever, Describe describe = {}) {
    const auto progress = [&] {
      if constexpr (requires { typename std::remove_cvref_t<Worker>::AdvancesBackground; }) return worker.progress();
      const bool moved = worker.progress();
      return advance_background() || moved;
    };
    return wait([&] { return ready(); }, progress, [&](std::uint64_t timeout_ns) { worker.sleep(timeout_ns); },
                until_ns, describe);
  }

  /// Returns when `ready(value)` holds for the value of `word`; `ready` may store to the word, and then shows it by
  /// changing `value`. Every other writer calls `wake` after it; where that may fail to happen once in a while,
  /// `nap_ns` bounds each sleep. Errors: peer_dead; timed_out when `until_ns` has passed.
  template <typename Ready, typename Describe = NoSubject>
  Status on_word(os::Word& word, Ready ready, std::uint64_t until_ns = kForever,
                 std::uint64_t nap_ns = kLongestSleep_ns, Describe describe = {}) {
    // acquire: pairs with the release of the writer of the awaited value.
    std::uint32_t seen = 0;
    const auto look = [&] {
      seen = word.load(std::memory_order_acquire);
      return ready(seen);
    };
    return wait([&] { return glance(look); }, BackgroundAlone{},
                [&](std::uint64_t timeout_ns) { host_.wait(word, seen, std::min(timeout_ns, nap_ns)); }, until_ns,
                describe);
  }

  /// Looks for 200 to 450 ns (ten pauses of the processor), without a clock: whether `ready()` held.
  template <typename Ready>
  static bool glance(Ready ready) {
    for (int look = 0; look < kLooks; ++look) {
      if (ready()) return true;
      os::pause();
    }
    return false;
  }

  /// Some glances, about a microsecond, unless the awaited thread needs this core. For a lock's waiter, which is
  /// not counted among the spinning threads: leaving that count is a locked instruction after the awaited store, 20 of
  /// a hand-over's 230 ns.
  template <typename Ready>
  bool linger(Ready ready) const {
    for (int i = 0; i < kFirstGlances && !neighbour_.answers(); ++i) {
      if (glance(ready)) return true;
    }
    return false;
  }

  /// As `on_word`, with an end, and for words whose writer wakes only those that sleep: before each sleep `mark(seen)`
  /// marks it in the word (and in `seen`), or answers false because the word is no longer what was seen. Errors:
  /// peer_dead; timed_out when `until_ns` has passed.
  template <typename Ready, typename Mark, typename Describe = NoSubject>
  Status on_marked_word(os::Word& word, Ready ready, Mark mark, std::uint64_t until_ns, Describe describe = {}) {
    std::uint32_t seen = 0;
    const auto look = [&] {
      seen = word.load(std::memory_order_acquire);  // pairs with the release of the writer of the awaited value
      return ready(seen);
    };
    const auto sleep = [&](std::uint64_t timeout_ns) {
      if (mark(seen)) host_.wait(word, seen, timeout_ns);
    };
    return wait([&] { return glance(look); }, BackgroundAlone{}, sleep, until_ns, describe);
  }

  /// What a thread's yields brought: the other thread on its core. Where that is the awaited one, the two hand
  /// the core to and fro, and to yield at each step is the quickest way to what is waited for. Where it computes, a
  /// yield gives away a time slice, a hundred times what is waited for: then none for twice as long as it took, while
  /// the thread stays there; the kernel may move it to the awaited thread at any time.
  /// Threads: any; those of a rank share one, and what one of them learns there is good enough for the others.
  class CoreSharing {
   public:
    bool wants_yield(std::uint64_t last_ns, std::uint64_t now_ns, int cpu) const {
      return now_ns - last_ns >= yield_every_ns_.load(std::memory_order_relaxed) && !computes(now_ns, cpu);
    }
    /// Whether a yield on `cpu` would give away a time slice, as far as the last ones tell.
    bool computes(std::uint64_t now_ns, int cpu) const {
      return now_ns < no_yield_before_ns_.load(std::memory_order_relaxed) &&
             cpu == computing_cpu_.load(std::memory_order_relaxed);
    }
    void yielded(std::uint64_t from_ns, std::uint64_t to_ns, int cpu);
    /// Whether it is the awaited one, as far as the last yield tells.
    bool answers() const { return yield_every_ns_.load(std::memory_order_relaxed) == 0; }
    /// It answered `kForLong` times, one after the other, since the last `forget`: the two share a core for long.
    bool answers_for_long() const { return in_a_row_.load(std::memory_order_relaxed) >= kForLong; }
    void forget() { in_a_row_.store(0, std::memory_order_relaxed); }

   private:
    static constexpr std::uint64_t kYieldEvery_ns =
        2 * base::kMicrosecond_ns;                 ///< where no thread is known to be there
    static constexpr std::uint32_t kForLong = 32;  ///< about half a millisecond
    // relaxed, all: hints.
    std::atomic<std::uint64_t> yield_every_ns_{kYieldEvery_ns};
    std::atomic<std::uint32_t> in_a_row_{0};
    std::atomic<std::uint64_t> no_yield_before_ns_{0};  ///< on this one:
    std::atomic<int> computing_cpu_{-1};
  };

  /// How long a server spins at least after the last thing that happened. A rank's spin covers its partner's wake-up
  /// and the way of a message; a server has to cover only what a rank that is awake takes to come back, and shares its
  /// core with ranks that compute.
  std::uint64_t server_spin_ns() const { return patience_.least_ns() / 2; }

  /// A bounded spin for a server or a waiter. Where the node's CPUs are taken by other spinners it is one of yields,
  /// for as long as that lets threads run that do not compute.
  class Spin {
   public:
    Spin(Waiting& waiting, CoreSharing& neighbour, const SpinBudget& patience, std::uint64_t until_ns = kForever);
    ~Spin();
    Spin(const Spin&) = delete;
    Spin& operator=(const Spin&) = delete;
    /// One step; false when it is time to sleep.
    bool step();
    /// Something happened: the next event may be as near. Not beyond the wait's end, and after 250 ms no more: then it
    /// is time to look whether the job still lives.
    void restart();

   private:
    void yield(std::uint64_t now_ns, int cpu);

    Waiting& waiting_;
    CoreSharing& neighbour_;
    const bool counted_;  ///< among the spinners that the node's CPUs are for
    const std::uint64_t length_ns_, most_ns_;
    std::uint64_t yielded_ns_, stepped_ns_, limit_ns_, end_ns_;
  };

  /// The clock as a wait of this rank read it last: its spin between two glances, or after it slept.
  std::uint64_t looked_ns() const { return looked_ns_.load(std::memory_order_relaxed); }

  /// What this rank's threads wait for. Any thread.
  const WaitRecords& records() const { return records_; }

  /// What this rank's waits advance from now on; null: nothing. It outlives the waits that see it.
  void set_background(Background* work) { background_.store(work, std::memory_order_release); }
  bool has_background() const { return background_.load(std::memory_order_relaxed) != nullptr; }
  /// Background::advance, where there is such work. Not inline, as the other parts of a wait that goes on: registers
  /// that they take are saved also where the first look is the whole wait.
  bool advance_background();

  Status health() { return launch_.health(); }
  static constexpr std::uint64_t kLongestSleep_ns = 250 * base::kMillisecond_ns;

 private:
  static constexpr int kLooks = 10;
  static constexpr int kFirstGlances = 3;
  static constexpr std::uint64_t kFirstPiece_ns = 100 * base::kMicrosecond_ns;  ///< sleeps beside background work …
  static constexpr std::uint64_t kLongestPiece_ns = base::kMillisecond_ns;      ///< … twice as long each time
  static constexpr int kMovesWithoutClock = 16;  ///< a worker that never rests must not hide the end of a wait

  /// The progress of a wait for a word: none but that of the background work.
  struct BackgroundAlone {};

  template <typename Ready, typename Progress, typename Sleep, typename Describe>
  Status wait(Ready ready, Progress progress, Sleep sleep, std::uint64_t until_ns, const Describe& describe) {
    if (ready() || spin_until(ready, progress, until_ns)) return {};
    WaitRecords::Entry record(records_);
    std::uint64_t since_ns = 0;  // of the first sleep
    std::uint64_t background_ns = kFirstPiece_ns;
    do {
      GRAPNEL_TRY(launch_.health());
      const std::uint64_t from_ns = host_.now_ns();
      looked_ns_.store(from_ns, std::memory_order_relaxed);
      if (from_ns >= until_ns) return Status(Code::timed_out, "the time that the caller gave has passed");
      if (since_ns == 0) since_ns = from_ns;
      record.write(describe(), since_ns);
      BetweenSleeps* const between = BetweenSleeps::of_this_thread();
      const std::uint64_t piece_ns = next_piece_ns(between, background_ns);
      sleep(std::min(piece_ns, until_ns - from_ns));
      const std::uint64_t to_ns = host_.now_ns();
      looked_ns_.store(to_ns, std::memory_order_relaxed);
      // A piece that has passed is no time that something took.
      if (to_ns < until_ns && (piece_ns == kLongestSleep_ns || to_ns - from_ns < piece_ns))
        patience_.slept(to_ns - from_ns);
      if (between != nullptr) between->run();
    } while (!ready() && !spin_until(ready, progress, until_ns));
    return {};
  }

  /// How long the next sleep is at most: kLongestSleep_ns, or a piece, where something goes on between sleeps.
  /// `background_ns` is the next piece beside background work.
  std::uint64_t next_piece_ns(const BetweenSleeps* between, std::uint64_t& background_ns) const;

  /// One spin; false when it is time to sleep.
  template <typename Ready, typename Progress>
  bool spin_until(Ready& ready, Progress& progress, std::uint64_t until_ns) {
    const BetweenSleeps* const between = BetweenSleeps::of_this_thread();
    if (between != nullptr) until_ns = std::min(until_ns, host_.now_ns() + between->piece_ns());
    Spin spin(*this, neighbour_, patience_, until_ns);
    if (neighbour_.answers()) spin.step();  // nothing can be there before it has run
    do {
      bool moved = false;
      if constexpr (std::is_same_v<Progress, BackgroundAlone>) {
        moved = advance_background();
      } else {
        for (int moves = 0; moves < kMovesWithoutClock && progress(); ++moves) {
          if (ready()) return true;
          moved = true;
        }
      }
      if (ready()) return true;
      if (moved) spin.restart();
    } while (spin.step());
    return false;
  }

  /// Of a rank whose yields were answered for long.
  void spread(std::uint64_t now_ns, int cpu);

  os::Host& host_;
  launch::Launch& launch_;
  os::Word& spinners_;
  std::uint32_t cpu_share_;
  CpuPlaces places_;
  std::atomic<std::uint64_t> looked_ns_{0};  ///< relaxed: for statistics
  std::atomic<Background*> background_{nullptr};
  WaitRecords records_;
  CoreSharing neighbour_;  ///< of the callers; a server has its own, and
  SpinBudget patience_;    ///< its own
};

}  // namespace grapnel::progress
