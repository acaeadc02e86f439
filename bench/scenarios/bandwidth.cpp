// Puts of blocks inside a node, at offsets of both sides from a page, against the best copy for that size and those
// offsets.
//
// Limit and ours copy between the same two places, so that pages and caches are the same to both.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

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
constexpr Block kBlocks[] = {{"8KiB", 8 << 10, 200}, {"1MiB", 1 << 20, 4}, {"8MiB", 8 << 20, 1}};

struct Offsets {
  std::size_t destination, source;
  auto operator<=>(const Offsets&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes the 0 for one
};

Measurement measure(Session& s, const Block& block, Offsets offsets) {
  const PageBuffer local(block.bytes + 4096);
  const std::byte* const source = local.at(offsets.source);
  std::byte* const remote = s.remote() + offsets.destination;
  const limit_copy* const methods = limit_copies();
  std::vector<std::function<void()>> ways;
  for (const limit_copy* method = methods; method->copy != nullptr; ++method) {
    ways.emplace_back([=, &block] {
      for (long i = 0; i < block.operations; ++i) method->copy(remote, source, block.bytes);
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
  // One copy before each batch: what the other side left in the caches must not count.
  Samples samples = measure_batches({s.effort.pairs, block.operations, 1}, limit, ours);
  samples.least_limit = std::min(samples.least_limit, found.least_ns / static_cast<double>(block.operations));
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

}  // namespace

std::vector<Task> bandwidth_tasks() {
  std::vector<Task> tasks;
  for (const Block& block : kBlocks) {
    for (const Offsets offsets : pairs_of_offsets()) {
      tasks.push_back(
          {fmt::format("same_node/put/{}/offset_{}_{}/bandwidth", block.name, offsets.destination, offsets.source),
           [&block, offsets](Session& s) { return measure(s, block, offsets); }});
    }
  }
  return tasks;
}

}  // namespace grapnel::bench
