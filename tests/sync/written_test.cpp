// "A barrier completes writes": every way to write, a raw request marked as a write included, under every plan of a
// barrier. The network of this simulated world takes 1 ms and sends every second message late.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "rma/messages.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

using sync::BarrierKind;

constexpr std::uint64_t kRounds = 20;
constexpr std::size_t kWords = 64;  // of a rank's place at its target
constexpr std::array kPlans = {BarrierKind::automatic, BarrierKind::serial, BarrierKind::few,   BarrierKind::clean,
                               BarrierKind::exchange,  BarrierKind::direct, BarrierKind::gather};

/// Writes `values` to `to`, on the rank `target`, whose words hold `before`. Not complete on return.
using Write = Status (*)(Runtime& g, const std::uint64_t* values, std::uint64_t before, std::uint64_t* to, Rank target);

Strided every_second() {
  Strided shape;
  shape.levels = 1;
  shape.stride[0] = 16;
  shape.count[0] = 8;
  shape.count[1] = kWords / 2;
  return shape;
}

Status put(Runtime& g, const std::uint64_t* values, std::uint64_t, std::uint64_t* to, Rank target) {
  return g.put(values, to, kWords * 8, target);
}

Status strided(Runtime& g, const std::uint64_t* values, std::uint64_t, std::uint64_t* to, Rank target) {
  const Strided shape = every_second();
  GRAPNEL_TRY(g.put(values, shape, to, shape, target));
  return g.put(values + 1, shape, to + 1, shape, target);
}

Status vector(Runtime& g, const std::uint64_t* values, std::uint64_t, std::uint64_t* to, Rank target) {
  std::array<Piece, kWords> pieces;
  for (std::size_t i = 0; i < kWords; ++i) pieces[i] = {const_cast<std::uint64_t*>(values) + i, to + i, 8};
  return g.put(pieces, target);
}

Status accumulate(Runtime& g, const std::uint64_t* values, std::uint64_t before, std::uint64_t* to, Rank target) {
  std::array<std::int64_t, kWords> more;
  for (std::size_t i = 0; i < kWords; ++i) more[i] = static_cast<std::int64_t>(values[i] - before);
  return g.accumulate(ElementType::int64, nullptr, more.data(), to, sizeof more, target);
}

Status started(Runtime& g, const std::uint64_t* values, std::uint64_t, std::uint64_t* to, Rank target) {
  GRAPNEL_TRY(g.start_put(values, to, kWords * 8, target, nullptr));
  return g.wait_implicit(target);
}

// As a layer that sends its own requests does.
Status raw(Runtime& g, const std::uint64_t* values, std::uint64_t, std::uint64_t* to, Rank target) {
  auto& parts = g.implementation();
  const NodeId node = parts.launch->nodes().node_of[index(target)];
  if (node == parts.launch->node()) return g.put(values, to, kWords * 8, target);
  const rma::ContiguousBody body{reinterpret_cast<std::uint64_t>(to), kWords * 8};
  progress::OutgoingRequest request;
  request.handler = rma::kPutHandler;
  request.body = base::bytes_of(body);
  request.payload = std::as_bytes(std::span(values, kWords));
  request.write = true;
  progress::Client::Guard guard(*parts.client);
  GRAPNEL_TRY(parts.client->send(node, request).status());
  return parts.client->drain(node);
}

/// Every rank writes to the next one, then the barrier, then looks; how many writes were missing.
void run_rounds(Runtime& g, Write write, std::atomic<int>& missing) {
  const auto memory = g.allocate(kWords * 8);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  const auto* const mine = static_cast<const std::uint64_t*>(memory->local());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::vector<std::uint64_t> values(kWords, round);
    EXPECT_OK(write(g, values.data(), round - 1, static_cast<std::uint64_t*>(memory->on(next)), next));
    EXPECT_OK(g.barrier());
    missing += std::any_of(mine, mine + kWords, [&](std::uint64_t word) { return word != round; });
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

int missing_writes(Write write, BarrierKind kind, int nodes, std::uint64_t seed) {
  sim::WorldOptions options{.ranks = nodes, .nodes = nodes};
  options.seed(seed);
  options.network.delay_ns = options.network.jitter_ns = base::kMillisecond_ns;
  options.network.stall_probability = 0.5;
  std::atomic<int> missing{0};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    foundation.config.change<sync::Settings>().barrier = kind;
    auto begun = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(begun.ok());
    run_rounds(**begun, write, missing);
    EXPECT_OK((*begun)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return missing;
}

void expect_nothing_missing(Write write) {
  for (const BarrierKind kind : kPlans) {
    for (const int nodes : {2, 5}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        EXPECT_EQ(missing_writes(write, kind, nodes, seed), 0)
            << "plan " << static_cast<int>(kind) << ", " << nodes << " nodes, seed " << seed;
      }
    }
  }
}

TEST(Written, Put) { expect_nothing_missing(put); }
TEST(Written, Strided) { expect_nothing_missing(strided); }
TEST(Written, Vector) { expect_nothing_missing(vector); }
TEST(Written, Accumulate) { expect_nothing_missing(accumulate); }
TEST(Written, StartedPut) { expect_nothing_missing(started); }
TEST(Written, RawRequest) { expect_nothing_missing(raw); }

}  // namespace
}  // namespace grapnel::test
