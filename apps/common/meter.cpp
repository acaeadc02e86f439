// Every process writes its record to shared memory; process 0 adds them up.
// SPDX-License-Identifier: Apache-2.0
#include "common/meter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/shared.hpp"

namespace app {

namespace {

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
  started_ = std::chrono::steady_clock::now();
}

void Meter::stop() {
  barrier(kStop);
  seconds_.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
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
  Tmk_free(records);
  return text;
}

}  // namespace app
