// Wall time of a process, split into compute, lock and barrier.
//
// Lock and barrier are the time inside the calls of TreadMarks' interface; compute is the rest, with the page faults.
// Beside that: how long the process's thread had no processor, and what the other threads of the process used. In the
// first process of a node one of these is Grapnel's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace app {

struct Seconds {
  double wall = 0;
  double lock = 0;  ///< in acquires and releases
  double barrier = 0;
  double idle = 0;    ///< of `wall`, the calling thread without a processor
  double server = 0;  ///< processor time of the other threads
  double compute() const { return wall - lock - barrier; }
};

class Meter {
 public:
  /// Collective: a barrier, after which time runs.
  void start();
  /// Collective: a barrier, which is counted, after which time no longer runs.
  void stop();

  /// Tmk_barrier, Tmk_lock_acquire and Tmk_lock_release, measured.
  void barrier(unsigned number);
  void acquire(unsigned lock);
  void release(unsigned lock);

  const Seconds& seconds() const { return seconds_; }

 private:
  std::chrono::steady_clock::time_point started_;
  double thread_started_ = 0, process_started_ = 0;  ///< their processor time
  Seconds seconds_;
};

/// Collective: process 0 returns a table of the means and the maxima over the processes; the others an empty text.
/// Shared memory of one record per process is taken and freed.
std::string time_table(const Seconds& mine);

/// The wall time of `work`, in seconds.
template <typename Work>
double seconds_of(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace app
