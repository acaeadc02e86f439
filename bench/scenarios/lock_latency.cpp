// Overhead, the nonblocking acquisition, and the delay of a hand-over.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "pairs.hpp"
#include "scenarios/lock_user.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

bool is_the_last(const Session& s) { return static_cast<int>(index(s.g.rank())) == s.g.size() - 1; }

// Nanoseconds: the clock is read around many locks at a time.
LockNumbers overhead_in_the_node(LockUser user, Rank home, std::uint64_t end_ns) {
  std::vector<double> acquires, releases, both;
  const auto mean = [](std::uint64_t begin, std::uint64_t end) {
    return static_cast<double>(end - begin) / kLocksPerRank;
  };
  do {
    const std::uint64_t begin_ns = now_ns();
    for (int i = 0; i < kLocksPerRank; ++i) user.acquire(i, home);
    const std::uint64_t held_ns = now_ns();
    for (int i = 0; i < kLocksPerRank; ++i) user.release(i, home);
    const std::uint64_t released_ns = now_ns();
    for (int i = 0; i < kLocksPerRank; ++i) {
      user.acquire(0, home);
      user.release(0, home);
    }
    acquires.push_back(mean(begin_ns, held_ns));
    releases.push_back(mean(held_ns, released_ns));
    both.push_back(mean(released_ns, now_ns()));
  } while (now_ns() < end_ns);
  return {median(acquires), median(releases), median(both)};
}

LockNumbers overhead_between_nodes(LockUser user, Rank home, std::uint64_t end_ns) {
  std::vector<double> acquires, releases, both;
  do {
    const std::uint64_t begin_ns = now_ns();
    user.acquire(0, home);
    const std::uint64_t held_ns = now_ns();
    user.release(0, home);
    const std::uint64_t released_ns = now_ns();
    acquires.push_back(static_cast<double>(held_ns - begin_ns));
    releases.push_back(static_cast<double>(released_ns - held_ns));
    both.push_back(static_cast<double>(released_ns - begin_ns));
  } while (now_ns() < end_ns);
  return {median(acquires), median(releases), median(both)};
}

// One hand-over as each of the two ranks saw it.
struct Turn {
  std::uint64_t asked_ns, entered_ns, left_ns;
};

// The time between the first one's release and the second one's entry; nothing when the second did not wait by then.
void add_delay(std::vector<double>& delays_ns, Turn first, Turn second) {
  if (second.entered_ns < first.entered_ns) std::swap(first, second);
  if (second.asked_ns < first.left_ns) delays_ns.push_back(static_cast<double>(second.entered_ns - first.left_ns));
}

constexpr std::uint64_t kTurn_ns = 2'000'000;
constexpr std::uint64_t kHold_ns = 1'000'000;  // longer than the overhead of any kind, as in the paper
constexpr std::uint64_t kLater_ns = 300'000;
constexpr int kAttempts = 5;

// Ranks 1 and 2 ask first in turn. `slower`: how many times as long as usual a turn takes.
std::vector<Turn> take_turns(Session& s, const LockWork& work, LockUser user, std::uint64_t begin_ns,
                             std::uint64_t slower) {
  std::vector<Turn> turns(work.extra);
  const std::size_t me = index(s.g.rank());
  if (me != 1 && me != 2) return turns;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const bool first = i % 2 == me - 1;
    const std::uint64_t start_ns = begin_ns + i * kTurn_ns * slower;
    sleep_until_ns(first ? start_ns : start_ns + kLater_ns * slower);
    turns[i].asked_ns = now_ns();
    user.acquire(0, Rank{0});
    turns[i].entered_ns = now_ns();
    if (first) sleep_until_ns(start_ns + kHold_ns * slower);
    turns[i].left_ns = now_ns();
    user.release(0, Rank{0});
  }
  return turns;
}

}  // namespace

LockNumbers measure_overhead(Session& s, const LockWork& work, LockUser user) {
  if (!is_the_last(s)) return {};
  const Rank home{static_cast<int>(work.extra)};
  user.acquire(0, home);  // the first use makes lines and connections
  user.release(0, home);
  const std::uint64_t end_ns = now_ns() + work.window_us * 1000;
  return s.g.same_node(home) ? overhead_in_the_node(user, home, end_ns) : overhead_between_nodes(user, home, end_ns);
}

LockNumbers measure_nonblocking(Session& s, const LockWork& work, LockUser user) {
  if (!is_the_last(s)) return {};
  const Rank home{0};
  std::vector<double> starts, waits;
  const std::uint64_t end_ns = now_ns() + work.window_us * 1000;
  do {
    const std::uint64_t begin_ns = now_ns();
    auto request = user.set.start_lock(0, home);
    if (!request) fail(request.status());
    const std::uint64_t started_ns = now_ns();
    compute_until_ns(started_ns + work.extra * 1000);
    const std::uint64_t wait_ns = now_ns();
    must(user.set.wait(*request));
    waits.push_back(static_cast<double>(now_ns() - wait_ns));
    starts.push_back(static_cast<double>(started_ns - begin_ns));
    user.release(0, home);
  } while (now_ns() < end_ns);
  return {median(starts), median(waits)};
}

LockNumbers measure_delay(Session& s, const LockWork& work, LockUser user) {
  std::vector<double> delays_ns;
  // Beside other programs, and beside servers that poll where processors are few, it happens that no rank waits in any
  // turn; then turns become longer than the time slices of those. Every rank finds the same in what all gathered.
  for (int attempt = 0; attempt < kAttempts && delays_ns.empty(); ++attempt) {
    const std::vector<Turn> mine = take_turns(s, work, user, common_time_ns(s) + kTurn_ns, std::uint64_t{1} << attempt);
    const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(mine)));
    if (!all) fail(all.status());
    for (std::size_t i = 0; i < work.extra; ++i) {
      Turn one, other;
      std::memcpy(&one, (*all)[1].data() + i * sizeof one, sizeof one);
      std::memcpy(&other, (*all)[2].data() + i * sizeof other, sizeof other);
      add_delay(delays_ns, one, other);
    }
  }
  if (index(s.g.rank()) != 0 || delays_ns.empty()) return {};
  return {median(delays_ns)};
}

}  // namespace grapnel::bench
