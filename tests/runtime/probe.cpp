// A rank that stays busy in some way until it is ended, or starts and ends: what the kill tests kill.
//
//   runtime_probe stay HOW | leave | abandon
//
// `abandon`: rank 0 ends well without leaving the job, and the others wait for it at a barrier.
// It prints "ready RANK PID" when it has begun. Calls that fail because another rank died are left to the launcher's
// message; the rank then waits to be ended.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "grapnel/runtime.hpp"

namespace {

using grapnel::Rank;
using grapnel::Runtime;
using grapnel::Status;

Rank neighbour(const Runtime& g) { return Rank{(static_cast<int>(grapnel::index(g.rank())) + 1) % g.size()}; }

Rank previous(const Runtime& g) { return Rank{(static_cast<int>(grapnel::index(g.rank())) + g.size() - 1) % g.size()}; }

// One round of what this rank does; a failure ends the rounds.
Status one_round(Runtime& g, const std::string& how, const grapnel::Memory& memory, std::vector<std::byte>& block);

// Something else each time, with another rank each time, so that connections are made while others carry traffic.
Status mixed_round(Runtime& g, const grapnel::Memory& memory, std::vector<std::byte>& block) {
  static std::minstd_rand dice(static_cast<unsigned>(grapnel::index(g.rank())) + 1);
  const Rank peer{static_cast<int>(dice() % static_cast<unsigned>(g.size()))};
  const std::size_t bytes = dice() % 3 == 0 ? block.size() : 8 + dice() % 4096;
  switch (dice() % 6) {
    case 0: return g.put(block.data(), memory.on(peer), bytes, peer);
    case 1: return g.get(memory.on(peer), block.data(), bytes, peer);
    case 2: return g.fetch_and_add(memory.on(peer), 1, grapnel::Width::bits64, peer).status();
    case 3: return one_round(g, "accumulate", memory, block);
    case 4: return one_round(g, "lock", memory, block);
    default: return g.fence_all();
  }
}

Status one_round(Runtime& g, const std::string& how, const grapnel::Memory& memory, std::vector<std::byte>& block) {
  const Rank next = neighbour(g);
  if (how == "mix") return mixed_round(g, memory, block);
  if (how == "barrier") return g.barrier();
  if (how == "put") return g.put(block.data(), memory.on(next), block.size(), next);
  if (how == "get") return g.get(memory.on(next), block.data(), block.size(), next);
  if (how == "atomic") return g.fetch_and_add(memory.on(Rank{0}), 1, grapnel::Width::bits64, Rank{0}).status();
  if (how == "accumulate") {
    const Status added =
        g.accumulate(grapnel::ElementType::float64, nullptr, block.data(), memory.on(Rank{0}), block.size(), Rank{0});
    return added.ok() ? g.fence_all() : added;
  }
  if (how == "lock") {
    const Status locked = g.lock(0, Rank{0});
    return locked.ok() ? g.unlock(0, Rank{0}) : locked;
  }
  if (how == "allocate") {
    const auto more = g.allocate(4096);
    return more ? g.free(*more) : more.status();
  }
  if (how == "group") {  // the even ranks, the odd ones
    std::vector<Rank> alike;
    for (int rank = static_cast<int>(grapnel::index(g.rank())) % 2; rank < g.size(); rank += 2)
      alike.push_back(Rank{rank});
    const auto group = g.make_group(alike);
    const auto more = g.allocate(*group, 4096);
    return more ? g.free(*group, *more) : more.status();
  }
  if (how == "notify") {
    const Status told = g.notify(next);
    return told.ok() ? g.wait_notify(previous(g)).status() : told;
  }
  if (how == "signal") {
    return g.put_and_signal(block.data(), memory.on(next), block.size() / 2, memory.on(next), 1, next);
  }
  if (how == "sleep") {
    ::sleep(1);
    return {};
  }
  volatile double sink = 0;
  for (int i = 0; i < 1000000; ++i) sink = i;
  return {};  // compute
}

}  // namespace

int main(int argc, char** argv) {
  const bool stays = argc == 3 && std::strcmp(argv[1], "stay") == 0;
  const bool abandons = argc == 2 && std::strcmp(argv[1], "abandon") == 0;
  if (!stays && !abandons && (argc != 2 || std::strcmp(argv[1], "leave") != 0)) {
    std::fprintf(stderr, "usage: runtime_probe stay HOW | leave | abandon\n");
    return 2;
  }
  auto started = Runtime::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  Runtime& g = **started;
  std::vector<std::byte> block(256 * 1024);
  auto memory = g.allocate(block.size());
  if (!memory || !g.create_locks(1).ok() || !g.barrier().ok()) return 1;
  std::printf("ready %zu %d\n", grapnel::index(g.rank()), static_cast<int>(::getpid()));
  std::fflush(stdout);
  if (abandons) return grapnel::index(g.rank()) == 0 || g.barrier().ok() ? 0 : 1;
  if (!stays) return g.finish().ok() ? 0 : 1;
  while (one_round(g, argv[2], *memory, block).ok()) {
  }
  for (;;) ::pause();
}
