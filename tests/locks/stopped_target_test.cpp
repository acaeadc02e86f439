// In the network domain no process of the target's node is needed: all of them are stopped while another rank uses its
// locks and its memory. Where the transport has no native atomics there is nothing to see. A lock that its server
// executes waits for as long as that one is stopped.
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"

namespace grapnel::test {
namespace {

bool is_stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") T") == 0;
}

/// They go on when this ends, whatever happens.
class Stopped {
 public:
  explicit Stopped(std::vector<pid_t> processes) : processes_(std::move(processes)) {
    for (const pid_t process : processes_) {
      EXPECT_EQ(::kill(process, SIGSTOP), 0);
      while (!is_stopped(process)) ::usleep(1000);
    }
  }
  ~Stopped() {
    for (const pid_t process : processes_) ::kill(process, SIGCONT);
  }
  bool all_still() const { return std::all_of(processes_.begin(), processes_.end(), is_stopped); }

 private:
  std::vector<pid_t> processes_;
};

struct Place {
  Rank target;
  std::int64_t* word;  ///< of the network domain
  double* data;
};

// Lock, put, get, fetch-and-add, unlock.
void use_once(Runtime& g, LockSet& locks, const Place& place, std::int64_t expected) {
  ASSERT_OK(locks.lock(0, place.target));
  const auto value = static_cast<double>(expected);
  double back = -1;
  ASSERT_OK(g.put(&value, place.data, sizeof value, place.target));
  ASSERT_OK(g.get(place.data, &back, sizeof back, place.target));
  ASSERT_EQ(back, value);
  const auto before = g.fetch_and_add(place.word, 1, Width::bits64, place.target);
  ASSERT_OK(before.status());
  ASSERT_EQ(*before, expected);
  ASSERT_OK(locks.unlock(0, place.target));
}

// The processes of other nodes than the caller's. Collective.
std::vector<pid_t> processes_elsewhere(Runtime& g) {
  const pid_t me = ::getpid();
  const auto processes = g.allgather(g.world(), base::bytes_of(me));
  EXPECT_OK(processes.status());
  std::vector<pid_t> theirs;
  for (int rank = 0; processes.ok() && rank < g.size(); ++rank) {
    const auto process = base::Decoder((*processes)[static_cast<std::size_t>(rank)]).get<pid_t>();
    if (!g.same_node(Rank{rank})) theirs.push_back(*process);
  }
  return theirs;
}

}  // namespace

WORLD_TEST_ON(StoppedTarget, TakesNoPart, (std::vector<Shape>{{3, 2}})) {
  if (!has_network_domain(g) || !world_has_page_tables()) return;
  constexpr std::int64_t kRounds = 1000;
  const auto words = g.allocate(8, AtomicDomain::network);
  const auto data = g.allocate(8);
  ASSERT_TRUE(words.ok() && data.ok());
  std::vector<LockSet> sets;
  for (const LockKind kind : kNetworkLockKinds) {
    auto made = g.create_lock_set(1, LockVariant(kind, AtomicDomain::network).options());
    ASSERT_OK(made.status());
    sets.push_back(*made);
  }
  const std::vector<pid_t> theirs = processes_elsewhere(g);
  const Rank target{g.size() - 1};
  const Place place{target, static_cast<std::int64_t*>(words->on(target)), static_cast<double*>(data->on(target))};
  const auto rounds = static_cast<std::int64_t>(sets.size()) * (kRounds + 1);
  if (index(g.rank()) == 0) {
    ASSERT_FALSE(g.same_node(target));
    std::int64_t round = 0;
    for (LockSet& locks : sets) use_once(g, locks, place, round++);  // the connections are there from now on
    const Stopped stopped(theirs);
    for (LockSet& locks : sets) {
      for (std::int64_t i = 0; i < kRounds && !::testing::Test::HasFailure(); ++i) use_once(g, locks, place, round++);
    }
    EXPECT_TRUE(stopped.all_still());
    EXPECT_EQ(round, rounds);
  }
  EXPECT_OK(g.barrier());
  if (g.rank() == target) {
    EXPECT_EQ(*static_cast<std::int64_t*>(words->local()), rounds);
    EXPECT_EQ(*static_cast<double*>(data->local()), static_cast<double>(rounds - 1));
  }
  EXPECT_OK(g.barrier());
  for (LockSet& locks : sets) EXPECT_OK(g.destroy_lock_set(locks));
  EXPECT_OK(g.free(*data));
  EXPECT_OK(g.free(*words));
}

WORLD_TEST_ON(StoppedTarget, AServersLockWaitsForIt, (std::vector<Shape>{{3, 2}})) {
  if (!world_has_page_tables()) return;
  auto locks = g.create_lock_set(1, LockVariant(LockKind::server_queue, AtomicDomain::processor).options());
  ASSERT_OK(locks.status());
  const std::vector<pid_t> theirs = processes_elsewhere(g);
  const Rank target{g.size() - 1};
  if (index(g.rank()) == 0) {
    ASSERT_FALSE(g.same_node(target));
    auto request = locks->start_lock(0, target);
    ASSERT_OK(request.status());
    ASSERT_OK(locks->wait(*request));  // the connections are there from now on
    ASSERT_OK(locks->unlock(0, target));
    {
      const Stopped stopped(theirs);
      request = locks->start_lock(0, target);
      ASSERT_OK(request.status());
      for (int look = 0; look < 20; ++look) {
        const auto held = locks->test(*request);
        ASSERT_OK(held.status());
        EXPECT_FALSE(*held);
        ::usleep(50'000);
      }
      EXPECT_TRUE(stopped.all_still());
    }
    ASSERT_OK(locks->wait(*request));
    EXPECT_OK(locks->unlock(0, target));
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*locks));
}

}  // namespace grapnel::test
