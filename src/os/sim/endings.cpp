// How a simulated run ends: finished, given up, or ended by a rank; what is reported of it, and what becomes of the
// threads.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"
#include "os/sim/scheduler.hpp"
#include "os/sim/sim_host.hpp"
#include "os/sim/task.hpp"

namespace grapnel::os {
namespace {

std::string milliseconds(std::uint64_t ns) { return fmt::format("{:.6f} ms", static_cast<double>(ns) / 1e6); }

}  // namespace

const char* to_string(SimEnding ending) {
  switch (ending) {
    case SimEnding::finished: return "finished";
    case SimEnding::deadlock: return "deadlock";
    case SimEnding::time_limit: return "time limit";
    case SimEnding::step_limit: return "step limit";
    case SimEnding::ended: return "ended";
  }
  return "?";
}

void SimScheduler::stop_process(const Host& host) {
  if (options_.mode == SimMode::free_running) return;  // real threads cannot be stopped at an arbitrary place
  const int process = static_cast<const SimHost&>(host).process();
  Task* me = self();
  for (const auto& task : tasks_) {
    if (task->process != process || task->state == Task::State::finished) continue;
    task->state = Task::State::stopped;
    task->until_ns = kNever;
    std::erase(runnable_, task.get());
  }
  if (me == nullptr || me->process != process) return;
  if (Task* next = pick_or_advance(); next != nullptr) hand_over(*next);
  park_forever();
}

void SimScheduler::end_world(const std::string& why) {
  GRAPNEL_CHECK(self() != nullptr, "a thread outside the simulated world ends it: {}", why);
  fail(SimEnding::ended, why);
}

void SimScheduler::end(SimEnding ending, std::string report) {
  outcome_ = SimOutcome{ending,    std::move(report), options_.seed, clock_ns_, steps_.load(std::memory_order_relaxed),
                        switches_, trace_hash_};
  ended_.store(1, std::memory_order_release);  // pairs with the load in `run`
  futex_wake(ended_);
}

void SimScheduler::fail(SimEnding ending, const std::string& why) {
  std::string report = compose_report(to_string(ending), why);
  self()->state = Task::State::stopped;  // also where it was just finishing: this thread cannot be joined any more
  end(ending, std::move(report));
  park_forever();
}

void SimScheduler::park_forever() {
  std::atomic<std::uint32_t> never{0};
  for (;;) futex_wait(never, 0, nullptr);
}

// Only a thread that never calls its Host brings us here, so it cannot be parked: the process has to end.
void SimScheduler::abort_stuck() {
  const std::string report =
      compose_report("stuck", fmt::format("no yield point for {} s: a thread that runs or is runnable loops without a "
                                          "Host call, or waits for a lock that a parked thread holds",
                                          options_.stuck_after_s));
  std::fputs(report.c_str(), stderr);
  std::abort();
}

std::string SimScheduler::compose_report(const char* ending, const std::string& why) const {
  std::string text = fmt::format("sim: {} at {} (seed {}, {} steps): {}\n", ending, milliseconds(clock_ns_),
                                 options_.seed, steps_.load(std::memory_order_relaxed), why);
  for (const auto& task : tasks_) {
    std::string what;
    switch (task->state) {
      case Task::State::runnable: what = task.get() == self() ? "runs" : "could run"; break;
      case Task::State::finished: what = "has finished"; break;
      case Task::State::stopped: what = "was killed"; break;
      case Task::State::blocked:
        if (task->joins != nullptr) {
          what = "waits for the end of " + task->joins->name;
        } else if (task->word != nullptr) {
          const std::uint32_t value = task->word->load(std::memory_order_relaxed);
          what = fmt::format("sleeps on word {} (saw {}, now {}{})", fmt::ptr(task->word), task->seen, value,
                             value == task->seen ? "" : ": nobody woke it");
        } else if (task->lock != nullptr) {
          what = fmt::format("waits for lock {}", task->lock);
        } else {
          what = "is stalled";
        }
        if (task->until_ns != kNever) what += " until " + milliseconds(task->until_ns);
        break;
    }
    text += fmt::format("  {:<20} {}, since {}\n", task->name, what, milliseconds(task->since_ns));
  }
  return text;
}

}  // namespace grapnel::os
