// PARMACS: process 0 runs the program; the others wait for functions to run.
//
//   process 0      parmacs_start ─▶ … ─▶ create: data and function ─▶ … ─▶ wait for end ─▶ … ─▶ exit
//   each other     parmacs_start: waits for a function ─▶ takes the data, runs it ─▶ waits … ─▶ exits with process 0
//
// Functions and data lie in the heap, under a lock and two conditions that the program cannot name. An id is the number
// of a lock of the heap, and the place of a row in a second block. What a row means is its owner's: a barrier counts, a
// pause is a flag, a condition keeps its lock.
// SPDX-License-Identifier: Apache-2.0
#include "grapnel/parmacs.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "api/tmk/job.hpp"
#include "api/tmk/program_data.hpp"

namespace grapnel::tmk {
namespace {

/// Followed by the program's data.
struct Snapshot {
  std::uint64_t bytes;
  std::uint32_t readers;  ///< that have not taken it

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

struct Task {
  void (*function)();  ///< null: the process waits for one
  Snapshot* snapshot;
};

/// Zero at first.
struct Control {
  std::int32_t ids;       ///< given out
  std::uint32_t is_over;  ///< process 0 has ended
  std::uint64_t program;  ///< where process 0 has loaded it
  Task tasks[TMK_NPROCS];
};

/// Of an id. Zero at first.
struct Row {
  std::uint32_t count, generation;
  std::int64_t value;
};

class Parmacs {
 public:
  void start();
  void create(void (*function)(), int processes);
  void wait_for_end();
  int new_ids(int count);
  Row& row(int id) { return rows_[id]; }
  SharedHeap& heap() { return the_job->heap; }

 private:
  // Of the conditions with the highest numbers, which no program gets as an id.
  int tasks_changed() const { return lock_; }
  int tasks_ended() const { return lock_ + 1; }
  void enter(const char* call) { must(call, heap().lock(lock_)); }
  void leave(const char* call) { must(call, heap().unlock(lock_)); }

  void open();
  [[noreturn]] void serve();
  Task await_task();
  void take(const Task& task);
  void end_task();
  static void on_exit_of_process();

