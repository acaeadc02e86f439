// SPDX-License-Identifier: Apache-2.0
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

// What is left of a run without its first node, in even parts.
std::vector<Run> children_of(const Run& run) {
  const std::uint32_t others = run.end - run.first - 1;
  const std::uint32_t parts = std::min(others, kGatherFanout);
  std::vector<Run> children;
  std::uint32_t first = run.first + 1;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t end = first + others / parts + (part < others % parts ? 1 : 0);
    children.push_back({first, end});
    first = end;
  }
  return children;
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

GatherPlace gather_place(std::uint32_t nodes, std::uint32_t me) {
  GatherPlace place{.mine = {0, nodes}, .children = children_of({0, nodes})};
  while (place.mine.first != me) {
    const auto holds_me = [me](const Run& run) { return run.first <= me && me < run.end; };
    const Run run = *std::find_if(place.children.begin(), place.children.end(), holds_me);
    place = {.root = false, .parent = place.mine.first, .mine = run, .children = children_of(run)};
  }
  return place;
}

std::uint32_t levels_of_gather(std::uint32_t nodes) {
  std::uint32_t levels = 0;
  // The first child's run is the longest.
  for (std::uint32_t run = nodes; run > 1; run = (run - 1 + kGatherFanout - 1) / kGatherFanout) ++levels;
  return levels;
}

}  // namespace grapnel::sync
