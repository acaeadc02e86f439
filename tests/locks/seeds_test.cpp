// Every kind of lock under random use, in many simulated worlds.
//
// GRAPNEL_LOCK_SEEDS is how many per kind (5,000 in the soak); GRAPNEL_TEST_SEED=s replays one.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

int seeds_per_kind() {
  const char* text = std::getenv("GRAPNEL_LOCK_SEEDS");
  return text != nullptr ? std::atoi(text) : 200;
}

class LockSeeds : public ::testing::TestWithParam<LockVariant> {};

TEST_P(LockSeeds, KeepWhatALockPromises) {
  for (const std::uint64_t seed : sim::seeds(seeds_per_kind())) {
    const std::string complaint = exercise_in_sim(GetParam(), seed);
    ASSERT_TRUE(complaint.empty() && !HasFailure())
        << complaint << "\nreplay: GRAPNEL_TEST_SEED=" << seed << " tests/lock_seeds_test --gtest_filter='*/"
        << GetParam().name() << "'   (in the build folder)";
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LockSeeds, ::testing::ValuesIn(all_lock_variants()),
                         [](const auto& kind) { return kind.param.name(); });

}  // namespace
}  // namespace grapnel::test
