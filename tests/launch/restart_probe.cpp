// A program that starts the runtime several times, one after the other: restart_probe COUNT. "restarts ok RANK" at the
// end. Half of the ranks are a moment late at each end and each start, in turns, so that some are still leaving a job
// while others join the next.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "grapnel/runtime.hpp"
#include "launch/probe_parts.hpp"

int main(int, char** argv) {
  using namespace grapnel;
  const int count = std::atoi(argv[1]);
  int me = 0;
  for (int round = 0; round < count; ++round) {
    auto started = Runtime::start();
    probe::need(started.status(), fmt::format("start {}", round));
    Runtime& runtime = **started;
    me = static_cast<int>(runtime.rank());
    auto memory = runtime.allocate(64);
    probe::need(memory.status(), "allocate");
    const std::int64_t mine = 1000 * round + me;
    const auto next = static_cast<Rank>((me + 1) % runtime.size());
    probe::need(runtime.put(&mine, memory->on(next), sizeof mine, next), "put");
    probe::need(runtime.barrier(), "barrier");
    std::int64_t got = 0;
    probe::need(runtime.get(memory->on(runtime.rank()), &got, sizeof got, runtime.rank()), "get");
    probe::need(got == 1000 * round + (me + runtime.size() - 1) % runtime.size(), "what the rank before wrote");
    if ((round + me) % 2 == 0) ::usleep(300);
    probe::need(runtime.finish(), fmt::format("finish {}", round));
    if ((round / 2 + me) % 2 == 0) ::usleep(300);
  }
  probe::say_line(fmt::format("restarts ok {}", me));
  return 0;
}
