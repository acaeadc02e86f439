// SPDX-License-Identifier: Apache-2.0
#include "selftest/job_wide.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "os/clock.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::int64_t kRounds = 20;
constexpr std::size_t kCount = 1000;
constexpr std::size_t kDataPlace = 64;  // behind the word that counts

int number_of(const Runtime& runtime) { return static_cast<int>(index(runtime.rank())); }

Status compare_number(const char* what, std::int64_t found, std::int64_t expected) {
  if (found == expected) return {};
  return {Code::system, fmt::format("{}: found {}, and {} is right", what, found, expected)};
}

// Ends when `counted` holds `wanted`, or at the limit. It calls nothing of Grapnel.
std::int64_t compute_until(const std::atomic_ref<std::int64_t>& counted, std::int64_t wanted, double limit_s) {
  const std::uint64_t end = os::monotonic_ns() + static_cast<std::uint64_t>(limit_s * 1e9);
  std::int64_t seen = 0;
  double sum = 1;
  do {
    for (int i = 0; i < 10000; ++i) sum = sum * 1.0000001 + 1e-9;
    asm volatile("" : : "x"(sum));
    seen = counted.load(std::memory_order_acquire);  // pairs with the atomic of the server, or of a rank of this node
  } while (seen < wanted && os::monotonic_ns() < end);
  return seen;
}

Status work_on(Runtime& runtime, const Memory& memory, Rank target) {
  auto* const words = static_cast<std::byte*>(memory.on(target));
  const std::int64_t mine = 1000 + number_of(runtime);
  // In the target's memory there are places for some ranks; ranks that share one write the same kind of value.
  const std::size_t places = (kWordsBytes - kDataPlace) / sizeof mine;
  std::byte* const place = words + kDataPlace + index(runtime.rank()) % places * sizeof mine;
  GRAPNEL_TRY(runtime.put(&mine, place, sizeof mine, target));
  GRAPNEL_TRY(runtime.fence(target));
  std::int64_t back = 0;
  GRAPNEL_TRY(runtime.get(place, &back, sizeof back, target));
  if (runtime.size() <= static_cast<int>(places))
    GRAPNEL_TRY(compare_number("get from a computing target", back, mine));
  return runtime.fetch_and_add(words, 1, Width::bits64, target).status();
}

}  // namespace

Status try_barrier(Runtime& runtime, const Memory& memory) {
  const Rank next{(number_of(runtime) + 1) % runtime.size()};
  const std::atomic_ref<std::int64_t> own(*static_cast<std::int64_t*>(memory.local()));
  Status first;
  for (std::int64_t round = 1; round <= kRounds; ++round) {
    GRAPNEL_TRY(runtime.put(&round, memory.on(next), sizeof round, next));
    GRAPNEL_TRY(runtime.barrier());
    Status compared = compare_number("the word after the barrier", own.load(std::memory_order_relaxed), round);
    if (first.ok()) first = std::move(compared);
    GRAPNEL_TRY(runtime.barrier());  // the others have looked
  }
  return first;
}

Status try_collectives(Runtime& runtime) {
  const std::int64_t size = runtime.size(), me = number_of(runtime);
  std::vector<std::int64_t> mine(kCount), sum(kCount);
  for (std::size_t i = 0; i < kCount; ++i) mine[i] = me + static_cast<std::int64_t>(i);
  GRAPNEL_ASSIGN_OR_RETURN(const Reduction add, reduction(Operation::sum, NumberType::int64));
  GRAPNEL_TRY(runtime.allreduce(add, mine.data(), sum.data(), kCount));
  const Rank root{static_cast<int>(size) - 1};
  std::vector<std::int64_t> from_root = mine;
  GRAPNEL_TRY(runtime.broadcast(from_root.data(), kCount * sizeof(std::int64_t), root));
  std::vector<std::int64_t> gathered(static_cast<std::size_t>(size));
  GRAPNEL_TRY(runtime.allgather(&me, gathered.data(), sizeof me));
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    GRAPNEL_TRY(compare_number("allreduce", sum[i], size * (size - 1) / 2 + size * number));
    GRAPNEL_TRY(compare_number("broadcast", from_root[i], size - 1 + number));
  }
  for (std::int64_t rank = 0; rank < size; ++rank) {
    GRAPNEL_TRY(compare_number("allgather", gathered[static_cast<std::size_t>(rank)], rank));
  }
  return {};
}

// A rank whose atomic fails meets the others all the same.
Status try_network_words(Runtime& runtime, const Memory& memory) {
  const Rank first{0}, me = runtime.rank();
  const std::int64_t mine = number_of(runtime) + 1, all = 1 + kRounds * runtime.size();
  Status failure;
  const auto expect = [&](const char* what, const Result<std::int64_t>& found, std::int64_t expected) {
    Status compared = found ? compare_number(what, *found, expected) : found.status();
    if (failure.ok()) failure = std::move(compared);
  };
  expect("compare-and-swap of a fresh word", runtime.compare_and_swap(memory.local(), 0, mine, Width::bits64, me), 0);
  GRAPNEL_TRY(runtime.barrier());
  for (std::int64_t round = 0; round < kRounds && failure.ok(); ++round) {
    failure = runtime.fetch_and_add(memory.on(first), 1, Width::bits64, first).status();
  }
  GRAPNEL_TRY(runtime.barrier());
  expect("fetch-and-add after all ranks' additions", runtime.fetch_and_add(memory.on(first), 0, Width::bits64, first),
         all);
  GRAPNEL_TRY(runtime.barrier());
  expect("swap", runtime.swap(memory.local(), -mine, Width::bits64, me), me == first ? all : mine);
  return failure;
}

Rank computing_target(const Runtime& runtime) {
  for (int rank = 0; rank < runtime.size(); ++rank) {
    if (static_cast<int>(index(runtime.node_of(Rank{rank}))) == runtime.node_count() - 1) {
      // Rank 0, which sends the rows, is left alone where there is another.
      return Rank{rank == 0 && runtime.size() > 1 ? 1 : rank};
    }
  }
  return Rank{0};
}

Result<double> try_computing_target(Runtime& runtime, const Memory& memory, double limit_s) {
  const Rank target = computing_target(runtime);
  std::memset(memory.local(), 0, kWordsBytes);
  GRAPNEL_TRY(runtime.barrier());
  if (runtime.rank() != target) {
    GRAPNEL_TRY(work_on(runtime, memory, target));
    return 0.0;
  }
  const std::uint64_t begin = os::monotonic_ns();
  const std::int64_t wanted = runtime.size() - 1;
  const std::int64_t seen =
      compute_until(std::atomic_ref(*static_cast<std::int64_t*>(memory.local())), wanted, limit_s);
  if (seen < wanted) {
    return Status(Code::timed_out,
                  fmt::format("{} of the {} other ranks were through after {:.1f} s", seen, wanted, limit_s));
  }
  return static_cast<double>(os::monotonic_ns() - begin) / 1e3;
}

}  // namespace grapnel::tool::selftest
