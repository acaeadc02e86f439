// What the threads of a rank wait for, for reports (`grapnel status`, the watchdog).
//
// A wait writes its record before its first sleep and removes it when it ends; several waits in one `whole` scope keep
// one record until the scope ends. An operation that need not sleep writes nothing. The watcher thread reads the
// records at any time.
//
// Invariants:
//  1. A record is written by the thread that owns its slot, between two steps of `version` (odd: being written).
//  2. A reader needs no memory of the waiting thread: the record holds copies.
//
// Threads: `Entry`: the waiting thread; `read`: any.
// SPDX-License-Identifier: Apache-2.0
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
  collective,         ///< group key, phase; and `members`, those on this node
  lock,               ///< number of the set, index, home
  notification,       ///< the rank that notifies
  signal,             ///< the count seen, the count awaited
  message,            ///< the rank that sends it, in a collective call
  inbox,              ///< room in the inbox of a rank
  answer,             ///< of the server of a node
  connection,         ///< to the server of a node
  departure,          ///< messages that have not left for a node
  window,             ///< room in the window of a node's server
  fence,              ///< the node that has not acknowledged all writes
  stripe,             ///< memory that another rank updates
  page,               ///< a page of the shared heap that another rank of the node fetches or flushes
  condition,          ///< of the shared heap: its number, its lock's
  mpi,                ///< MPI's part of a call
  fence_of_launcher,  ///< all ranks, at the job's start or end
};

struct WaitSubject {
  WaitKind kind = WaitKind::none;
  const char* call = nullptr;  ///< the public call, of static storage
  std::array<std::uint64_t, 3> what{};
  const std::vector<Rank>* members = nullptr;  ///< ascending
};

/// The description of a wait whose caller gives none.
struct NoSubject {
  WaitSubject operator()() const { return {}; }
};

class WaitRecords;

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
  ~WaitScope() {
    current = outer_;
    if (records_ != nullptr) remove_record();
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  friend class WaitRecords;
  void remove_record();
  WaitSubject (*const describe_)(const void* context);
  const void* const context_;
  const bool whole_;
  std::uint64_t since_ns_ = 0;      ///< of its first sleep; 0: none yet
  WaitRecords* records_ = nullptr;  ///< where `slot_` is; null: no wait inside has slept
  int slot_ = -1;
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
  static constexpr std::size_t kThreads = 8;  ///< that wait at once; more leave no record
  static constexpr std::size_t kMostRuns = 16;

  /// The record of one wait.
  class Entry {
   public:
    explicit Entry(WaitRecords& records) : records_(records) {}
    ~Entry() {
      if (owned_) records_.remove(slot_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Before each sleep; `since_ns`: when the wait's first one began.
    void write(const WaitSubject& subject, std::uint64_t since_ns);

   private:
    WaitRecords& records_;
    int slot_ = -1;       ///< none before the first sleep, or where all are taken
    bool owned_ = false;  ///< else the slot is the scope's
  };

  /// The threads that wait, longest wait first. `being_written`: one record could not be read, and is left out.
  std::vector<WaitReport> read(bool& being_written) const;

 private:
  struct Slot {
    std::atomic<std::uint32_t> taken{0};
    std::atomic<std::uint32_t> version{0};
    std::atomic<std::uint64_t> since_ns{0};
    std::atomic<const char*> call{nullptr};
    std::atomic<WaitKind> kind{WaitKind::none};
    std::array<std::atomic<std::uint64_t>, 3> what{};
    std::atomic<std::uint32_t> runs{0};
    std::atomic<bool> more{false};
    std::array<std::atomic<std::uint64_t>, kMostRuns> run{};  ///< first in the high half, last in the low one
  };
  friend class WaitScope;
  int take_slot();
  void remove(int slot);
  static void write(Slot& slot, const WaitSubject& subject, std::uint64_t since_ns);
  static bool copy(const Slot& slot, WaitReport& report);

  std::array<Slot, kThreads> slots_;
};

}  // namespace grapnel::progress
