// Ranks 1 and up take turns at one lock of rank 0. Nothing else is sent from 200 ms before their begin to 200 ms
// behind their end, so that what is captured between belongs to the lock.
//
//   grapnel-bench-fabric-locks KIND processor|network MILLISECONDS
//
// Rank 0 prints one line, `begin_ns=… end_ns=…` of the real-time clock and the sums of all ranks' counts.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "grapnel/runtime.hpp"

namespace {

using namespace grapnel;

constexpr std::uint64_t kSilence_ns = 200'000'000;
constexpr Rank kHome{0};

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "fabric_locks: %s\n", status.to_string().c_str());
  std::exit(1);
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void sleep_until_ns(std::uint64_t time_ns) {
  while (now_ns() < time_ns) ::usleep(1000);
}

struct Counts {
  std::uint64_t acquisitions = 0, messages = 0, operations = 0;
};

Counts counts_of(const LockSet& set) {
  const LockCounts all = set.counts();
  return {all.acquisitions, all.messages + all.server_messages, all.adapter_operations};
}

// The same answer in all ranks.
template <typename Value>
std::vector<Value> gather(Runtime& g, const Value& mine) {
  const auto all = g.allgather(g.world(), std::as_bytes(std::span(&mine, 1)));
  must(all.status());
  std::vector<Value> values(all->size());
  for (std::size_t rank = 0; rank < values.size(); ++rank) std::memcpy(&values[rank], (*all)[rank].data(), sizeof mine);
  return values;
}

LockOptions options_of(const std::string& kind, const std::string& domain) {
  LockOptions options;
  for (int number = 0; number <= static_cast<int>(LockKind::reader_writer); ++number) {
    if (kind == to_string(static_cast<LockKind>(number))) options.kind = static_cast<LockKind>(number);
  }
  options.domain = domain == "network" ? AtomicDomain::network : AtomicDomain::processor;
  return options;
}

void take_turns(LockSet& set, std::uint64_t begin_ns, std::uint64_t end_ns) {
  sleep_until_ns(begin_ns);
  while (now_ns() < end_ns) {
    must(set.lock(0, kHome));
    must(set.unlock(0, kHome));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: grapnel-bench-fabric-locks KIND processor|network MILLISECONDS\n");
    return 2;
  }
  auto started = Runtime::start();
  must(started.status());
  Runtime& g = **started;
  auto set = g.create_lock_set(1, options_of(argv[1], argv[2]));
  must(set.status());
  const bool takes_part = g.rank() != kHome;
  if (takes_part) {  // the first use connects
    must(set->lock(0, kHome));
    must(set->unlock(0, kHome));
  }
  must(g.barrier());
  const std::uint64_t begin_ns = gather(g, now_ns()).front() + 2 * kSilence_ns;
  const std::uint64_t end_ns = begin_ns + std::strtoull(argv[3], nullptr, 10) * 1'000'000;
  const Counts before = counts_of(*set);
  if (takes_part) take_turns(*set, begin_ns, end_ns);
  const Counts after = counts_of(*set);
  // Not before the last acquisitions of others, which began in time, are over.
  sleep_until_ns(end_ns + 2 * kSilence_ns);
  Counts sum;
  for (const Counts& one : gather(g, Counts{after.acquisitions - before.acquisitions, after.messages - before.messages,
                                            after.operations - before.operations})) {
    sum.acquisitions += one.acquisitions;
    sum.messages += one.messages;
    sum.operations += one.operations;
  }
  if (!takes_part) {
    std::printf("begin_ns=%llu end_ns=%llu acquisitions=%llu messages=%llu operations=%llu\n",
                static_cast<unsigned long long>(begin_ns), static_cast<unsigned long long>(end_ns),
                static_cast<unsigned long long>(sum.acquisitions), static_cast<unsigned long long>(sum.messages),
                static_cast<unsigned long long>(sum.operations));
  }
  must(g.destroy_lock_set(*set));
  must(g.finish());
  return 0;
}
