// SPDX-License-Identifier: Apache-2.0
#include "measured_job.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

namespace grapnel::fabric {
namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "grapnel-bench-fabric: %s\n", status.to_string().c_str());
  std::exit(1);
}

std::uint64_t now_ns() { return read_clock(CLOCK_REALTIME); }

std::uint64_t processor_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

void sleep_until_ns(std::uint64_t time_ns) {
  const timespec until{static_cast<time_t>(time_ns / 1'000'000'000), static_cast<long>(time_ns % 1'000'000'000)};
  while (now_ns() < time_ns) ::clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
}

void keep_threads_on(Processors which) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  std::size_t first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t wanted = allowed;
  CPU_CLR(first, &wanted);
  if (which == Processors::first) CPU_XOR(&wanted, &wanted, &allowed);
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(thread.path().filename());
    if (::sched_setaffinity(id, sizeof wanted, &wanted) != 0) {
      must({Code::system, "thread " + std::to_string(id) + " cannot be kept on a processor"});
    }
  }
}

void compute_until_ns(std::uint64_t time_ns) {
  while (now_ns() < time_ns) {
  }
}

Quartiles quartiles_of(std::vector<std::uint64_t> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t count = samples.size();
  return {samples[count / 4], samples[count / 2], samples[3 * count / 4]};
}

Span agree_on_span(Runtime& g, std::uint64_t length_ns) {
  must(g.barrier());
  const std::uint64_t begin_ns = gather(g, now_ns()).front() + 2 * kSilence_ns;
  return {begin_ns, begin_ns + length_ns};
}

Outcome take_turns(LockSet& set, int index, Rank home, const Span& span) {
  std::vector<std::uint64_t> locks, unlocks, both;
  sleep_until_ns(span.begin_ns);
  std::uint64_t released_ns = span.begin_ns;
  while (released_ns < span.end_ns) {
    const std::uint64_t start_ns = now_ns();
    must(set.lock(index, home));
    const std::uint64_t held_ns = now_ns();
    must(set.unlock(index, home));
    released_ns = now_ns();
    locks.push_back(held_ns - start_ns);
    unlocks.push_back(released_ns - held_ns);
    both.push_back(released_ns - start_ns);
  }
  Outcome outcome;
  outcome.acquisitions = both.size();
  outcome.last_ns = released_ns;
  outcome.lock = quartiles_of(std::move(locks));
  outcome.unlock = quartiles_of(std::move(unlocks));
  outcome.both = quartiles_of(std::move(both));
  return outcome;
}

std::uint64_t counted_by(const LockSet& set) {
  const LockCounts all = set.counts();
  return all.messages + all.server_messages + all.adapter_operations;
}

}  // namespace grapnel::fabric
