#include "sync/barrier/schedule.hpp"

#include <algorithm>

namespace grapnel::sync {
namespace {

std::vector<std::uint32_t> digits_of(std::uint32_t number, std::uint32_t base) {
  std::vector<std::uint32_t> digits;
  for (; number > 0; number /= base) digits.push_back(number % base);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::vector<DisseminationRound> dissemination(std::uint32_t nodes, std::uint32_t fanout) {
  std::vector<DisseminationRound> rounds;
  std::uint32_t m = 0;
  for (const std::uint32_t b : digits_of(nodes - 1, fanout)) {
    DisseminationRound round;
    round.own_large = b > 0;
    std::uint32_t offset = b > 0 ? m + 1 : m;  // behind the node's own run
    for (std::uint32_t run = 1; run + 1 < fanout; ++run) {
      const bool large = run < b;
      if (large || m > 0) round.parts.push_back({offset, !large, large, false});
      offset += large ? m + 1 : m;
    }
    round.parts.push_back({offset, m > 0, true, true});
    m = fanout * m + b;
    rounds.push_back(std::move(round));
  }
  // Only the large sum is wanted in the end.
  if (!rounds.empty()) rounds.back().parts.back().small = false;
  return rounds;
}

std::vector<std::uint32_t> reduce_scatter(std::uint32_t nodes) {
  std::vector<std::uint32_t> distances;
  for (std::uint32_t distance = 1; distance < nodes; distance *= 2) distances.push_back(distance);
  std::reverse(distances.begin(), distances.end());
  return distances;
}

}  // namespace grapnel::sync