  int lock_ = 0;  ///< of `control_`
  ProgramData data_;
  Control* control_ = nullptr;
  Row* rows_ = nullptr;
  bool in_task_ = false;
};

// One per process, as `the_job`.
Parmacs parmacs;

// Both blocks begin at a page. What a process prints twice was printed before this call.
void Parmacs::open() {
  lock_ = static_cast<int>(the_job->held.size());
  data_ = ProgramData::find();
  std::array<std::uintptr_t, 2> blocks{};
  if (Tmk_proc_id == 0) {
    const auto control = heap().allocate(sizeof(Control));
    must("MAIN_INITENV", control.status());
    const auto rows = heap().allocate(sizeof(Row) * the_job->held.size());
    must("MAIN_INITENV", rows.status());
    blocks = {reinterpret_cast<std::uintptr_t>(*control), reinterpret_cast<std::uintptr_t>(*rows)};
  }
  must("MAIN_INITENV", the_job->runtime->broadcast(blocks.data(), sizeof blocks, Rank{0}));
  control_ = reinterpret_cast<Control*>(blocks[0]);
  rows_ = reinterpret_cast<Row*>(blocks[1]);
  if (Tmk_proc_id == 0) control_->program = data_.address;
}

// The function that ends the job was registered by Tmk_startup, so it runs after this one.
void Parmacs::start() {
  Tmk_startup(0, nullptr);
  open();
  if (std::atexit(on_exit_of_process) != 0) stop("MAIN_INITENV: atexit takes no more functions");
  if (Tmk_proc_id != 0) serve();
}

void Parmacs::serve() {
  for (;;) {
    const Task task = await_task();
    if (task.function == nullptr) std::exit(0);
    take(task);
    task.function();
    end_task();
  }
}

Task Parmacs::await_task() {
  const Task& mine = control_->tasks[Tmk_proc_id];
  enter("CREATE");
  while (mine.function == nullptr && control_->is_over == 0) must("CREATE", heap().wait(tasks_changed(), lock_));
  const Task task = mine;
  in_task_ = task.function != nullptr;
  leave("CREATE");
  return task;
}

void Parmacs::take(const Task& task) {
  if (control_->program != data_.address || task.snapshot->bytes != data_.bytes) {
    stop(fmt::format(
        "CREATE: the program lies at {:#x} in process 0, with {} bytes of data, and at {:#x} in process {}, "
        "with {} bytes; all processes must run the same file, linked with -no-pie",
        control_->program, task.snapshot->bytes, data_.address, Tmk_proc_id, data_.bytes));
  }
  data_.copy_from(task.snapshot->data());
  enter("CREATE");
  const bool is_last = --task.snapshot->readers == 0;
  leave("CREATE");
  if (is_last) must("CREATE", heap().free(task.snapshot));
}

void Parmacs::end_task() {
  enter("WAIT_FOR_END");
  control_->tasks[Tmk_proc_id].function = nullptr;
  in_task_ = false;
  must("WAIT_FOR_END", heap().signal(tasks_ended(), lock_));
  leave("WAIT_FOR_END");
}

void Parmacs::create(void (*function)(), int processes) {
  if (Tmk_proc_id != 0) stop(fmt::format("CREATE: process {} calls it; process 0 alone may", Tmk_proc_id));
  if (processes <= 0) return;
  const auto block = heap().allocate(sizeof(Snapshot) + data_.bytes);
  must("CREATE", block.status());
  auto* const snapshot = static_cast<Snapshot*>(*block);
  *snapshot = {data_.bytes, static_cast<std::uint32_t>(processes)};
  data_.copy_to(snapshot->data());
  enter("CREATE");
  int created = 0;
  for (unsigned one = 1; one < Tmk_nprocs && created < processes; ++one) {
    Task& task = control_->tasks[one];
    if (task.function != nullptr) continue;
    task = {function, snapshot};
    ++created;
  }
  if (created < processes) {
    stop(
        fmt::format("CREATE: {} more processes, but only {} of {} are idle; start the program with more (-n of grapnel "
                    "run, mpirun or srun)",
                    processes, created, Tmk_nprocs));
  }
  must("CREATE", heap().broadcast(tasks_changed(), lock_));
  leave("CREATE");
}

void Parmacs::wait_for_end() {
  const auto runs = [&](unsigned one) { return control_->tasks[one].function != nullptr; };
  enter("WAIT_FOR_END");
  for (unsigned one = 1; one < Tmk_nprocs; ++one) {
    while (runs(one)) must("WAIT_FOR_END", heap().wait(tasks_ended(), lock_));
  }
  leave("WAIT_FOR_END");
}

int Parmacs::new_ids(int count) {
  const auto most = static_cast<std::int32_t>(the_job->held.size());
  enter("LOCKINIT");
  const std::int32_t first = control_->ids;
  if (count < 0 || count > most - first) {
    stop(fmt::format("LOCKINIT, BARINIT and the like: {} more ids, but {} of {} are given out; raise GRAPNEL_DSM_LOCKS",
                     count, first, most));
  }
  control_->ids += count;
  leave("LOCKINIT");
  return first;
}

// A process that ends in its task has done it; process 0 takes the idle ones along.
void Parmacs::on_exit_of_process() {
  if (the_job == nullptr || ::getpid() != the_job->process) return;
  if (parmacs.in_task_) parmacs.end_task();
  if (Tmk_proc_id != 0) return;
  parmacs.enter("MAIN_END");
  parmacs.control_->is_over = 1;
  must("MAIN_END", parmacs.heap().broadcast(parmacs.tasks_changed(), parmacs.lock_));
  parmacs.leave("MAIN_END");
}

/// The row of an id, for a call of a process that has started.
Row& row_of(const char* call, int id) {
  const Job& job = job_of(call);
  if (id >= 0 && static_cast<std::size_t>(id) < job.held.size()) return parmacs.row(id);
  stop(fmt::format("{}: id {} is not in 0..{}; initialize it first", call, id, job.held.size() - 1));
}

unsigned lock_of(int id) { return static_cast<unsigned>(id); }

/// Counts the caller in at a barrier, under its lock; the last of `processes` opens it, the others wait.
void meet(const char* call, Row& row, int id, int processes) {
  const std::uint32_t generation = row.generation;
  if (++row.count < static_cast<std::uint32_t>(processes)) {
    while (row.generation == generation) must(call, parmacs.heap().wait(id, id));
    return;
  }
  row.count = 0;
  ++row.generation;
  must(call, parmacs.heap().broadcast(id, id));
}

}  // namespace
}  // namespace grapnel::tmk

using namespace grapnel::tmk;

GRAPNEL_API void parmacs_start() { parmacs.start(); }

GRAPNEL_API void parmacs_create(void (*function)(), int processes) {
  static_cast<void>(job_of("CREATE"));
  parmacs.create(function, processes);
}

GRAPNEL_API void parmacs_wait_for_end() {
  static_cast<void>(job_of("WAIT_FOR_END"));
  parmacs.wait_for_end();
}

GRAPNEL_API void* parmacs_malloc(size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto block = job_of("G_MALLOC").heap.allocate(bytes);
  must("G_MALLOC", block.status());
  return *block;
}

GRAPNEL_API int parmacs_new(int ids) {
  static_cast<void>(job_of("LOCKINIT, BARINIT and the like"));
  return parmacs.new_ids(ids);
}

GRAPNEL_API void parmacs_barrier(int barrier, int processes) {
  Row& row = row_of("BARRIER", barrier);
  if (processes < 1 || static_cast<unsigned>(processes) > Tmk_nprocs) {
    stop(fmt::format("BARRIER: {} processes of {}", processes, Tmk_nprocs));
  }
  if (static_cast<unsigned>(processes) == Tmk_nprocs) {
    must("BARRIER", the_job->heap.barrier(barrier));
    must("BARRIER", the_job->distribution.take_new());
    return;
  }
  Tmk_lock_acquire(lock_of(barrier));
  meet("BARRIER", row, barrier, processes);
  Tmk_lock_release(lock_of(barrier));
}

GRAPNEL_API void parmacs_set_pause(int pause) {
  Row& row = row_of("SETPAUSE", pause);
  Tmk_lock_acquire(lock_of(pause));
  row.value = 1;
  must("SETPAUSE", the_job->heap.broadcast(pause, pause));
  Tmk_lock_release(lock_of(pause));
}

GRAPNEL_API void parmacs_clear_pause(int pause) {
  Row& row = row_of("CLEARPAUSE", pause);
  Tmk_lock_acquire(lock_of(pause));
  row.value = 0;
  Tmk_lock_release(lock_of(pause));
}

GRAPNEL_API void parmacs_wait_pause(int pause) {
  const Row& row = row_of("WAITPAUSE", pause);
  Tmk_lock_acquire(lock_of(pause));
  while (row.value == 0) must("WAITPAUSE", the_job->heap.wait(pause, pause));
  Tmk_lock_release(lock_of(pause));
}

// The row keeps 1 + the lock, for signals, which do not name it: they come under the same lock.
GRAPNEL_API void parmacs_wait(int condition, int lock) {
  row_of("CONDVARWAIT", condition).value = lock + 1;
  must("CONDVARWAIT", the_job->heap.wait(condition, lock));
  must("CONDVARWAIT", the_job->distribution.take_new());
}

GRAPNEL_API void parmacs_signal(int condition) {
  const auto lock = static_cast<int>(row_of("CONDVARSIGNAL", condition).value);
  if (lock != 0) must("CONDVARSIGNAL", the_job->heap.signal(condition, lock - 1));
}

GRAPNEL_API void parmacs_broadcast(int condition) {
  const auto lock = static_cast<int>(row_of("CONDVARBCAST", condition).value);
  if (lock != 0) must("CONDVARBCAST", the_job->heap.broadcast(condition, lock - 1));
}

GRAPNEL_API long parmacs_next(int loop, long last, int processes) {
  Row& row = row_of("GETSUB", loop);
  Tmk_lock_acquire(lock_of(loop));
  long next = -1;
  if (row.value <= last) {
    next = row.value++;
  } else {
    // The one that resets the loop is the last one to know that it is over.
    if (row.count + 1 == static_cast<std::uint32_t>(processes)) row.value = 0;
    meet("GETSUB", row, loop, processes);
  }
  Tmk_lock_release(lock_of(loop));
  return next;
}

GRAPNEL_API unsigned long parmacs_clock() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return static_cast<unsigned long>(now.tv_sec) * 1'000'000UL + static_cast<unsigned long>(now.tv_usec);
}
