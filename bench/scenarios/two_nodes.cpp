// Operations between two virtual nodes, against bare active messages of UCX between the same two processes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "limits/raw_ucx.h"
#include "scenarios/operations.hpp"

namespace grapnel::bench {
namespace {

constexpr std::size_t kMiB = 1 << 20;

Plan latency_plan(const Session& s) { return {s.effort.pairs * 3, s.effort.quick ? 30 : 60, 20}; }

// The raw server spins while it is measured and is parked while ours is.
Side raw_side(Session& s, std::uint32_t number, std::function<void()> operation) {
  Side side;
  side.run = [operation = std::move(operation)](long count) {
    for (long i = 0; i < count; ++i) operation();
  };
  side.before = [&s, number] { s.board.raw_phase(number); };
  side.after = [&s] { s.board.raw_phase(0); };
  return side;
}

Side raw_round_trip(Session& s) {
  return raw_side(s, 1, [raw = s.raw[0]] { raw_ucx_round_trip(raw); });
}

Measurement against_round_trip(Session& s, Side (*operation)(Session&, Operands&)) {
  Operands operands;
  return latency(measure_operations(latency_plan(s), raw_round_trip(s), operation(s, operands)), Compare::ratio, "us");
}

Measurement strided(Session& s) {
  Operands operands;
  return latency(measure_operations(latency_plan(s), put_fence_contiguous(s, operands), put_fence_strided(s, operands)),
                 Compare::ratio, "us");
}

// ---- bandwidth: two blocks of 1 MiB under way together, on both sides, until both have arrived. Short, because a
// batch counts with its median: a longer stream would hardly ever pass undisturbed where the processors have other
// work. ----

constexpr long kBlocks = 2;

struct RawWay {
  const char* name;
  std::uint32_t number;  ///< of the instance
  std::size_t piece;
  bool eager;
};

constexpr RawWay kRawWays[] = {{"rendezvous", 1, kMiB, false},
                               {"1 MiB", 1, kMiB, true},
                               {"64 KiB", 1, kMiB / 16, true},
                               {"rendezvous, large segments", 2, kMiB, false},
                               {"1 MiB, large segments", 2, kMiB, true},
                               {"128 KiB, large segments", 2, kMiB / 8, true},
                               {"64 KiB, large segments", 2, kMiB / 16, true}};

using RawTransfer = void (*)(Session& s, const RawWay& way, const std::byte* source, std::size_t bytes);

void raw_put(Session& s, const RawWay& way, const std::byte* source, std::size_t bytes) {
  raw_ucx_send(s.raw[way.number - 1], source, bytes, way.piece, way.eager ? 1 : 0);
}
void raw_get(Session& s, const RawWay& way, const std::byte*, std::size_t bytes) {
  raw_ucx_fetch(s.raw[way.number - 1], bytes, way.piece, way.eager ? 1 : 0);
}

Measurement wire_bandwidth(Session& s, RawTransfer raw, const std::function<void(std::byte*)>& transfer) {
  constexpr std::size_t kBytes = kBlocks * kMiB;
  const PageBuffer local(kMiB);
  std::vector<std::function<void()>> ways;
  for (const RawWay& way : kRawWays) {
    ways.emplace_back([&s, &way, &local, raw] {
      s.board.raw_phase(way.number);
      raw(s, way, local.at(0), kBytes);
    });
  }
  const Fastest found = fastest(ways, s.effort.quick ? 15 : 31);
  const RawWay& best = kRawWays[found.way];
  s.board.raw_phase(0);
  const Side limit = raw_side(s, best.number, [&] { raw(s, best, local.at(0), kBytes); });
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) transfer(local.at(0));
  }};
  // Warm: what slept while the other side was measured is awake, and its connection is as fast as it gets.
  Samples samples = measure_operations({s.effort.pairs, 5, 8}, limit, ours);
  samples.least_limit = std::min(samples.least_limit, found.least_ns);
  Measurement m = bandwidth(samples, kBytes);
  m.note = best.name;
  return m;
}

Measurement put_bandwidth(Session& s) {
  return wire_bandwidth(s, raw_put, [&](std::byte* local) {
    // To two places: of two that go to the same one, the second has to wait until the first has landed.
    for (std::size_t i = 0; i < kBlocks; ++i) {
      must(s.g.start_put(local, s.remote() + i * kMiB, kMiB, Session::kTarget));
    }
    must(s.g.wait_implicit());
    must(s.g.fence(Session::kTarget));
  });
}

Measurement get_bandwidth(Session& s) {
  return wire_bandwidth(s, raw_get, [&](std::byte* local) {
    for (long i = 0; i < kBlocks; ++i) must(s.g.start_get(s.remote(), local, kMiB, Session::kTarget));
    must(s.g.wait_implicit());
  });
}

}  // namespace

std::vector<Task> two_nodes_tasks() {
  return {{"two_nodes/get/8B/latency", [](Session& s) { return against_round_trip(s, get_8); }},
          {"two_nodes/fetch_and_add/latency", [](Session& s) { return against_round_trip(s, fetch_and_add); }},
          {"two_nodes/put_fence/8B/latency", [](Session& s) { return against_round_trip(s, put_fence_8); }},
          {"two_nodes/put/strided_64x512B", strided}};
}

std::vector<Task> two_nodes_stream_tasks() {
  return {{"two_nodes/put/1MiB/bandwidth", put_bandwidth}, {"two_nodes/get/1MiB/bandwidth", get_bandwidth}};
}

}  // namespace grapnel::bench
