// The steps of a rank, each with a deadline. A step that is not over in time ends the job, with what each rank of the
// machine waits for.
//
// Threads: `begin` and `end` from one thread; a watcher thread looks at the deadline ten times a second.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

namespace grapnel::tool::selftest {

class Steps {
 public:
  /// `stretch`: every deadline is so many times as long.
  explicit Steps(double stretch);
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// From now on the watcher knows which rank this is. Rank 0 sends the rows.
  void know_rank(int rank, bool leads_machine);
  /// The step before is over.
  void begin(const std::string& name, double limit_s);
  void end() { deadline_ns_.store(0); }
  int rank() const { return rank_.load(); }  ///< −1 before it is known

 private:
  void watch();
  [[noreturn]] void give_up(const std::string& name);

  const double stretch_;
  std::deque<std::string> names_;  ///< none is removed: the watcher may read one
  std::atomic<const std::string*> name_{nullptr};
  std::atomic<std::uint64_t> deadline_ns_{0};
  std::atomic<double> limit_s_{0};
  std::atomic<int> rank_{-1};
  std::atomic<bool> leads_machine_{false}, ends_{false};
  std::thread watcher_;
};

}  // namespace grapnel::tool::selftest
