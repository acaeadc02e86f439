// A process that joins one job after another: what restart_test.py starts as ranks.
//
//   restarts COUNT [SEED]
//
// Each rank starts the runtime COUNT times, puts a word that names the round to the next rank, checks the word that the
// previous rank put, and finishes. With a SEED other than 0, ranks pause for up to 2 ms at random places, so that the
// first ranks of one job start while the last ones still leave the job before it.
// It prints "restarts ok RANK SIZE COUNT".
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "grapnel/runtime.hpp"

namespace {

using grapnel::Rank;
using grapnel::Runtime;
using grapnel::Status;

class Pauses {
 public:
  explicit Pauses(unsigned seed) : active_(seed != 0), dice_(seed + static_cast<unsigned>(::getpid())) {}
  void pause() {
    if (active_ && dice_() % 2 == 0) ::usleep(dice_() % 2000);
  }

 private:
  const bool active_;
  std::mt19937 dice_;
};

Status one_job(int round, Pauses& pauses, int& rank, int& size) {
  auto started = Runtime::start();
  if (!started) return started.status();
  Runtime& g = **started;
  rank = static_cast<int>(grapnel::index(g.rank()));
  size = g.size();
  pauses.pause();
  auto memory = g.allocate(sizeof(std::uint64_t));
  if (!memory) return memory.status();
  const std::uint64_t word = static_cast<std::uint64_t>(round) * 1000 + static_cast<std::uint64_t>(rank) + 1;
  const Rank next{(rank + 1) % size};
  if (const Status put = g.put(&word, memory->on(next), sizeof word, next); !put.ok()) return put;
  if (const Status all = g.barrier(); !all.ok()) return all;
  const auto previous = static_cast<std::uint64_t>((rank + size - 1) % size);
  const std::uint64_t wanted = static_cast<std::uint64_t>(round) * 1000 + previous + 1;
  const std::uint64_t here = *static_cast<const std::uint64_t*>(memory->local());
  if (here != wanted) {
    return {grapnel::Code::system, "wrong word: " + std::to_string(here) + ", not " + std::to_string(wanted)};
  }
  pauses.pause();
  return g.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 2;
  Pauses pauses(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0);
  int rank = 0;
  int size = 0;
  for (int round = 0; round < count; ++round) {
    if (const Status done = one_job(round, pauses, rank, size); !done.ok()) {
      std::fprintf(stderr, "job %d of %d, rank %d: %s\n", round + 1, count, rank, done.to_string().c_str());
      return 1;
    }
    pauses.pause();
  }
  std::printf("restarts ok %d %d %d\n", rank, size, count);
  return 0;
}
