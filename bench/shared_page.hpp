// A page that all processes of a measurement share beside Grapnel, so that steering it costs the runtime nothing: the
// conducting rank gives the others their work, and they sleep in the kernel until then.
//
//   conductor: issue(command) ─▶ followers: next(seen) … done(result) ─▶ conductor: wait_done()
//
// The memory is a memfd of the coordinator; the ranks open it by its name under /proc, which works while it lives.
// Ranks with another /proc, those of a lab's hosts, open a file in the lab's folder, which ends with the lab.
// Threads: one conductor at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace grapnel::bench {

enum class Command : std::uint32_t {
  rest,      ///< sleep until the next one
  compute,   ///< until the next one; done as soon as it has begun
  work,      ///< a fixed amount of computation; the result is its time, ns
  cpu_time,  ///< the result is this process's processor time so far, ns
  share,     ///< this rank's part of the common work; the result is rank 0's time, ns
  quit,
};

struct BoardPage {
  std::atomic<std::uint32_t> command{0};  ///< sequence · 16 + Command; a futex
  std::atomic<std::uint32_t> done{0};     ///< the last `command` that was done; a futex
  std::atomic<std::uint64_t> result{0};
  /// What `share` is to be, where a job knows several; written before the command. scenarios/sync_work.hpp
  static constexpr std::size_t kArguments = 9;
  std::uint64_t argument[kArguments] = {};
  /// What a `share` found out beside its result; written before it is done.
  static constexpr std::size_t kNumbers = 8;
  double number[kNumbers] = {};
  std::atomic<std::uint32_t> joined{0};  ///< 1 when the job is ready; a futex
  // Where ranks gather, to begin at the same time.
  std::atomic<std::uint32_t> arrived{0};
  std::atomic<std::uint32_t> gatherings{0};  ///< a futex
  std::atomic<std::uint64_t> start_ns{0};
  // What all ranks measured together, for the one that answers.
  std::atomic<std::uint64_t> total_ns{0}, first_ns{0}, last_ns{0};
  // For limits/raw_ucx.h: which instance's server shall be awake (a futex), which one is, and their addresses.
  std::uint32_t raw_phase = 0, raw_awake = 0;
  static constexpr std::size_t kAddressBytes = 2048;
  char raw_address[2][kAddressBytes] = {};
};

class SharedPage {
 public:
  static SharedPage create();
  /// In a file in `folder`, whose owner removes it.
  static SharedPage create_in(const std::string& folder);
  /// `path` as `path()` of the one that created it. Any failure ends the process.
  static SharedPage open(const std::string& path);
  SharedPage(SharedPage&& other) noexcept;
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage();

  std::string path() const;
  BoardPage& page() { return *page_; }

  /// The number of the command.
  std::uint32_t issue(Command command);
  /// False when `alive` answers that no rank will any more (it is asked every 100 ms).
  bool wait_done(const std::function<bool()>& alive = {});
  std::uint64_t result() const { return page_->result.load(std::memory_order_relaxed); }  // ordered by `done`
  /// issue, wait_done, result.
  std::uint64_t ask(Command command);

  /// Sleeps until a command other than `seen` is there; changes `seen`.
  Command next(std::uint32_t& seen);
  bool is_current(std::uint32_t seen) const { return page_->command.load(std::memory_order_acquire) == seen; }
  void done(std::uint32_t seen, std::uint64_t result);

  /// Returns at one time in all `ranks`, `later_ns` after the last of them has come. They sleep until then.
  void gather(std::uint32_t ranks, std::uint64_t later_ns);

  void announce_joined();
  bool wait_joined(const std::function<bool()>& alive);

  /// Wakes server `number` of limits/raw_ucx.h (0: all sleep) and waits until it is so.
  void raw_phase(std::uint32_t number);
  void end_raw();

 private:
  SharedPage(int descriptor, BoardPage* page, std::string path = {})
      : descriptor_(descriptor), path_(std::move(path)), page_(page) {}

  int descriptor_;
  std::string path_;  ///< of the file; empty: a memfd
  BoardPage* page_;
};

}  // namespace grapnel::bench
