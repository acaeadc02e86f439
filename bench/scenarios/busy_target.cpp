// What a computing target costs the others, what serving them costs the target, and what a server costs that no rank
// asks.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "scenarios/operations.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kMillisecond_ns = 1'000'000;

void rest(std::uint64_t duration_ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns)); }

// The limit is the same operation while the target sleeps.
Measurement against_idle(Session& s, Side (*operation)(Session&, Operands&)) {
  Operands operands;
  Side idle = operation(s, operands);
  idle.before = [&s] { s.board.ask(Command::rest); };
  Side busy = operation(s, operands);
  busy.before = [&s] {
    s.board.ask(Command::compute);
    rest(kMillisecond_ns);  // the computation is well under way, its credit for having slept is used up
  };
  const Plan plan{s.effort.pairs, s.effort.quick ? 100 : 300, 20};
  Measurement m = latency(measure_operations(plan, idle, busy), Compare::ratio, "us");
  s.board.ask(Command::rest);
  return m;
}

// Rank 0 keeps its core busy all the time, as a program would: the target's server finds no idle core to run on.
double work_with_requests_ns(Session& s, Operands& operands, bool requests) {
  const std::uint32_t seen = s.board.issue(Command::work);
  const Side get = get_8(s, operands);
  std::uint64_t next_ns = now_ns();
  while (s.board.page().done.load(std::memory_order_acquire) != seen) {
    if (requests) get.run(1);
    next_ns += kMillisecond_ns;
    while (now_ns() < next_ns && s.board.page().done.load(std::memory_order_acquire) != seen) {
    }
  }
  return static_cast<double>(s.board.result());
}

Measurement computation_loss(Session& s) {
  Operands operands;
  Samples samples;
  for (int i = 0; i < s.effort.pairs; ++i) {
    const double alone_ns = work_with_requests_ns(s, operands, false);
    samples.add({alone_ns, work_with_requests_ns(s, operands, true)});
  }
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  Measurement m{.name = {}, .unit = "%"};
  m.value = 100 * (middle.ours / middle.limit - 1);
  m.runs = static_cast<int>(samples.pairs.size());
  // Single percents count here: another process that takes the target's core must be noticed sooner.
  m.disturbed = middle.limit > 1.1 * samples.least_limit;
  return m;
}

// All threads of the process count, in both ranks; the worse one is reported.
Measurement idle_server(Session& s) {
  const std::uint64_t duration_ns = (s.effort.quick ? 2000 : 4000) * kMillisecond_ns;
  rest(10 * kMillisecond_ns);
  const std::uint64_t target_before_ns = s.board.ask(Command::cpu_time);
  const std::uint64_t mine_before_ns = processor_time_ns();
  const std::uint64_t begin_ns = now_ns();
  rest(duration_ns);
  const std::uint64_t mine_ns = processor_time_ns() - mine_before_ns;
  const std::uint64_t passed_ns = now_ns() - begin_ns;
  const std::uint64_t target_ns = s.board.ask(Command::cpu_time) - target_before_ns;
  Measurement m{.name = {}, .unit = "%"};
  m.value = 100 * static_cast<double>(std::max(mine_ns, target_ns)) / static_cast<double>(passed_ns);
  m.runs = 1;
  return m;
}

}  // namespace

std::vector<Task> busy_target_tasks() {
  return {{"busy_target/get/latency", [](Session& s) { return against_idle(s, get_8); }},
          {"busy_target/put_fence/latency", [](Session& s) { return against_idle(s, put_fence_8); }},
          {"busy_target/fetch_and_add/latency", [](Session& s) { return against_idle(s, fetch_and_add); }},
          {"busy_target/accumulate/latency", [](Session& s) { return against_idle(s, accumulate_fence_4k); }},
          {"busy_target/strided/latency", [](Session& s) { return against_idle(s, put_fence_strided); }},
          {"busy_target/computation_loss", computation_loss},
          {"idle_server/cpu", idle_server}};
}

}  // namespace grapnel::bench
