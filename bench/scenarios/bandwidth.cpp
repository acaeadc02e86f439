// Puts of blocks inside a node, at offsets of both sides from a page, against the best copy for that size and those
// offsets.
//
// Limit and ours copy between the same two places, so that pages and caches are the same to both.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "limits/local.h"
#include "pairs.hpp"
#include "session.hpp"

namespace grapnel::bench {
namespace {

constexpr std::array<std::size_t, 8> kOffsets = {0, 1, 8, 15, 16, 63, 64, 4095};

struct Block {
  const char* name;
  std::size_t bytes;
  long operations;  ///< in a batch
};
// After a copy around the caches it takes this many through them until the destination is back in the last one, which
// is filled only with what the second one drops: 12, 15, 17, 19, 19 GB/s with 8 MiB on Zen 3.
constexpr long kWarm = 5;
constexpr Block kNear[] = {{"8KiB", 8 << 10, 200}};
constexpr Block kFar[] = {{"1MiB", 1 << 20, 4}, {"8MiB", 8 << 20, 8}};

struct Offsets {
  std::size_t destination, source;
  auto operator<=>(const Offsets&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes the 0 for one
};

Measurement measure(Session& s, const Block& block, Offsets offsets) {
  const PageBuffer local(block.bytes + 4096);
  const std::byte* const source = local.at(offsets.source);
  std::byte* const remote = s.remote() + offsets.destination;
  const limit_copy* const methods = limit_copies();
  const long at_once = std::max(block.operations, kWarm);
  std::vector<std::function<void()>> ways;
  for (const limit_copy* method = methods; method->copy != nullptr; ++method) {
    ways.emplace_back([=] {
      for (long i = 0; i < at_once; ++i) method->copy(remote, source, block.bytes);
    });
  }
  const Fastest found = fastest(ways, s.effort.quick ? 5 : 11);
  const limit_copy& best = methods[found.way];
  const Side limit{[&](long count) {
    for (long i = 0; i < count; ++i) best.copy(remote, source, block.bytes);
  }};
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) must(s.g.put(source, remote, block.bytes, Session::kTarget));
  }};
  // Copies before each batch: what the other side left in the caches must not count.
  Samples samples = measure_batches({s.effort.pairs, block.operations, kWarm}, limit, ours);
  samples.least_limit = std::min(samples.least_limit, found.least_ns / static_cast<double>(at_once));
  Measurement m = bandwidth(samples, block.bytes);
  m.note = best.name;
  return m;
}

// Each offset on one side with 0 on the other, and on both.
std::set<Offsets> pairs_of_offsets() {
  std::set<Offsets> all;
  for (const std::size_t offset : kOffsets) all.insert({{offset, 0}, {0, offset}, {offset, offset}});
  return all;
}

std::vector<Task> tasks_of(std::span<const Block> blocks) {
  std::vector<Task> tasks;
  for (const Block& block : blocks) {
    for (const Offsets offsets : pairs_of_offsets()) {
      tasks.push_back(
          {fmt::format("same_node/put/{}/offset_{}_{}/bandwidth", block.name, offsets.destination, offsets.source),
           [&block, offsets](Session& s) { return measure(s, block, offsets); }});
    }
  }
  return tasks;
}

}  // namespace

std::vector<Task> near_bandwidth_tasks() { return tasks_of(kNear); }
std::vector<Task> far_bandwidth_tasks() { return tasks_of(kFar); }

}  // namespace grapnel::bench
