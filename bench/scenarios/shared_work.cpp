// SPDX-License-Identifier: Apache-2.0
#include "scenarios/shared_work.hpp"

#include <random>

#include "pairs.hpp"

namespace grapnel::bench {
namespace {

constexpr int kRounds = 1600;  ///< of all ranks together
constexpr int kPhases = 8;     ///< a barrier ends each
constexpr std::size_t kBlockBytes = 1024;

std::vector<Rank> ranks_elsewhere(const Runtime& g) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < g.size(); ++rank) {
    if (!g.same_node(Rank{rank})) ranks.push_back(Rank{rank});
  }
  return ranks;
}

double compute(double x) {
  for (int i = 0; i < 2000; ++i) x = x * 0.999 + 0.001;
  return x;
}

}  // namespace

std::uint64_t do_share(Session& s) {
  const std::vector<Rank> targets = ranks_elsewhere(s.g);
  std::mt19937 random(static_cast<unsigned>(index(s.g.rank())));
  std::byte block[kBlockBytes] = {};
  volatile double result = 1;
  std::uint64_t word = 0;
  must(s.g.barrier());
  const std::uint64_t begin_ns = now_ns();
  for (int phase = 0; phase < kPhases; ++phase) {
    for (int round = 0; round < kRounds / kPhases / s.g.size(); ++round) {
      const Rank target = targets[random() % targets.size()];
      auto* const remote = static_cast<std::byte*>(s.memory.on(target));
      must(s.g.get(remote, &word, sizeof word, target));
      must(s.g.put(block, remote + 64, sizeof block, target));
      must(s.g.fetch_and_add(remote, 1, Width::bits64, target).status());
      result = compute(result);
    }
    must(s.g.barrier());
  }
  return now_ns() - begin_ns;
}

}  // namespace grapnel::bench
