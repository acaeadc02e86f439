// What the threads of a rank wait for, for reports (`grapnel status`, the watchdog).
//
// A wait writes its record when it has left its spin and is about to sleep, and marks it as over when the sleep is:
// nothing is written on the way of an operation that need not sleep. A wait that consists of several sleeps keeps the
// time of its first one. The watcher thread reads the records at any time.
//
// Invariants:
//  1. A record is written by the thread that owns its slot, between two steps of `version` (odd: being written).
//  2. A reader needs no memory of the waiting thread: the record holds copies.
//
// Threads: `enter` and `leave`: the waiting thread; `read`: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "grapnel/types.hpp"

namespace grapnel::progress {

/// What is waited for, and the meaning of `WaitSubject::what`.
enum class WaitKind : std::uint8_t {
  none,               ///< not said
  barrier,            ///< group key, count; and `members`
  lock,               ///< number of the set, index, home
  notification,       ///< the rank that notifies
  message,            ///< the rank that sends it, in a collective call
  inbox,              ///< room in the inbox of a rank
  answer,             ///< of the server of a node
  connection,         ///< to the server of a node
  departure,          ///< messages that have not left for a node
  window,             ///< room in the window of a node's server
  fence,              ///< the node that has not acknowledged all writes
  stripe,             ///< memory that another rank updates
  mpi,                ///< MPI's part of a call
  fence_of_launcher,  ///< all ranks, at the job's start or end
};

struct WaitSubject {
  WaitKind kind = WaitKind::none;
  const char* call = nullptr;  ///< the public call, of static storage
  std::array<std::uint64_t, 3> what{};
  const std::vector<Rank>* members = nullptr;  ///< ascending
};

/// What a wait says when its caller says nothing.
struct NoSubject {
  WaitSubject operator()() const { return {}; }
};

/// Names what the calling thread waits for inside, where the wait itself does not know: the innermost kind and the
/// outermost call count. `describe()` is called where a sleep begins, and lives as long as this. For calls that do not
/// end at once only. `whole`: all that is waited for inside is one wait.
class WaitScope {
 public:
  template <typename Describe>
  explicit WaitScope(const Describe& describe, bool whole = false)
      : describe_([](const void* context) { return (*static_cast<const Describe*>(context))(); }),
        context_(&describe),
        whole_(whole),
        outer_(current) {
    current = this;
  }
  template <typename Describe>
  WaitScope(const Describe&& describe, bool whole = false) = delete;  // it would be gone
  /// The call alone.
  explicit WaitScope(const char* call, bool whole = false)
      : describe_([](const void* context) { return WaitSubject{.call = static_cast<const char*>(context)}; }),
        context_(call),
        whole_(whole),
        outer_(current) {
    current = this;
  }
  ~WaitScope() { current = outer_; }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  friend class WaitRecords;
  WaitSubject (*const describe_)(const void* context);
  const void* const context_;
  const bool whole_;
  std::uint64_t since_ns_ = 0;  ///< of its first sleep; 0: none yet
  WaitScope* const outer_;
  // initial-exec: one instruction more than a global, where the default in a library is a call. It takes 8 of the 1,664
  // bytes that glibc keeps for libraries that are loaded later.
  [[gnu::tls_model("initial-exec")]] constinit static thread_local WaitScope* current;
};

/// Ranks as runs: first and last of each.
using RankRuns = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A record as it was read.
struct WaitReport {
  WaitKind kind = WaitKind::none;
  const char* call = nullptr;
  std::array<std::uint64_t, 3> what{};
  RankRuns members;            ///< the first kMostRuns runs
  bool more_members = false;   ///< there are others
  std::uint64_t since_ns = 0;  ///< of the host's clock
};

class WaitRecords {
 public:
  static constexpr std::size_t kThreads = 8;  ///< that sleep at once; more leave no record
  static constexpr std::size_t kMostRuns = 16;
  /// A thread that slept until so shortly ago may be between two sleeps of one wait: as long as a time slice or two of
  /// others on a busy machine.
  static constexpr std::uint64_t kBetweenSleeps_ns = 30'000'000;

  /// Before a sleep; `since_ns`: when the wait's first one began. Answers what `leave` wants.
  int enter(const WaitSubject& subject, std::uint64_t since_ns);
  /// After it.
  void leave(int slot, std::uint64_t now_ns);

  /// The threads that sleep, longest wait first. `may_be_between`: none does, but one did until a moment ago.
  std::vector<WaitReport> read(std::uint64_t now_ns, bool& may_be_between) const;

 private:
  struct Slot {
    std::atomic<std::uint32_t> taken{0};
    std::atomic<std::uint32_t> version{0};
    std::atomic<std::uint64_t> slept_until_ns{0};
    std::atomic<std::uint64_t> since_ns{0};
    std::atomic<const char*> call{nullptr};
    std::atomic<WaitKind> kind{WaitKind::none};
    std::array<std::atomic<std::uint64_t>, 3> what{};
    std::atomic<std::uint32_t> runs{0};
    std::atomic<bool> more{false};
    std::array<std::atomic<std::uint64_t>, kMostRuns> run{};  ///< first in the high half, last in the low one
  };
  static void write(Slot& slot, const WaitSubject& subject, std::uint64_t since_ns);
  static bool copy(const Slot& slot, WaitReport& report);

  std::array<Slot, kThreads> slots_;
};

}  // namespace grapnel::progress
