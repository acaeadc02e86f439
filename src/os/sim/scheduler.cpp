// SPDX-License-Identifier: Apache-2.0
#include "os/sim/scheduler.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "os/sim/sim_host.hpp"
#include "os/sim/task.hpp"

namespace grapnel::os {

namespace {

// Which simulated thread this thread is; null for others.
thread_local SimScheduler::Task* current_task = nullptr;
thread_local SimScheduler* current_scheduler = nullptr;

// The threads of one world take turns; on one processor a turn costs no inter-processor interrupt.
void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

std::shared_ptr<SimScheduler> SimScheduler::create(const SimOptions& options) {
  return std::shared_ptr<SimScheduler>(new SimScheduler(options));
}

SimScheduler::SimScheduler(const SimOptions& options)
    : options_(options), cpu_(std::max(sched_getcpu(), 0)), random_(options.seed) {}

SimScheduler::~SimScheduler() {
  for (const auto& task : tasks_) {
    // Finished, or else it would own a part of this object; maybe it is the calling thread, which cannot join itself.
    if (task->thread.joinable()) task->thread.detach();
  }
}

std::unique_ptr<Host> SimScheduler::make_host(const std::string& process_name) {
  return std::make_unique<SimHost>(shared_from_this(), process_count_++, process_name);
}

SimScheduler::Task* SimScheduler::self() const { return current_scheduler == this ? current_task : nullptr; }

void SimScheduler::note(std::uint64_t value) { trace_hash_ = (trace_hash_ ^ value) * 0x100000001b3ULL; }

// ---- running

SimScheduler::Task* SimScheduler::add(int process, std::string name, std::function<void()> body) {
  GRAPNEL_CHECK(!started_ || self() != nullptr, "thread {} started from outside a running world", name);
  tasks_.push_back(std::make_unique<Task>());
  Task* task = tasks_.back().get();
  task->id = static_cast<int>(tasks_.size()) - 1;
  task->process = process;
  task->name = std::move(name);
  task->body = std::move(body);
  task->since_ns = clock_ns_;
  runnable_.push_back(task);
  task->thread = std::thread([keep = shared_from_this(), task] { keep->thread_main(*task); });
  step(Step::start);
  return task;
}

void SimScheduler::thread_main(Task& me) {
  current_task = &me;
  current_scheduler = this;
  run_on(cpu_);
  base::log_set_identity(fmt::format("{} seed={}", me.name, options_.seed));
  while (me.token.exchange(0, std::memory_order_acquire) == 0) futex_wait(me.token, 0, nullptr);
  me.body();
  me.body = nullptr;  // what it captured is freed while this thread still holds the token
  finish(me);
}

SimOutcome SimScheduler::run() {
  if (options_.mode == SimMode::free_running) return SimOutcome{.seed = options_.seed};
  GRAPNEL_CHECK(!started_ && self() == nullptr, "run is called once, from outside");
  started_ = true;
  if (tasks_.empty()) return SimOutcome{.seed = options_.seed};
  hand_over(*pick());
  const timespec second{1, 0};
  std::uint64_t last_steps = 0;
  unsigned quiet_s = 0;
  while (ended_.load(std::memory_order_acquire) == 0) {
    futex_wait(ended_, 0, &second);
    const std::uint64_t steps = steps_.load(std::memory_order_relaxed);
    quiet_s = steps == last_steps ? quiet_s + 1 : 0;
    last_steps = steps;
    if (options_.stuck_after_s != 0 && quiet_s > options_.stuck_after_s) abort_stuck();
  }
  return outcome_;
}

void SimScheduler::hand_over(Task& next) {
  next.token.store(1, std::memory_order_release);  // pairs with the exchange of the thread that waits for it
  futex_wake(next.token);
}

void SimScheduler::switch_to(Task& me, Task* next) {
  if (next == &me) return;
  ++switches_;
  hand_over(*next);
  while (me.token.exchange(0, std::memory_order_acquire) == 0) futex_wait(me.token, 0, nullptr);
}

void SimScheduler::finish(Task& me) {
  advance(Step::finish, me);
  me.state = Task::State::finished;
  std::erase(runnable_, &me);
  for (const auto& task : tasks_) {
    if (task->state == Task::State::blocked && task->joins == &me) make_runnable(*task);
  }
  // From here on the scheduler belongs to the next one.
  if (Task* next = pick_or_advance(); next != nullptr) hand_over(*next);
}

void SimScheduler::join(Task& task) {
  Task* me = self();
  if (me == nullptr) {  // outside: `run` has returned, or was never called
    if (!task.thread.joinable()) return;
    if (task.state == Task::State::finished) {
      task.thread.join();
    } else {
      task.thread.detach();
    }
    return;
  }
  step(Step::wait);
  if (task.state != Task::State::finished) {
    me->joins = &task;
    block(*me, kNever);
    me->joins = nullptr;
  }
  task.thread.join();  // it has handed the token over and only has to return
}

// ---- yield points

void SimScheduler::advance(Step kind, const Task& me) {
  const std::uint64_t steps = steps_.load(std::memory_order_relaxed) + 1;
  steps_.store(steps, std::memory_order_relaxed);
  clock_ns_ += random_.between(options_.tick_min_ns, options_.tick_max_ns);
  note(static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(me.id));
  note(clock_ns_);
  if (clock_ns_ >= next_timer_ns_) fire_timers();
  if (clock_ns_ > options_.deadline_ns) fail(SimEnding::time_limit, "the virtual time limit has passed");
  if (steps > options_.step_limit) fail(SimEnding::step_limit, "too many steps; somebody spins");
}

void SimScheduler::step(Step kind) {
  Task* me = self();
  if (me == nullptr) return;
  advance(kind, *me);
  if (options_.stall_probability > 0 && random_.chance(options_.stall_probability)) {
    return block(*me, clock_ns_ + random_.between(1, options_.stall_max_ns));
  }
  if (kind == Step::yield || random_.chance(options_.switch_probability)) switch_to(*me, pick());
}

std::uint64_t SimScheduler::now_ns() {
  step(Step::now);
  return clock_ns_;
}

void SimScheduler::wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns) {
  step(Step::wait);
  if (word.load(std::memory_order_seq_cst) != seen) return;
  if (random_.chance(options_.early_return_probability)) return;
  Task* me = self();
  GRAPNEL_CHECK(me != nullptr, "a thread outside the simulated world waits in it");
  me->word = &word;
  me->seen = seen;
  block(*me, timeout_ns > kNever - clock_ns_ ? kNever : clock_ns_ + timeout_ns);
  me->word = nullptr;
}

void SimScheduler::wake(Word& word) {
  for (const auto& task : tasks_) {
    if (task->state == Task::State::blocked && task->word == &word) make_runnable(*task);
  }
  step(Step::wake);
}

SimScheduler* SimScheduler::current() { return current_scheduler; }

void SimScheduler::wait_for_lock(const void* lock, unsigned attempt) {
  step(Step::wait);
  Task* me = self();
  me->lock = lock;
  // No wake-up when it is free. Longer and longer, so that a deadlock reaches the time limit and not the step limit.
  block(*me, clock_ns_ + (base::kMicrosecond_ns << std::min(attempt, 13U)));
  me->lock = nullptr;
}

void SimScheduler::make_runnable(Task& task) {
  task.state = Task::State::runnable;
  task.since_ns = clock_ns_;
  task.until_ns = kNever;  // next_timer_ns_ may now be too early, which costs one look and no mistake
  runnable_.push_back(&task);
}

void SimScheduler::make_blocked(Task& task, std::uint64_t until_ns) {
  task.state = Task::State::blocked;
  task.since_ns = clock_ns_;
  task.until_ns = until_ns;
  next_timer_ns_ = std::min(next_timer_ns_, until_ns);
  std::erase(runnable_, &task);
}

void SimScheduler::block(Task& me, std::uint64_t until_ns) {
  make_blocked(me, until_ns);
  switch_to(me, pick_or_advance());
}

void SimScheduler::fire_timers() {
  next_timer_ns_ = kNever;
  for (const auto& task : tasks_) {
    if (task->state != Task::State::blocked) continue;
    if (task->until_ns <= clock_ns_) {
      make_runnable(*task);
    } else {
      next_timer_ns_ = std::min(next_timer_ns_, task->until_ns);
    }
  }
}

SimScheduler::Task* SimScheduler::pick() { return runnable_[random_.below(runnable_.size())]; }

// The next to run, after the clock jumped as far as it must; null when all have finished.
SimScheduler::Task* SimScheduler::pick_or_advance() {
  while (runnable_.empty()) {
    fire_timers();  // also forgets the timers of tasks that were woken or stopped by now
    if (!runnable_.empty()) break;
    if (next_timer_ns_ == kNever) {
      const bool waiting = std::any_of(tasks_.begin(), tasks_.end(),
                                       [](const auto& task) { return task->state == Task::State::blocked; });
      if (waiting) fail(SimEnding::deadlock, "no thread can run and no timer is set");
      end(SimEnding::finished, {});
      return nullptr;
    }
    if (next_timer_ns_ > options_.deadline_ns) fail(SimEnding::time_limit, "the virtual time limit has passed");
    clock_ns_ = next_timer_ns_;
  }
  return pick();
}

}  // namespace grapnel::os
