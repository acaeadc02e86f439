// Operations between two ranks of one node, against what the bare machine takes for the same on the same memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "limits/local.h"
#include "pairs.hpp"
#include "session.hpp"

namespace grapnel::bench {
namespace {

// A batch takes microseconds: many pairs cost nothing and make the p99 one.
Plan plan_of(const Session& s, long operations) { return {s.effort.pairs * 9, operations, operations / 10 + 1}; }

Measurement put_8(Session& s) {
  alignas(64) std::uint64_t source = 7;
  void* const remote = s.remote();
  const Side limit{[&](long count) { limit_copy_8(remote, &source, count); }};
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) must(s.g.put(&source, remote, sizeof source, Session::kTarget));
  }};
  return latency(measure_batches(plan_of(s, 400), limit, ours), Compare::difference, "ns");
}

Measurement get_8(Session& s) {
  alignas(64) std::uint64_t destination = 0;
  const void* const remote = s.remote();
  const Side limit{[&](long count) { limit_copy_8(&destination, remote, count); }};
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) must(s.g.get(remote, &destination, sizeof destination, Session::kTarget));
  }};
  return latency(measure_batches(plan_of(s, 400), limit, ours), Compare::difference, "ns");
}

Measurement fetch_and_add(Session& s) {
  auto* const word = reinterpret_cast<std::int64_t*>(s.remote());
  volatile std::int64_t sum = 0;  // the old values are needed
  const Side limit{[&](long count) { sum = limit_fetch_and_add(word, count); }};
  const Side ours{[&](long count) {
    std::int64_t old = 0;
    for (long i = 0; i < count; ++i) {
      const auto before = s.g.fetch_and_add(word, 1, Width::bits64, Session::kTarget);
      if (!before.ok()) fail(before.status());
      old += before.value();
    }
    sum = old;
  }};
  return latency(measure_batches(plan_of(s, 400), limit, ours), Compare::difference, "ns");
}

Measurement strided(Session& s) {
  constexpr std::size_t kRowBytes = 512, kRows = 64, kLocalStride = 1024, kRemoteStride = 2048;
  const PageBuffer local(kRows * kLocalStride);
  const Strided local_shape{.levels = 1, .count = {kRowBytes, kRows}, .stride = {kLocalStride}};
  const Strided remote_shape{.levels = 1, .count = {kRowBytes, kRows}, .stride = {kRemoteStride}};
  std::vector<std::function<void()>> ways;
  const limit_rows* const methods = limit_row_copies();
  for (const limit_rows* method = methods; method->copy != nullptr; ++method) {
    ways.emplace_back([&s, &local, method] {
      for (int i = 0; i < 20; ++i) {
        method->copy(s.remote(), kRemoteStride, local.at(0), kLocalStride, kRowBytes, kRows);
      }
    });
  }
  const Fastest found = fastest(ways, 31);
  const limit_rows& best = methods[found.way];
  const Side limit{[&](long count) {
    for (long i = 0; i < count; ++i) {
      best.copy(s.remote(), kRemoteStride, local.at(0), kLocalStride, kRowBytes, kRows);
    }
  }};
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) {
      must(s.g.put(local.at(0), local_shape, s.remote(), remote_shape, Session::kTarget));
    }
  }};
  Measurement m = bandwidth(measure_batches(plan_of(s, 20), limit, ours), kRowBytes * kRows);
  m.note = best.name;
  return m;
}

Measurement accumulate(Session& s) {
  constexpr std::size_t kBytes = 4096, kCount = kBytes / sizeof(double);
  const PageBuffer buffer(kBytes);
  auto* const x = reinterpret_cast<double*>(buffer.at(0));
  auto* const y = reinterpret_cast<double*>(s.remote());
  std::fill(x, x + kCount, 1.0);
  std::fill(y, y + kCount, 1.0);
  const double scale = 1e-9;
  std::vector<std::function<void()>> ways;
  const limit_axpy* const methods = limit_axpys();
  for (const limit_axpy* method = methods; method->axpy != nullptr; ++method) {
    ways.emplace_back([=] {
      for (int i = 0; i < 100; ++i) method->axpy(y, x, scale, kCount);
    });
  }
  const Fastest found = fastest(ways, 31);
  const limit_axpy& best = methods[found.way];
  const Side limit{[&](long count) {
    for (long i = 0; i < count; ++i) best.axpy(y, x, scale, kCount);
  }};
  const Side ours{[&](long count) {
    for (long i = 0; i < count; ++i) {
      must(s.g.accumulate(ElementType::float64, &scale, x, y, kBytes, Session::kTarget));
    }
  }};
  Measurement m = latency(measure_batches(plan_of(s, 100), limit, ours), Compare::difference, "ns");
  m.note = best.name;
  return m;
}

}  // namespace

std::vector<Task> same_node_tasks() {
  return {{"same_node/put/8B/latency", put_8},
          {"same_node/get/8B/latency", get_8},
          {"same_node/fetch_and_add/latency", fetch_and_add},
          {"same_node/put/strided_64x512B", strided},
          {"same_node/accumulate/4KiB/latency", accumulate}};
}

}  // namespace grapnel::bench
