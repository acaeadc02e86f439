// Every process writes its record to shared memory; process 0 adds them up.
// SPDX-License-Identifier: Apache-2.0
#include "common/meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "common/shared.hpp"

namespace app {

namespace {

double processor_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Seconds* records = nullptr;  ///< by process, in shared memory; a global so that Tmk_distribute can find it

/// A line of the table, for one part of the time.
std::string line(const char* name, double (*part)(const Seconds&)) {
  double sum = 0;
  double most = 0;
  for (unsigned process = 0; process < Tmk_nprocs; ++process) {
    sum += part(records[process]);
    most = std::max(most, part(records[process]));
  }
  return fmt::format("  {:<10}{:>12.6f}{:>12.6f}\n", name, sum / Tmk_nprocs, most);
}

}  // namespace

void Meter::start() {
  Tmk_barrier(kStart);
  seconds_ = {};
  thread_started_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
  process_started_ = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
  started_ = std::chrono::steady_clock::now();
}

void Meter::stop() {
  barrier(kStop);
  seconds_.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  const double thread = processor_seconds(CLOCK_THREAD_CPUTIME_ID) - thread_started_;
  const double process = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - process_started_;
  seconds_.idle = std::max(0.0, seconds_.wall - thread);
  seconds_.server = std::max(0.0, process - thread);
}

void Meter::barrier(unsigned number) {
  seconds_.barrier += seconds_of([&] { Tmk_barrier(number); });
}

void Meter::acquire(unsigned lock) {
  seconds_.lock += seconds_of([&] { Tmk_lock_acquire(lock); });
}

void Meter::release(unsigned lock) {
  seconds_.lock += seconds_of([&] { Tmk_lock_release(lock); });
}

std::string time_table(const Seconds& mine) {
  distribute(records, [] { return allocate<Seconds>(Tmk_nprocs); });
  if (records == nullptr) return "no shared memory is left for the table of times\n";
  records[Tmk_proc_id] = mine;
  Tmk_barrier(kGathered);
  if (Tmk_proc_id != 0) return {};
  std::string text = fmt::format("seconds     {:>12}{:>12}    of {} processes\n", "mean", "most", Tmk_nprocs);
  text += line("wall", [](const Seconds& seconds) { return seconds.wall; });
  text += line("compute", [](const Seconds& seconds) { return seconds.compute(); });
  text += line("lock", [](const Seconds& seconds) { return seconds.lock; });
  text += line("barrier", [](const Seconds& seconds) { return seconds.barrier; });
  text += line("idle", [](const Seconds& seconds) { return seconds.idle; });
  text += line("server", [](const Seconds& seconds) { return seconds.server; });
  Tmk_free(records);
  return text;
}

}  // namespace app
