// Random programs without races, in all worlds (random_programs.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "dsm/random_programs.hpp"

namespace grapnel::test {

WORLD_TEST(Random, ProgramsWithoutRacesReadWhatTheyShould) { EXPECT_EQ(random_programs::play(g, world_seed()), ""); }

}  // namespace grapnel::test
