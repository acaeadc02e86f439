// Ranks that hang, each in its way, or work, or crash: what the tests of reports look at.
//
//   hang | work SECONDS | crash RANK | nest PROGRAM ARGUMENTS...
//
// `hang`: rank 0 holds a lock and sleeps, rank 1 waits for it, rank 2 for a notification, the others at the barrier.
// `nest`: likewise, and rank 0 starts the program. `work`: puts and locks for so long; "right" if no increment is lost.
// Each prints "ready RANK PID" when it begins.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "grapnel/runtime.hpp"

using grapnel::Rank;
using grapnel::Runtime;

extern "C" [[gnu::noinline]] void the_function_that_crashes(volatile int* nowhere) { *nowhere = 1; }

namespace {

int hang(Runtime& g, std::size_t me) {
  if (me == 0) {
    if (!g.lock(0, Rank{0}).ok()) return 1;
    for (;;) ::pause();
  }
  ::usleep(50'000);
  if (me == 1) return g.lock(0, Rank{0}).ok() ? 0 : 1;
  if (me == 2) return g.wait_notify(Rank{0}).ok() ? 0 : 1;
  return g.barrier().ok() ? 0 : 1;
}

int work(Runtime& g, const grapnel::Memory& memory, double seconds) {
  auto* const counter = static_cast<std::int64_t*>(memory.on(Rank{0}));
  std::int64_t added = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    std::int64_t value = 0;
    if (!g.lock(0, Rank{0}).ok() || !g.get(counter, &value, sizeof value, Rank{0}).ok()) return 1;
    ++value;
    if (!g.put(&value, counter, sizeof value, Rank{0}).ok() || !g.fence(Rank{0}).ok()) return 1;
    if (!g.unlock(0, Rank{0}).ok()) return 1;
    ++added;
  }
  if (!g.fetch_and_add(counter + 1, added, grapnel::Width::bits64, Rank{0}).ok() || !g.barrier().ok()) return 1;
  const auto* const mine = static_cast<const std::int64_t*>(memory.local());
  if (grapnel::index(g.rank()) == 0) std::printf("%s\n", mine[0] == mine[1] && mine[0] > 0 ? "right" : "wrong");
  return g.finish().ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string how = argv[1];
  auto started = Runtime::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  Runtime& g = **started;
  const auto memory = g.allocate(64);
  if (!memory || !g.create_locks(1).ok() || !g.barrier().ok()) return 1;
  const std::size_t me = grapnel::index(g.rank());
  std::printf("ready %zu %d\n", me, static_cast<int>(::getpid()));
  std::fflush(stdout);
  if (how == "work") return work(g, *memory, std::atof(argv[2]));
  if (how == "crash" && me == static_cast<std::size_t>(std::atoi(argv[2]))) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    the_function_that_crashes(nullptr);
  }
  if (how == "nest" && me == 0 && ::fork() == 0) {
    ::execvp(argv[2], argv + 2);
    ::_exit(127);
  }
  return hang(g, how == "crash" ? 3 : me);
}
