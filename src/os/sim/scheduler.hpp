// The simulated machine: threads that run one at a time under a seeded choice, and a virtual clock.
//
// Every thread is a real one, but only the holder of the token runs; a call of its Host is a yield point, where the
// seeded generator decides which thread continues. The same seed and the same program give the same run, switch by
// switch (`SimOutcome::trace_hash`). In mode `free_running` there is no token: the hosts are the real machine, for the
// thread sanitizer.
//
// Invariants:
//  1. Between `run` and its return, only the holder of the token touches the scheduler's state.
//  2. A task is in `runnable_` exactly when its state is `runnable`; the running one is among them.
//  3. `next_timer_ns_` is the earliest `until_ns` of the blocked tasks, or kNever.
//  4. A world that failed, and a process that was stopped, never run again: their threads stay parked until the
//     process ends and hold whatever they held. Nothing unwinds, because a killed process does not unwind either.
//
// A lock of the C++ library that is held across a yield point would block the token's holder for ever; test programs
// therefore link lock hooks (tests/sim/lock_hooks.cpp), which turn such a wait into `wait_for_lock`. Condition
// variables and the like have no hook: code under simulation sleeps through its Host. A thread that blocks otherwise,
// or computes without a Host call, is reported as `stuck`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "os/host.hpp"

namespace grapnel::os {

enum class SimMode { seeded, free_running };

struct SimOptions {
  std::uint64_t seed = 1;
  SimMode mode = SimMode::seeded;
  std::size_t processors = 2;        ///< what hosts say that the machine has; one thread runs at a time all the same
  double switch_probability = 0.25;  ///< that a yield point lets the generator choose again
  double early_return_probability = 0.01;  ///< that a wait returns at once, as it may
  double stall_probability = 0;            ///< that a yield point takes the processor away for up to `stall_max_ns`
  std::uint64_t stall_max_ns = 100 * base::kMicrosecond_ns;
  std::uint64_t tick_min_ns = 50;  ///< what one yield point costs in virtual time
  std::uint64_t tick_max_ns = 100;
  std::uint64_t deadline_ns = 60 * base::kSecond_ns;  ///< virtual time at which a run is given up
  std::uint64_t step_limit = 10'000'000;              ///< yield points after which a run is given up (endless spins)
  unsigned stuck_after_s = 30;  ///< real time in one step after which the process is aborted; 0: never
};

enum class SimEnding {
  finished,    ///< every thread that was not stopped has returned
  deadlock,    ///< no thread can run and no timer is set
  time_limit,  ///< `deadline_ns` has passed
  step_limit,  ///< `step_limit` has been reached
  ended,       ///< a thread called `end_world` (an abort of the job)
};

const char* to_string(SimEnding ending);

struct SimOutcome {
  SimEnding ending = SimEnding::finished;
  std::string report = {};  ///< empty when finished; else the reason, the seed and one line per thread
  std::uint64_t seed = 0;
  std::uint64_t virtual_ns = 0;
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  std::uint64_t trace_hash = 0;  ///< of every step: thread, action, time
  bool ok() const { return ending == SimEnding::finished; }
};

class SimScheduler : public std::enable_shared_from_this<SimScheduler> {
 public:
  enum class Step : std::uint8_t { now, relax, yield, wait, wake, start, finish };
  struct Task;

  static std::shared_ptr<SimScheduler> create(const SimOptions& options);
  ~SimScheduler();

  /// A simulated process, named in reports. Its threads are started with `Host::start`, before `run` or from inside.
  /// Free-running: a host that hands everything to the real machine.
  std::unique_ptr<Host> make_host(const std::string& process_name);

  /// Runs every started thread to its end. Call once, from a thread that is none of them. Free-running: returns at
  /// once; the `Thread` objects join. After an ending other than `finished` the threads are parked forever: objects
  /// that they use may be destroyed, their own are lost.
  SimOutcome run();

  /// Ends a process as kill -9 would: its threads never run again. Does not return when the caller is one of them.
  void stop_process(const Host& host);

  /// Ends the whole run with `why` in the report. Simulated threads only.
  [[noreturn]] void end_world(const std::string& why);

  const SimOptions& options() const { return options_; }

  /// The scheduler whose thread calls; null outside of simulated worlds.
  static SimScheduler* current();
  /// For lock hooks: lets others run before the caller tries `lock` for the `attempt`th time again (from 0).
  void wait_for_lock(const void* lock, unsigned attempt);

  // What SimHost is made of. A caller that is no simulated thread of this scheduler may ask the time, wake and add.
  std::uint64_t now_ns();
  void step(Step kind);
  void wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns);
  void wake(Word& word);
  Task* add(int process, std::string name, std::function<void()> body);
  void join(Task& task);

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  explicit SimScheduler(const SimOptions& options);
  Task* self() const;
  void advance(Step kind, const Task& me);
  void fire_timers();
  void make_runnable(Task& task);
  void make_blocked(Task& task, std::uint64_t until_ns);
  Task* pick();
  Task* pick_or_advance();
  void block(Task& me, std::uint64_t until_ns);
  void switch_to(Task& me, Task* next);
  void hand_over(Task& next);
  void thread_main(Task& me);
  void finish(Task& me);
  void end(SimEnding ending, std::string report);
  [[noreturn]] void fail(SimEnding ending, const std::string& why);
  [[noreturn]] void park_forever();
  void abort_stuck();
  std::string compose_report(const char* ending, const std::string& why) const;
  void note(std::uint64_t value);

  const SimOptions options_;
  const int cpu_;
  base::Random random_;
  std::vector<std::unique_ptr<Task>> tasks_;  ///< by id; never shrinks
  std::vector<Task*> runnable_;
  std::uint64_t clock_ns_ = 0;
  std::uint64_t next_timer_ns_ = kNever;
  std::uint64_t switches_ = 0;
  std::uint64_t trace_hash_ = 0xcbf29ce484222325ULL;
  std::atomic<std::uint64_t> steps_{0};  ///< written by the token's holder, read by the watchdog in `run`
  std::atomic<std::uint32_t> ended_{0};
  SimOutcome outcome_;
  int process_count_ = 0;
  bool started_ = false;
};

}  // namespace grapnel::os
