// One rank of a job over RDMA devices whose locks are measured: common times, silence around what is measured, and its
// own samples. All nodes are of one machine, so all ranks have one clock.
//
// Silence: from kSilence_ns before a span to kSilence_ns behind its last acquisition no rank sends anything but what
// the span itself does. Frames that are captured in between therefore belong to it.
// Threads: one. Collective: those that say so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "grapnel/runtime.hpp"

namespace grapnel::fabric {

inline constexpr std::uint64_t kSilence_ns = 200'000'000;

/// Ends the job with the status' text, unless it is ok.
void must(const Status& status);

/// The real-time clock: that of the kernel's stamps on captured frames.
std::uint64_t now_ns();
void sleep_until_ns(std::uint64_t time_ns);

/// Keeps all threads of this process, and those that they start, on the first processor that it may use, or off it.
/// Where there is one only, nothing changes.
enum class Processors { first, others };
void keep_threads_on(Processors which);

/// Keeps one processor busy until then.
void compute_until_ns(std::uint64_t time_ns);

/// Processor time of this process' threads, the server's among them.
std::uint64_t processor_ns();

struct Span {
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// Median and quartiles, in ns.
struct Quartiles {
  std::uint64_t low = 0, middle = 0, high = 0;
};
Quartiles quartiles_of(std::vector<std::uint64_t> samples);

/// What one rank did in a span.
struct Outcome {
  std::uint64_t acquisitions = 0;
  std::uint64_t counted = 0;       ///< messages and operations of adapters, as the locks count them
  std::uint64_t last_ns = 0;       ///< when its last release returned
  std::uint64_t processor_ns = 0;  ///< without that of threads which compute
  std::uint64_t is_late = 0;       ///< 1: this rank sent, or may have sent, where there was to be silence
  Quartiles lock, unlock, both;
};

/// Collective: the `mine` of all ranks, the same in each.
template <typename Value>
std::vector<Value> gather(Runtime& g, const Value& mine) {
  const auto all = g.allgather(g.world(), std::as_bytes(std::span(&mine, 1)));
  must(all.status());
  std::vector<Value> values(all->size());
  for (std::size_t rank = 0; rank < values.size(); ++rank) std::memcpy(&values[rank], (*all)[rank].data(), sizeof mine);
  return values;
}

/// Collective: a span that begins after a silence.
Span agree_on_span(Runtime& g, std::uint64_t length_ns);

/// Acquires and releases the lock from begin to end, with the time of each call.
Outcome take_turns(LockSet& set, int index, Rank home, const Span& span);

/// Messages and operations of adapters that this rank's part of the set has counted.
std::uint64_t counted_by(const LockSet& set);

}  // namespace grapnel::fabric
