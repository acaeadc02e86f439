// What a set of locks takes depends on its members, and not on the ranks of the job.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr int kMembers = 4;

// By kind and mode, member after member: the bytes of its node's block where it allocates that.
using BlockBytes = std::map<std::tuple<LockKind, bool>, std::vector<std::size_t>>;

void be_a_member(Runtime& g, const Group& group, std::mutex& mutex, BlockBytes& bytes) {
  for (const LockKind kind : kAllLockKinds) {
    for (const bool shared_mode : {false, true}) {
      LockOptions options;
      options.kind = kind;
      options.shared_mode = shared_mode;
      auto locks = g.create_lock_set(group, 1, options);
      ASSERT_OK(locks.status());
      for (const Rank home : group.members()) {
        EXPECT_OK(locks->lock(0, home));
        EXPECT_OK(locks->unlock(0, home));
      }
      const locks::LockMemory& memory = locks->set()->memory();
      if (memory.allocates_block()) {
        const std::lock_guard guard(mutex);
        bytes[{kind, shared_mode}].push_back(memory.block_bytes());
      }
      EXPECT_OK(g.barrier(group));
      EXPECT_OK(g.destroy_lock_set(*locks));
    }
  }
}

// The set's members are the last two ranks of the first two nodes.
BlockBytes bytes_in_a_job_of(int ranks, int nodes) {
  BlockBytes bytes;
  std::mutex mutex;
  sim::WorldOptions options{.ranks = ranks, .nodes = nodes};
  options.seed(1);
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    Runtime& g = **started;
    std::vector<Rank> members;
    const int each = ranks / nodes;
    for (const int end : {each, 2 * each}) {
      for (int rank = end - kMembers / 2; rank < end; ++rank) members.push_back(Rank{rank});
    }
    if (std::find(members.begin(), members.end(), g.rank()) != members.end()) {
      be_a_member(g, *g.make_group(members), mutex, bytes);
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return bytes;
}

TEST(LockSetInALargeJob, TakesWhatItTakesInASmallOne) {
  const BlockBytes alone = bytes_in_a_job_of(4, 2), among_many = bytes_in_a_job_of(1024, 8);
  EXPECT_EQ(alone.size(), 2 * std::size(kAllLockKinds));
  EXPECT_EQ(alone, among_many);
}

}  // namespace
}  // namespace grapnel::test
